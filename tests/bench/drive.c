/*
 * drive MODE ARGS... -- SERVER ARGS... - measures one server in one way.
 *
 * Prints one JSON object of figures. Every answer is checked; a wrong one ends
 * the program with status 1. The modes with heavy output are in drive_output.c,
 * those about trees and many jobs in drive_jobs.c.
 */
#include "drive.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "message.h"
#include "stats.h"
#include "watch.h"

#define WINDOW_MAX 256
#define LIFE_SECONDS 120
#define SILENCE_US 500000 /* the server makes its first sandbox meanwhile */
#define TIDY_US 50000 /* the server closes the pipes of its last runs meanwhile */
#define TICK_BYTES 24 /* of a line of `floor tick` */

static const char run_true[] = "{\"command\":\"true\",\"args\":[]}";
static const char run_tty[] = "{\"command\":\"true\",\"args\":[],\"tty\":true}";
static const char run_shell[] = "{\"command\":\"true\"}";
static const char run_echo[] = "{\"command\":\"echo\",\"args\":[\"one line of output\"]}";

/* @n runs, @window of them outstanding; one latency each into @took unless NULL. */
void drive_runs(struct client *c, const char *params, size_t n, size_t window, double *took)
{
	double sent_at[WINDOW_MAX];
	size_t sent = 0;
	long first = c->next_id + 1, id;

	for (size_t answered = 0; answered < n; answered++) {
		const char *reply;

		for (; sent < n && sent - answered < window; sent++) {
			sent_at[(c->next_id + 1) % WINDOW_MAX] = stats_now_us();
			client_send(c, "process.run", params);
		}
		reply = client_reply(c, &id);
		if (id < first || client_number(reply, "exit_code") != 0)
			client_die("unexpected answer: %.300s", reply);
		if (took)
			took[answered] = stats_now_us() - sent_at[id % WINDOW_MAX];
	}
}

/* run argv|shell|tty|PARAMS N WINDOW */
static void run_mode(char **args, char **server)
{
	size_t n = strtoul(args[1], NULL, 10), window = strtoul(args[2], NULL, 10);
	const char *params = *args[0] == '{'		? args[0]
			     : !strcmp(args[0], "tty")	? run_tty
			     : strcmp(args[0], "shell") ? run_true
							: run_shell;
	double *took = calloc(n, sizeof(*took)), begin, cpu;
	struct client c;

	if (window >= WINDOW_MAX || !took)
		client_die("at most %d outstanding", WINDOW_MAX - 1);
	client_start(&c, server);
	drive_runs(&c, params, 20, 1, NULL);
	cpu = watch_cpu_us(c.pid);
	begin = stats_now_us();
	drive_runs(&c, params, n, window, took);
	begin = stats_now_us() - begin;
	cpu = watch_cpu_us(c.pid) - cpu;
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), "rate",
		    (double)n * 1e6 / begin, "cpu_us", cpu / (double)n, NULL);
	client_stop(&c);
	free(took);
}

/* One processor for both ends: else the figure is the distance between two of them. */
static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* ping N */
static void ping_mode(char **args, char **server)
{
	size_t n = strtoul(args[0], NULL, 10);
	double *took = calloc(n, sizeof(*took)), begin;
	struct client c;

	pin();
	client_start(&c, server);
	for (size_t i = 0; i < 100; i++)
		client_call(&c, "ping", "{}");
	for (size_t i = 0; i < n; i++) {
		begin = stats_now_us();
		client_call(&c, "ping", "{}");
		took[i] = stats_now_us() - begin;
	}
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), NULL);
	client_stop(&c);
	free(took);
}

/* start ping|tools|run N: from fork to the first answer */
static void start_mode(char **args, char **server)
{
	size_t n = strtoul(args[1], NULL, 10);
	double *took = calloc(n, sizeof(*took)), *end = calloc(n, sizeof(*end)), begin;
	bool tools = !strcmp(args[0], "tools"), run = !strcmp(args[0], "run");
	struct client c;

	for (size_t i = 0; i < n; i++) {
		begin = stats_now_us();
		client_start(&c, server);
		if (run)
			drive_runs(&c, run_true, 1, 1, NULL);
		else
			client_call(&c, tools ? "tools/list" : "ping", "{}");
		took[i] = stats_now_us() - begin;
		begin = stats_now_us();
		client_stop(&c);
		end[i] = stats_now_us() - begin;
	}
	stats_print("p50_us", stats_at(took, n, 0.5), "end_us", stats_at(end, n, 0.5), NULL);
	free(took);
	free(end);
}

