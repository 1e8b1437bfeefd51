#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stats.h"

#define LINE_MAX_BYTES (16u << 20)
#define START_BYTES (64u << 10)
#define SHOWN 300

static pid_t server; /* for the end by alarm or by mistake */

static void on_alarm(int sig)
{
	static const char text[] = "drive: no end in sight, given up\n";

	(void)sig;
	if (server > 0)
		kill(server, SIGKILL);
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

void client_die(const char *format, ...)
{
	va_list args;

	if (server > 0)
		kill(server, SIGKILL);
	fputs("drive: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void become(char *const argv[], int in, int out)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(in, 0);
	dup2(out, 1);
	dup2(null, 2);
	execvp(argv[0], argv);
	_exit(127);
}

void client_start(struct client *c, char *const argv[])
{
	int to[2], from[2];

	memset(c, 0, sizeof(*c));
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		client_die("pipe2: %s", strerror(errno));
	signal(SIGALRM, on_alarm);
	signal(SIGPIPE, SIG_IGN);
	c->pid = fork();
	if (c->pid == 0)
		become(argv, to[0], from[1]);
	if (c->pid < 0)
		client_die("fork: %s", strerror(errno));
	server = c->pid;
	close(to[0]);
	close(from[1]);
	c->to = to[1];
	c->from = from[0];
}

void client_hang_up(struct client *c)
{
	close(c->to);
	c->to = -1;
}

void client_kill(struct client *c)
{
	kill(c->pid, SIGKILL);
}

int client_wait(struct client *c)
{
	int status = 0;

	waitpid(c->pid, &status, 0);
	server = 0;
	if (c->to >= 0)
		close(c->to);
	close(c->from);
	free(c->buf);
	return status;
}

void client_stop(struct client *c)
{
	char rest[1 << 16];
	int status;

	client_hang_up(c);
	while (read(c->from, rest, sizeof(rest)) > 0)
		; /* the server would wait for a reader of its last events */
	status = client_wait(c);
	if (status)
		client_die("the server ended with wait status %#x instead of 0", status);
}

long client_send(struct client *c, const char *method, const char *params)
{
	char *line;
	size_t done = 0;
	long id = ++c->next_id;
	int len = asprintf(&line,
			   "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":%s}\n", id,
			   method, params);

	if (len < 0)
		client_die("no memory");
	while (done < (size_t)len) {
		ssize_t n = write(c->to, line + done, (size_t)len - done);

		if (n <= 0)
			client_die("the server takes no request: %s", strerror(errno));
		done += (size_t)n;
	}
	free(line);
	return id;
}

/* Make room and read once. False when nothing came within @ms (-1: wait). */
static bool receive(struct client *c, int ms)
{
	struct pollfd p = { .fd = c->from, .events = POLLIN };
	ssize_t n;

	if (c->start && c->start == c->end)
		c->start = c->end = 0;
	if (c->end + 1 >= c->size) {
		memmove(c->buf, c->buf + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	if (c->end + 1 >= c->size) {
		c->size = c->size ? c->size * 2 : START_BYTES;
		c->buf = c->size > LINE_MAX_BYTES ? NULL : realloc(c->buf, c->size);
		if (!c->buf)
			client_die("an answer is too long");
	}
	if (ms >= 0 && poll(&p, 1, ms) == 0)
		return false;
	n = read(c->from, c->buf + c->end, c->size - 1 - c->end);
	c->read_us = stats_now_us();
	if (n <= 0)
		client_die("the server has ended its output");
	c->end += (size_t)n;
	return true;
}

/* The next line, without its end; NULL when none came within @ms. */
static char *next_line(struct client *c, int ms)
{
	size_t seen = 0;
	char *line, *end;

	for (;;) {
		line = c->buf + c->start;
		end = c->end > c->start + seen
			      ? memchr(line + seen, '\n', c->end - c->start - seen)
			      : NULL;
		if (end)
			break;
		seen = c->end - c->start;
		if (!receive(c, ms))
			return NULL;
	}
	*end = 0;
	c->start += (size_t)(end + 1 - line);
	return line;
}

/* The value of the top-level id, or NULL: a notice has its method ahead of anything called id. */
static const char *find_id(const char *line)
{
	static const char notification[] = "{\"jsonrpc\":\"2.0\",\"method\":";
	const char *id;

	if (!strncmp(line, notification, sizeof(notification) - 1))
		return NULL; /* at once: the others may be long */
	id = strstr(line, "\"id\":");
	if (!id || memmem(line, (size_t)(id - line), "\"method\":", strlen("\"method\":")))
		return NULL;
	return id + strlen("\"id\":");
}

const char *client_message(struct client *c)
{
	return next_line(c, -1);
}

const char *client_poll(struct client *c, long *id, int ms)
{
	const char *line, *value;

	while ((line = next_line(c, ms))) {
		value = find_id(line);
		if (value) {
			*id = strtol(value, NULL, 10);
			return line;
		}
	}
	return NULL;
}

const char *client_reply(struct client *c, long *id)
{
	return client_poll(c, id, -1);
}

const char *client_call(struct client *c, const char *method, const char *params)
{
	long id = client_send(c, method, params), got;
	const char *reply = client_reply(c, &got);

	if (got != id)
		client_die("%s: the answer is to %ld, not to %ld", method, got, id);
	if (!strstr(reply, "\"result\":"))
		client_die("%s: %.*s", method, SHOWN, reply);
	return reply;
}

static const char *find(const char *reply, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(reply, key);
	if (!at)
		client_die("no %s in the answer %.*s", name, SHOWN, reply);
	return at + strlen(key);
}

double client_number(const char *reply, const char *name)
{
	const char *at = find(reply, name);
	char *end;
	double value = strtod(at, &end);

	if (end == at)
		client_die("%s is no number in the answer %.*s", name, SHOWN, reply);
	return value;
}

const char *client_text(const char *reply, const char *name)
{
	const char *at = find(reply, name);

	if (*at != '"')
		client_die("%s is no string in the answer %.*s", name, SHOWN, reply);
	return at + 1;
}

void client_string(const char *reply, const char *name, char *out, size_t size)
{
	const char *at = client_text(reply, name);
	size_t len = strcspn(at, "\"");

	if (len >= size)
		client_die("%s is too long", name);
	memcpy(out, at, len);
	out[len] = 0;
}
