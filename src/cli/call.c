#include "cli/call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cap/cap.h"
#include "cli/answer.h"
#include "cli/options.h"
#include "cli/say.h"
#include "os/stdio.h"
#include "proc/names.h"
#include "rpc/rpc.h"
#include "server/server.h"

enum { STATUS_RESULT = 0, STATUS_ERROR = 1, STATUS_FAILED = 125, STATUS_SIGNAL = 128 };

#define PARAMS_MAX (16u << 20) /* the largest limits.line_bytes */
#define REQUEST_MAX (PARAMS_MAX + 4096)
#define EXAMPLE "'{\"command\":\"echo hi\"}'"

struct call {
	const struct cli_command *command;
	struct options options;
	const char *method;
	bool tool; /* the name is that of an MCP tool: ask as a host does */
	struct buf request; /* one line */
	int to, from;       /* the server's input and output; -1: closed */
	pid_t server;
};

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* ---- the request ---- */

static bool cli_call_is_tool(const char *name)
{
	for (const struct cap_row *row = cap_rows; row->name; row++)
		if (!strcmp(row->tool_name, name) && strcmp(row->name, name) != 0)
			return true;
	return false;
}

static int cli_call_read_stdin(const struct call *c, struct buf *text)
{
	char bytes[4096];
	size_t len;

	while ((len = fread(bytes, 1, sizeof(bytes), stdin)) > 0)
		buf_add(text, bytes, len);
	if (ferror(stdin))
		return say_mistake(c->command, "cannot read stdin");
	return CMDLINE_GO_ON;
}

/* @text is a JSON object, and asks for nothing that a session of one request cannot give. */
static int cli_call_check_params(const struct call *c, const struct buf *text)
{
	enum json_fault fault;
	char why[160];
	json_t *params;
	int status = CMDLINE_GO_ON;

	if (text->full)
		return say_mistake(c->command, "the JSON is longer than %u bytes", PARAMS_MAX);
	params = json_text_parse(text->data ? text->data : "", text->len,
				 RPC_DEPTH_MAX - 1 /* within the request */, &fault, why);
	if (!params && fault == JSON_MALFORMED)
		return say_mistake(c->command, "this is not JSON: %s. Write it in single quotes, "
					       "like " EXAMPLE, why);
	if (!params)
		return say_mistake(c->command, "this JSON is refused: %s", why);
	if (!json_is_object(params))
		status = say_mistake(c->command, "the JSON must be an object, like " EXAMPLE);
	else if (json_is_true(json_object_get(params, "background")))
		status = say_mistake(c->command,
				     "background: the run would end with this call; leave it out, "
				     "or start a session with procpen serve");
	json_decref(params);
	return status;
}

/* White space between the values of valid JSON may be line ends, which end a request. */
static void cli_call_write_request(struct call *c, const struct buf *params)
{
	struct jsonw w;

	jsonw_init(&w, &c->request);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_int(&w, "id", 1);
	jsonw_str(&w, "method", c->tool ? "tools/call" : c->method);
	if (c->tool) {
		jsonw_object(&w, "params");
		jsonw_str(&w, "name", c->method);
	}
	jsonw_raw(&w, c->tool ? "arguments" : "params", params->data, params->len);
	if (c->tool)
		jsonw_end_object(&w);
	jsonw_end_object(&w);
	for (size_t i = 0; i < c->request.len; i++)
		if (c->request.data[i] == '\n' || c->request.data[i] == '\r')
			c->request.data[i] = ' ';
	buf_addc(&c->request, '\n');
}