/* memory N COMMAND: at rest, and after N runs of true, or of echo, which print a line */
static void memory_mode(char **args, char **server)
{
	size_t n = strtoul(args[0], NULL, 10);
	const char *params = strcmp(args[1], "echo") ? run_true : run_echo;
	double rest, rest_pss, rest_own, fds;
	struct client c;

	client_start(&c, server);
	client_call(&c, "ping", "{}");
	usleep(SILENCE_US);
	rest = watch_status_kb(c.pid, "VmRSS");
	rest_pss = watch_pss_kb(c.pid);
	rest_own = watch_status_kb(c.pid, "RssAnon");
	drive_runs(&c, params, 20, 1, NULL);
	usleep(TIDY_US);
	fds = watch_fds(c.pid);
	drive_runs(&c, params, n, 32, NULL);
	client_call(&c, "ping", "{}");
	usleep(TIDY_US);
	stats_print("rest_kb", rest, "rest_pss_kb", rest_pss, "after_kb",
		    watch_status_kb(c.pid, "VmRSS"), "grown_kb",
		    watch_status_kb(c.pid, "VmRSS") - rest, "own_grown_kb",
		    watch_status_kb(c.pid, "RssAnon") - rest_own, "fds_grown",
		    watch_fds(c.pid) - fds, NULL);
	client_stop(&c);
}

/* burst N: a ping behind the first N runs of a server, all but one of which find no idle shim */
static void burst_mode(char **args, char **server)
{
	int n = atoi(args[0]), over = 0;
	double begin, took = 0;
	struct client c;
	long ping, id;

	client_start(&c, server);
	client_call(&c, "ping", "{}");
	usleep(SILENCE_US);
	for (int i = 0; i < n; i++)
		client_send(&c, "process.run", run_true);
	begin = stats_now_us();
	for (ping = client_send(&c, "ping", "{}"); over < n || !took;) {
		client_reply(&c, &id);
		if (id == ping)
			took = stats_now_us() - begin;
		else
			over++;
	}
	stats_print("ping_ms", took / 1e3, "all_ms", (stats_now_us() - begin) / 1e3, NULL);
	client_stop(&c);
}

/* request BYTES ROUNDS: a long message, see message.h */
static void request_mode(char **args, char **server)
{
	size_t n = strtoul(args[1], NULL, 10);
	char *params = message_make(strtoul(args[0], NULL, 10));
	double cpu, begin;
	struct client c;

	if (!params)
		client_die("no memory");
	client_start(&c, server);
	client_call(&c, "ping", params);
	cpu = watch_cpu_us(c.pid);
	begin = stats_now_us();
	for (size_t i = 0; i < n; i++)
		client_call(&c, "ping", params);
	stats_print("cpu_ms", (watch_cpu_us(c.pid) - cpu) / 1e3 / (double)n, "each_ms",
		    (stats_now_us() - begin) / 1e3 / (double)n, NULL);
	client_stop(&c);
	free(params);
}

/* idle N MS: runs, each after a pause */
static void idle_mode(char **args, char **server)
{
	size_t n = strtoul(args[0], NULL, 10);
	useconds_t pause_us = (useconds_t)strtoul(args[1], NULL, 10) * 1000;
	double *took = calloc(n, sizeof(*took));
	struct client c;

	client_start(&c, server);
	drive_runs(&c, run_true, 20, 1, NULL);
	for (size_t i = 0; i < n; i++) {
		usleep(pause_us);
		drive_runs(&c, run_true, 1, 1, &took[i]);
	}
	stats_print("p50_us", stats_at(took, n, 0.5), "max_us", stats_at(took, n, 1), NULL);
	client_stop(&c);
	free(took);
}

static void start_live(struct client *c, const char *run, char *id, size_t size)
{
	char params[4400];

	snprintf(params, sizeof(params), "{%s,\"stdin_mode\":\"pipe\",\"background\":true}", run);
	client_string(client_call(c, "process.run", params), "process_id", id, size);
}

