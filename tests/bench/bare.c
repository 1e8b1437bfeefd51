/*
 * bare - the least process server in C that speaks JSON-RPC over pipes.
 *
 * The yardstick for procpen: reads a line, vforks and executes, waits by pidfd,
 * counts and drops the output, answers. No policy, no JSON library, no sandbox,
 * no log, no limits; up to SLOTS runs at once. It trusts its one client.
 *
 * Of a run in the background it writes process.input to the stdin, sends the output as events,
 * and answers a process.monitor with the next output.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define SLOTS 64
#define ARGS_MAX 63
#define READS_PER_TURN 8
#define KIND_STDIN (SLOTS * 4)

enum kind { KIND_OUT, KIND_ERR, KIND_EXIT };

struct run {
	char id[32];
	pid_t pid;
	int fds[3]; /* stdout, stderr, pidfd; by kind */
	int in;     /* its stdin; -1: none */
	char waits[32]; /* the id of a request for the next output */
	unsigned long long bytes[2];
	bool used, background;
};

static struct run runs[SLOTS];
static int epoll;
static char data[65536];

static void die(const char *what)
{
	fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void send_line(const char *line, int len)
{
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		die("write");
}

static void answer(const char *id, const char *result)
{
	char line[512];

	send_line(line, snprintf(line, sizeof(line),
				 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id, result));
}

static void watch(int fd, unsigned int mark)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = mark };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void drop(int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(epoll, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* In the vforked child: never returns. */
static void become(char *const argv[], int in, const int p[2][2])
{
	int null = in < 0 ? open("/dev/null", O_RDONLY) : -1;

	dup2(in < 0 ? null : in, 0);
	dup2(p[0][1], 1);
	dup2(p[1][1], 2);
	if (null > 2)
		close(null);
	execvp(argv[0], argv);
	_exit(127);
}

static __attribute__((noinline)) pid_t spawn(char *const argv[], int in, const int p[2][2])
{
	pid_t pid = vfork();

	if (pid == 0)
		become(argv, in, p);
	return pid;
}

static void start(const char *id, char *const argv[], bool background)
{
	struct run *r = runs;
	int p[2][2], in[2] = { -1, -1 };
	char result[64];

	while (r < runs + SLOTS && r->used)
		r++;
	if (r == runs + SLOTS || pipe2(p[0], O_CLOEXEC) || pipe2(p[1], O_CLOEXEC) ||
	    (background && pipe2(in, O_CLOEXEC)))
		die("no room for one more run");
	memset(r, 0, sizeof(*r));
	r->used = true;
	r->background = background;
	snprintf(r->id, sizeof(r->id), "%s", id);
	r->pid = spawn(argv, in[0], p);
	if (background)
		close(in[0]);
	r->in = in[1];
	if (r->pid < 0)
		die("vfork");
	r->fds[KIND_EXIT] = (int)syscall(SYS_pidfd_open, r->pid, 0);
	for (int i = 0; i < 2; i++) {
		close(p[i][1]);
		fcntl(p[i][0], F_SETFL, O_NONBLOCK);
		fcntl(p[i][0], F_SETPIPE_SZ, PIPE_BYTES); /* as procpen's loud pipes */
		r->fds[i] = p[i][0];
	}
	for (int kind = 0; kind < 3; kind++)
		watch(r->fds[kind], (unsigned int)(r - runs) * 4 + (unsigned int)kind);
	snprintf(result, sizeof(result), "{\"process_id\":\"%d\"}", (int)(r - runs));
	if (background)
		answer(id, result);
}

/* As events are: data escaped as JSON; only newlines are. */
static char *escape(char *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			*to++ = '\\';
		*to++ = text[i] == '\n' ? 'n' : text[i];
	}
	return to;
}

static void report(struct run *r, int kind, const char *text, size_t len)
{
	static char line[2 * sizeof(data) + 256];
	char result[300], *end;

	end = line + sprintf(line, "{\"jsonrpc\":\"2.0\",\"method\":\"process.event\",\"params\":"
			     "{\"process_id\":\"%d\",\"type\":\"%s\",\"offset\":%llu,\"data\":\"",
			     (int)(r - runs), kind ? "stderr" : "stdout", r->bytes[kind] - len);
	end = stpcpy(escape(end, text, len), "\"}}\n");
	if (!*r->waits) {
		send_line(line, (int)(end - line));
		return;
	}
	snprintf(result, sizeof(result), "{\"matched\":true,\"match\":{\"text\":\"%.*s\"}}",
		 (int)strcspn(text, "\n"), text);
	answer(r->waits, result);
	*r->waits = 0;
}

/* Count what is there, at most @turns blocks. */
static void pump(struct run *r, int kind, int turns)
{
	ssize_t n = 1;

	while (r->fds[kind] >= 0 && turns-- > 0 && n > 0) {
		n = read(r->fds[kind], data, sizeof(data));
		if (n > 0)
			r->bytes[kind] += (unsigned long long)n;
		if (n > 0 && r->background)
			report(r, kind, data, (size_t)n);
		if (n == 0)
			drop(&r->fds[kind]);
	}
}

static void finish(struct run *r)
{
	char result[160];
	int status;

	if (waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	pump(r, KIND_OUT, 1000);
	pump(r, KIND_ERR, 1000);
	for (int kind = 0; kind < 3; kind++)
		drop(&r->fds[kind]);
	snprintf(result, sizeof(result),
		 "{\"exit_code\":%d,\"stdout_size\":%llu,\"stderr_size\":%llu}",
		 WIFEXITED(status) ? WEXITSTATUS(status) : -1, r->bytes[0], r->bytes[1]);
	r->used = false;
	if (r->in >= 0)
		close(r->in);
	if (!r->background)
		answer(r->id, result);
}

/* Copy the JSON string at @at (behind its quote) down to @to; returns what follows it. */
static char *take_string(char *at, char *to)
{
	for (; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			*to++ = *++at == 'n' ? '\n' : *at;
		else
			*to++ = *at;
	}
	at += *at == '"';
	*to = 0;
	return at;
}

/* Arguments behind "args":[ into argv, from @n on. */
static void take_args(char *at, char **argv, int n)
{
	while (*at == '"' && n < ARGS_MAX) {
		argv[n++] = at + 1;
		at = take_string(at + 1, at + 1);
		at += *at == ',';
	}
	argv[n] = NULL;
}

static void run_request(const char *id, char *line)
{
	static char sh[] = "/bin/sh", dash_c[] = "-c";
	char *argv[ARGS_MAX + 1];
	char *args = strstr(line, "\"args\":[");
	char *command = strstr(line, "\"command\":\"");
	bool background = strstr(line, "\"background\":true");

	if (!command) {
		answer(id, "{}");
		return;
	}
	command += strlen("\"command\":\"");
	if (args) {
		argv[0] = command;
		take_args(args + strlen("\"args\":["), argv, 1);
	} else {
		argv[0] = sh;
		argv[1] = dash_c;
		argv[2] = command;
		argv[3] = NULL;
	}
	take_string(command, command);
	start(id, argv, background);
}

static struct run *named_run(const char *line)
{
	const char *id = strstr(line, "\"process_id\":\"");

	return &runs[id ? atoi(id + strlen("\"process_id\":\"")) % SLOTS : 0];
}

static void input_request(const char *id, char *line)
{
	const struct run *r = named_run(line);
	char *text = strstr(line, "\"data\":\""), result[64];
	size_t len;

	if (!text)
		die("no data");
	text += strlen("\"data\":\"");
	take_string(text, text);
	len = strlen(text);
	if (write(r->in, text, len) != (ssize_t)len)
		die("the stdin of a run");
	snprintf(result, sizeof(result), "{\"bytes_written\":%zu,\"bytes_queued\":0}", len);
	answer(id, result);
}

static void request(char *line)
{
	char *id = strstr(line, "\"id\":"), text[32] = "null";
	size_t len;

	if (id) {
		id += strlen("\"id\":");
		len = strspn(id, "0123456789");
		if (len < sizeof(text)) {
			memcpy(text, id, len);
			text[len] = 0;
		}
	}
	if (strstr(line, "\"method\":\"process.run\""))
		run_request(text, line);
	else if (strstr(line, "\"method\":\"process.input\""))
		input_request(text, line);
	else if (strstr(line, "\"method\":\"process.monitor\""))
		strcpy(named_run(line)->waits, text);
	else
		answer(text, "{}");
}

static void read_requests(void)
{
	static char in[1 << 20];
	static size_t len;
	char *at = in, *end;
	ssize_t n = read(STDIN_FILENO, in + len, sizeof(in) - 1 - len);

	if (n <= 0)
		exit(0);
	len += (size_t)n;
	while ((end = memchr(at, '\n', len - (size_t)(at - in)))) {
		*end = 0;
		request(at);
		at = end + 1;
	}
	len -= (size_t)(at - in);
	memmove(in, at, len);
}

int main(void)
{
	struct epoll_event events[64];

	signal(SIGPIPE, SIG_IGN);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(STDIN_FILENO, KIND_STDIN);
	for (;;) {
		int n = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < n; i++) {
			unsigned int mark = events[i].data.u32;
			struct run *r = &runs[mark / 4 % SLOTS];

			if (mark == KIND_STDIN)
				read_requests();
			else if (mark % 4 == KIND_EXIT && r->used)
				finish(r);
			else if (mark % 4 != KIND_EXIT && r->used)
				pump(r, (int)(mark % 4), READS_PER_TURN);
		}
	}
}