static int cli_call_read_words(struct call *c, char **words)
{
	int status = CMDLINE_GO_ON;
	struct buf params;

	if (!words[0] || !*words[0])
		return say_mistake(c->command, "no method is given: process.run, for instance");
	if (words[1] && words[2])
		return say_mistake(c->command, "more than one word after the method: put the JSON "
					       "in quotes");
	c->method = words[0];
	c->tool = cli_call_is_tool(words[0]);
	buf_init(&params, PARAMS_MAX);
	if (words[1] && !strcmp(words[1], "-"))
		status = cli_call_read_stdin(c, &params);
	else
		buf_adds(&params, words[1] ? words[1] : "{}");
	if (status == CMDLINE_GO_ON)
		status = cli_call_check_params(c, &params);
	buf_consume(&params, utf8_bom(params.data, params.len));
	if (status == CMDLINE_GO_ON)
		cli_call_write_request(c, &params);
	buf_release(&params);
	return status;
}

/* ---- the server ---- */

static volatile sig_atomic_t caught; /* the signal; 0: none */
static volatile pid_t forward_to;

static void cli_call_on_signal(int number)
{
	caught = number;
	kill(forward_to, number);
}

/* Start the server with our ends of its pipes in @c. Signals are blocked. 0, or -1 with errno. */
static int cli_call_fork(struct call *c)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC))
		return -1;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	c->server = fork();
	if (!c->server) {
		/* A group of its own: ^C reaches it once, from us. */
		setpgid(0, 0);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
	}
	close(in[0]);
	close(out[1]);
	c->to = in[1];
	c->from = out[0];
	return c->server < 0 ? -1 : 0;
}

/* The same in the child, whose server installs handlers of its own. */
static void cli_call_handle_signals(const struct call *c, const struct sigaction *before)
{
	struct sigaction action = { .sa_handler = cli_call_on_signal, .sa_flags = SA_RESTART };

	forward_to = c->server;
	for (size_t i = 0; c->server > 0 && i < COUNT_OF(signals); i++)
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static int cli_call_start(struct call *c)
{
	struct sigaction before[COUNT_OF(signals)];
	sigset_t all, old;
	int status;

	signal(SIGPIPE, SIG_IGN); /* write(2) returns EPIPE instead */
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		sigaction(signals[i], NULL, &before[i]);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	status = cli_call_fork(c);
	if (!status)
		cli_call_handle_signals(c, before);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return status;
}

/* 0, or -1 when the server is gone. */
static int cli_call_send(const struct call *c, const char *line, size_t len)
{
	while (len) {
		ssize_t done = write(c->to, line, len);

		if (done < 0 && errno != EINTR)
			return -1;
		line += done < 0 ? 0 : done;
		len -= done < 0 ? 0 : (size_t)done;
	}
	return 0;
}

/* A question to a human: there is none. */
static void cli_call_refuse(const struct call *c, const json_t *id)
{
	json_t *answer = json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error",
				   "code", -32601, "message", "there is no human to ask");
	char *line = json_dumps(answer, JSON_COMPACT);

	if (line && !cli_call_send(c, line, strlen(line)))
		cli_call_send(c, "\n", 1);
	free(line);
	json_decref(answer);
}

/* ---- the answer ---- */

/* What still ran when the answer was made ends with the session. */
static void cli_call_warn(const struct call *c, const json_t *result)
{
	const json_t *meta = json_object_get(result, "_meta");
	const json_t *run = c->tool ? json_object_get(meta, "dev.procpen/result") : result;
	const char *state = json_string_value(json_object_get(run, "state"));

	if (!state || strcmp(state, "running"))
		return;
	say_push(); /* the answer comes first */
	fprintf(stderr, "procpen %s: the command is still running, and is killed now: the session "
			"ends with this call\n", c->command->name);
}

/* The error's own words are for a client that has a session: there was nothing before this call. */
static void cli_call_explain(const struct call *c, const json_t *error)
{
	const char *type = json_get_str(error, "type", "");

	if (!strcmp(type, err_rows[ERR_PROCESS_NOT_FOUND].name))
		fprintf(stderr, "procpen %s: each call is a session of its own, and no process of "
				"an earlier one lives; for more than one request: procpen serve\n",
			c->command->name);
}