/* Until both the answer to @input and the event with the line are there. */
static void await_echo(struct client *c, long input, double offset)
{
	bool answered = false, echoed = false;

	while (!answered || !echoed) {
		const char *message = client_message(c);

		if (strstr(message, "\"process.event\"") && strstr(message, "\"stdout\"")) {
			echoed = true;
			if (client_number(message, "offset") != offset)
				client_die("not the next output: %.300s", message);
		} else if (!strstr(message, "\"method\":")) {
			answered = client_number(message, "id") == input;
			if (client_number(message, "bytes_queued") != 0)
				client_die("cat does not read: %.300s", message);
		}
	}
}

/* input N: a line into `cat` by process.input, and back as an event */
static void input_mode(char **args, char **server)
{
	static const char line[] = "one line that goes there and back again";
	size_t n = strtoul(args[0], NULL, 10);
	double *took = calloc(n, sizeof(*took)), begin, cpu;
	char id[64], write[256];
	struct client c;

	pin();
	client_start(&c, server);
	start_live(&c, "\"command\":\"cat\",\"args\":[],\"follow\":true", id, sizeof(id));
	snprintf(write, sizeof(write), "{\"process_id\":\"%s\",\"data\":\"%s\\n\"}", id, line);
	cpu = watch_cpu_us(c.pid);
	for (size_t i = 0; i < n; i++) {
		begin = stats_now_us();
		await_echo(&c, client_send(&c, "process.input", write), (double)(i * sizeof(line)));
		took[i] = stats_now_us() - begin;
	}
	cpu = watch_cpu_us(c.pid) - cpu;
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), "cpu_us",
		    cpu / (double)n, NULL);
	client_stop(&c);
	free(took);
}

/* wait N FLOOR: from the writing of a line to the answer of the wait for it, as it comes: to search
 * it takes longer than to read a line */
static void wait_mode(char **args, char **server)
{
	size_t n = strtoul(args[0], NULL, 10), from = 0;
	double *took = calloc(n, sizeof(*took)), cpu;
	char run[4200], id[64], params[200];
	const char *reply;
	struct client c;

	client_start(&c, server);
	snprintf(run, sizeof(run), "\"command\":\"%s\",\"args\":[\"tick\",\"%zu\"]", args[1],
		 n + 1000);
	start_live(&c, run, id, sizeof(id));
	cpu = watch_cpu_us(c.pid);
	for (size_t i = 0; i < n; i++, from += TICK_BYTES) {
		snprintf(params, sizeof(params),
			 "{\"process_id\":\"%s\",\"until\":\"pattern\",\"pattern\":\"^tick\","
			 "\"stream\":\"stdout\",\"from\":%zu,\"wait_ms\":60000}", id, from);
		reply = client_call(&c, "process.monitor", params);
		took[i] = c.read_us - strtod(client_text(reply, "text") + 5, NULL);
	}
	cpu = watch_cpu_us(c.pid) - cpu;
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), "cpu_us",
		    cpu / (double)n, NULL);
	client_stop(&c);
	free(took);
}

static const struct mode {
	const char *name;
	int args;
	void (*fn)(char **args, char **server);
} modes[] = {
	{ "run", 3, run_mode },
	{ "ping", 1, ping_mode },
	{ "start", 2, start_mode },
	{ "memory", 2, memory_mode },
	{ "burst", 1, burst_mode },
	{ "input", 1, input_mode },
	{ "wait", 2, wait_mode },
	{ "request", 2, request_mode },
	{ "idle", 2, idle_mode },
	{ "flood", 6, drive_flood },
	{ "follow", 4, drive_follow },
	{ "output", 2, drive_output },
	{ "logs", 3, drive_logs },
	{ "exact", 2, drive_exact },
	{ "background", 1, drive_background },
	{ "timeout", 2, drive_timeout },
	{ "end", 2, drive_end },
	{ "chains", 2, drive_chains },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		const struct mode *m = &modes[i];

		if (strcmp(m->name, argv[1]))
			continue;
		if (argc < m->args + 4 || strcmp(argv[m->args + 2], "--"))
			break;
		alarm(LIFE_SECONDS);
		m->fn(argv + 2, argv + m->args + 3);
		return 0;
	}
	fprintf(stderr, "usage: drive MODE ARGS... -- SERVER ARGS...; see tests/bench/report.py\n");
	return 2;
}
