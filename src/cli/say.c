#include "cli/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/schema.h"
#include "base/utf8.h"

#define NAMES_MAX 64
#define SUGGESTIONS_MAX 3
#define LISTED_MAX 6 /* so few names are all said where none is near */
#define CONTAINED_MIN 3 /* shorter words are in too many names */
#define TEXT_MAX 512
#define SHOWN_MAX 8192
#define STRING_MAX (64 * 1024)

static bool ignores_pipe; /* as procpen was started */
static int write_error;   /* errno of the first flush that failed */

static void say_begin(const struct cli_command *command)
{
	fprintf(stderr, "procpen%s%s: ", command ? " " : "", command ? command->name : "");
}

void say_text(FILE *to, const char *text)
{
	char shown[SHOWN_MAX];

	fwrite(shown, 1, utf8_show(shown, sizeof(shown), text, strlen(text)), to);
}

int say_mistake(const struct cli_command *command, const char *fmt, ...)
{
	char text[SHOWN_MAX];
	va_list ap;

	say_begin(command);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say_text(stderr, text);
	fprintf(stderr, "\nMore: procpen %s%s\n", command ? command->name : "help",
		command ? " --help" : "");
	return SAY_STATUS_USAGE;
}

static const char *say_bare(const char *name)
{
	return name + strspn(name, "-");
}

/* The nearest of @known, its dashes aside, or NULL. */
static const char *say_nearest(const char *name, const char *const *known)
{
	const char *bare[NAMES_MAX + 1] = { NULL }, *nearest;
	size_t i;

	for (i = 0; known[i]; i++) {
		BUG_IF(i == NAMES_MAX);
		bare[i] = say_bare(known[i]);
	}
	nearest = schema_nearest(say_bare(name), bare);
	for (i = 0; nearest && bare[i] != nearest; i++)
		;
	return nearest ? known[i] : NULL;
}

static void say_suggest(const char *name, const char *const *known, struct buf *out)
{
	const char *nearest;
	int count = 0;

	if (strlen(say_bare(name)) >= CONTAINED_MIN)
		for (size_t i = 0; known[i] && count < SUGGESTIONS_MAX; i++)
			if (strstr(known[i], say_bare(name)))
				buf_addf(out, "%s%s", count++ ? " or " : "; did you mean ",
					 known[i]);
	nearest = count ? NULL : say_nearest(name, known);
	if (nearest)
		buf_addf(out, "; did you mean %s", nearest);
	if (out->len)
		buf_addc(out, '?');
}

static void say_list(const char *const *known, struct buf *out)
{
	size_t count = 0;

	while (known[count])
		count++;
	for (size_t i = 0; count <= LISTED_MAX && i < count; i++)
		buf_addf(out, "%s%s", i ? ", " : "; there is ", known[i]);
}

int say_unknown(const struct cli_command *command, const char *what, const char *name,
		const char *const *known)
{
	struct buf meant;
	int status;

	buf_init(&meant, TEXT_MAX);
	say_suggest(name, known, &meant);
	if (!meant.len)
		say_list(known, &meant);
	status = say_mistake(command, "unknown %s %s%s", what, name, meant.len ? meant.data : "");
	buf_release(&meant);
	return status;
}

json_t *say_json_string(const char *text)
{
	size_t left = strlen(text), used;
	struct buf repaired;
	json_t *string;

	buf_init(&repaired, STRING_MAX);
	for (; left; text += used, left -= used) {
		if (utf8_next(text, left, &used) == UTF8_VALID)
			buf_add(&repaired, text, used);
		else
			buf_adds(&repaired, UTF8_REPLACEMENT);
	}
	string = json_stringn(repaired.len ? repaired.data : "", repaired.len);
	buf_release(&repaired);
	return string;
}

void say_json(const json_t *document)
{
	json_dumpf(document, stdout, JSON_INDENT(2));
	putchar('\n');
}

void say_error(const struct cli_command *command, const struct err *e)
{
	const char *hint = e->sys == EMFILE ? "Raise the limit of open files where procpen is "
					      "started: `ulimit -n 1024`." : e->hint;
	size_t len = strlen(e->message);

	say_begin(command);
	say_text(stderr, e->message);
	fputs(len && e->message[len - 1] == '.' ? "" : ".", stderr);
	fputs(*hint ? " " : "", stderr);
	say_text(stderr, hint);
	fputc('\n', stderr);
}

void say_start(void)
{
	struct sigaction action;

	ignores_pipe = !sigaction(SIGPIPE, NULL, &action) && action.sa_handler == SIG_IGN;
}

static bool say_reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP); /* a pipe; a socket */
}

int say_push(void)
{
	errno = 0;
	if (!fflush(stdout))
		return 0;
	if (!write_error)
		write_error = errno;
	return -1;
}

int say_flush(const struct cli_command *command)
{
	if (!say_push() && !ferror(stdout))
		return 0;
	if (!ignores_pipe && say_reader_is_gone()) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	say_begin(command);
	fprintf(stderr, "cannot write to stdout%s%s\n", write_error ? ": " : "",
		write_error ? strerror(write_error) : "");
	return -1;
}