static int cli_call_print(const struct call *c, const json_t *message, const char *line, size_t len)
{
	json_t *result = json_object_get(message, "result");
	size_t raw_len;
	const char *raw = json_raw_member(line, len, result ? "result" : "error", &raw_len);

	if (c->options.json && result)
		answer_print_json(raw, raw_len);
	else if (c->options.json)
		answer_print_json_error(raw, raw_len);
	else if (result && c->tool)
		answer_print_tool(result);
	else if (result)
		answer_print(result);
	else
		answer_print_error(json_object_get(message, "error"));
	if (result)
		cli_call_warn(c, result);
	cli_call_explain(c, result ? json_object_get(json_object_get(result, "_meta"),
						     "dev.procpen/error")
				   : json_object_get(json_object_get(message, "error"), "data"));
	return result && !json_is_true(json_object_get(result, "isError")) ? STATUS_RESULT
									   : STATUS_ERROR;
}

/* Read up to the answer. The exit status, or STATUS_FAILED when there is none. */
static int cli_call_await(const struct call *c, FILE *from)
{
	int status = STATUS_FAILED;
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while (status == STATUS_FAILED && (len = getline(&line, &size, from)) > 0) {
		json_t *message = json_loadb(line, (size_t)len, JSON_ALLOW_NUL, NULL);
		const json_t *id = json_object_get(message, "id");

		if (json_object_get(message, "method") && id)
			cli_call_refuse(c, id);
		else if (id)
			status = cli_call_print(c, message, line, (size_t)len);
		json_decref(message);
	}
	return status;
}

static int cli_call_wait(struct call *c)
{
	int status;

	mem_cleanup_close(&c->to);
	while (waitpid(c->server, &status, 0) < 0)
		if (errno != EINTR)
			return STATUS_FAILED;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : STATUS_FAILED;
}

/* Ask the server, print the answer, and end the server. */
static int cli_call_ask(struct call *c)
{
	FILE *from = fdopen(c->from, "r");
	int status = STATUS_FAILED, number;
	ERR_LOCAL(e);

	BUG_IF(!from);
	if (!cli_call_send(c, c->request.data, c->request.len))
		status = cli_call_await(c, from);
	number = caught;
	if (status == STATUS_FAILED) {
		err_set(&e, ERR_INTERNAL_ERROR, "the server gave no answer");
		err_hint(&e, "See what it says on stderr; if nothing, call again.");
		answer_fail(c->command, c->options.json, &e);
		err_release(&e);
	}
	say_push(); /* nobody waits for the end of the session to read the answer */
	fclose(from);
	if (cli_call_wait(c))
		status = STATUS_FAILED;
	if (!number) /* ^C ends the reader of a pipe, too, which is no reason to say nothing */
		return say_flush(c->command) ? STATUS_FAILED : status;
	fprintf(stderr, "procpen %s: %s: what was running was killed\n", c->command->name,
		names_signal(number));
	return STATUS_SIGNAL + number;
}

static int cli_call_carry_out(struct call *c)
{
	ERR_LOCAL(e);

	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		err_set(&e, ERR_INTERNAL_ERROR, "stdout is closed");
	if (e.type || stdio_guard(&e) || cli_call_start(c)) {
		if (e.type == ERR_NONE)
			err_sys(&e, ERR_INTERNAL_ERROR, errno, "cannot start a server");
		answer_fail(c->command, c->options.json, &e);
		err_release(&e);
		return STATUS_FAILED;
	}
	if (c->server)
		return cli_call_ask(c);
	log_from(LOG_LEVEL_WARN); /* who has typed the command needs no notice of it */
	return server_main(&c->options.context);
}

int cli_call(const struct cli_command *command, char **argv)
{
	struct call c = { .command = command, .to = -1, .from = -1 };
	struct cmdline args;
	int status;

	options_init(&c.options);
	buf_init(&c.request, REQUEST_MAX);
	status = cmdline_read(&args, command, argv, options_take, &c.options);
	if (status == CMDLINE_GO_ON)
		status = cli_call_read_words(&c, args.words);
	if (status == CMDLINE_GO_ON)
		status = cli_call_carry_out(&c);
	buf_release(&c.request);
	options_release(&c.options);
	return status;
}
