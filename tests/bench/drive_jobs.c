/* The modes about many jobs, whole trees, and their ends. */
#include "drive.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stats.h"
#include "watch.h"

#define WINDOW 64
#define JOBS 20
#define JOB_LIFE 30 /* seconds; whatever a defect leaves behind ends by itself */
#define END_MAX_US 5e6
#define TIMEOUT_US 100e3 /* what timeout_params asks for */
#define STORM_US 500000  /* chains use up the processors after that */
#define STORM_SECONDS 20 /* then they end by themselves */

/* A word for the command lines of all jobs of this process, a duration for sleep(1). */
static const char *mark(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "%d.%08d", JOB_LIFE, (int)getpid());
	return text;
}

struct job {
	char id[64];
};

/* Start @n runs in the background, WINDOW outstanding. */
static void start_jobs(struct client *c, struct job *jobs, int n, const char *params)
{
	long first = c->next_id + 1, id;
	int sent = 0;

	for (int answered = 0; answered < n; answered++) {
		const char *reply;

		for (; sent < n && sent - answered < WINDOW; sent++)
			client_send(c, "process.run", params);
		reply = client_reply(c, &id);
		if (!strstr(reply, "\"state\":\"running\""))
			client_die("no run in the background: %.300s", reply);
		client_string(reply, "process_id", jobs[id - first].id, sizeof(jobs[0].id));
	}
}

static void kill_jobs(struct client *c, const struct job *jobs, int n)
{
	char params[160];
	int sent = 0;
	long id;

	for (int answered = 0; answered < n; answered++) {
		const char *reply;

		for (; sent < n && sent - answered < WINDOW; sent++) {
			snprintf(params, sizeof(params),
				 "{\"process_id\":\"%s\",\"signal\":\"KILL\"}", jobs[sent].id);
			client_send(c, "process.kill", params);
		}
		reply = client_reply(c, &id);
		if (!strstr(reply, "\"killed\":true") || client_number(reply, "survivors") != 0)
			client_die("a job was not killed: %.300s", reply);
	}
}

static double list_jobs(struct client *c, int n)
{
	static const char params[] = "{\"state_filter\":\"running\",\"limit\":1000}";
	double took[7], begin;

	for (size_t i = 0; i < 7; i++) {
		const char *reply;

		begin = stats_now_us();
		reply = client_call(c, "process.list", params);
		took[i] = stats_now_us() - begin;
		if (client_number(reply, "total") != n)
			client_die("not all jobs are listed");
	}
	return stats_at(took, 7, 0.5);
}

/* background N: start, weigh, list and kill N jobs */
void drive_background(char **args, char **server)
{
	int n = atoi(args[0]), shims;
	struct job *jobs = calloc((size_t)n, sizeof(*jobs));
	double rest, begin, started, list_us, shim_kb, server_kb, ping_us;
	char params[160];
	struct client c;

	client_start(&c, server);
	drive_runs(&c, "{\"command\":\"true\",\"args\":[]}", 20, 1, NULL);
	rest = watch_pss_kb(c.pid);
	snprintf(params, sizeof(params),
		 "{\"command\":\"sleep\",\"args\":[\"%s\"],\"background\":true}", mark());
	begin = stats_now_us();
	start_jobs(&c, jobs, n, params);
	started = stats_now_us() - begin;
	list_us = list_jobs(&c, n);
	begin = stats_now_us();
	client_call(&c, "ping", "{}");
	ping_us = stats_now_us() - begin;
	shims = watch_children(c.pid, &shim_kb);
	server_kb = watch_pss_kb(c.pid) - rest;
	begin = stats_now_us();
	kill_jobs(&c, jobs, n);
	stats_print("start_ms", started / 1e3, "list_ms", list_us / 1e3, "kill_ms",
		    (stats_now_us() - begin) / 1e3, "ping_us", ping_us, "shims", (double)shims,
		    "kb_each", (server_kb + shim_kb) / n, "shim_kb_each", shim_kb / n,
		    "survivors", (double)watch_count(mark()), NULL);
	client_stop(&c);
	free(jobs);
}

/* Parameters of a run of @kind that lives until its timeout of 0.1 s. */
static void timeout_params(char *out, size_t size, const char *kind)
{
	static const char plain[] = "sleep %s; :";
	static const char setsid[] = "setsid sleep %s & sleep 20; :";
	static const char ignore[] = "trap '' TERM HUP INT; sleep %s; sleep 20";
	char command[160];

	if (!strcmp(kind, "setsid"))
		snprintf(command, sizeof(command), setsid, mark());
	else if (!strcmp(kind, "ignore"))
		snprintf(command, sizeof(command), ignore, mark());
	else
		snprintf(command, sizeof(command), plain, mark());
	snprintf(out, size, "{\"command\":\"%s\",\"timeout\":0.1}", command);
}

/* timeout plain|setsid|ignore N: how late, and is the whole tree dead at the answer */
void drive_timeout(char **args, char **server)
{
	size_t n = strtoul(args[1], NULL, 10);
	double *late = calloc(n, sizeof(*late)), begin;
	char params[300];
	struct client c;
	int left = 0;

	timeout_params(params, sizeof(params), args[0]);
	client_start(&c, server);
	drive_runs(&c, "{\"command\":\"true\",\"args\":[]}", 5, 1, NULL);
	for (size_t i = 0; i < n; i++) {
		const char *reply;

		begin = stats_now_us();
		reply = client_call(&c, "process.run", params);
		late[i] = stats_now_us() - begin - TIMEOUT_US;
		left += watch_count(mark());
		if (!strstr(reply, "\"state\":\"timed_out\"") ||
		    client_number(reply, "survivors") != 0)
			client_die("no timeout: %.300s", reply);
	}
	stats_print("late_p50_ms", stats_at(late, n, 0.5) / 1e3, "late_max_ms",
		    stats_at(late, n, 1) / 1e3, "left", (double)left, NULL);
	client_stop(&c);
	free(late);
}

/* end kill|eof ROUNDS: 20 jobs, each with a grandchild of its own session; when are all gone */
void drive_end(char **args, char **server)
{
	size_t rounds = strtoul(args[1], NULL, 10);
	double *took = calloc(rounds, sizeof(*took)), begin;
	struct job jobs[JOBS];
	char params[300];
	struct client c;
	int left = 0;

	snprintf(params, sizeof(params),
		 "{\"command\":\"setsid sleep %1$s & setsid sleep %1$s & sleep %1$s; :\","
		 "\"background\":true}", mark());
	for (size_t i = 0; i < rounds; i++) {
		client_start(&c, server);
		start_jobs(&c, jobs, JOBS, params);
		/* Each shell and its three sleeps. */
		while (watch_count(mark()) < JOBS * 4)
			usleep(10000);
		begin = stats_now_us();
		if (!strcmp(args[0], "kill"))
			client_kill(&c);
		else
			client_hang_up(&c);
		do
			left = watch_count(mark());
		while (left && stats_now_us() - begin < END_MAX_US);
		took[i] = stats_now_us() - begin;
		client_wait(&c);
		if (left)
			break;
	}
	stats_print("gone_ms", stats_at(took, rounds, 1) / 1e3, "left", (double)left, NULL);
	free(took);
}

/* ---- chains that fork, start a session and leave their parent ---- */

/* Parameters of a run of @count chains; its last argument counts as 0 for it, and marks it for us. */
static void chains_params(char *out, size_t size, char **args, const char *more)
{
	snprintf(out, size,
		 "{\"command\":\"%s\",\"args\":[\"chains\",\"%s\",\"%d\",\"0.%s\"],%s}", args[1],
		 args[0], STORM_SECONDS, mark(), more);
}

/* Until two scans in a row find none: one can miss a chain. */
static void chains_wait(void)
{
	double begin = stats_now_us();

	for (int none = 0; none < 2; none = watch_count(mark()) ? 0 : none + 1)
		if (stats_now_us() - begin > END_MAX_US)
			client_die("chains live on");
}

/* A server whose run of chains has gone on for a while. */
static void chains_start(struct client *c, char **args, char **server, struct job *job)
{
	char params[4400];

	client_start(c, server);
	chains_params(params, sizeof(params), args, "\"background\":true");
	start_jobs(c, job, 1, params);
	usleep(STORM_US);
}

static double chains_timeout(char **args, char **server)
{
	char params[4400];
	struct client c;
	double begin;

	client_start(&c, server);
	chains_params(params, sizeof(params), args, "\"timeout\":0.5");
	begin = stats_now_us();
	if (client_number(client_call(&c, "process.run", params), "survivors") != 0)
		client_die("chains survive their timeout");
	begin = stats_now_us() - begin - STORM_US;
	chains_wait();
	client_stop(&c);
	return begin;
}

static double chains_kill(char **args, char **server)
{
	struct client c;
	struct job job;
	double begin;

	chains_start(&c, args, server, &job);
	begin = stats_now_us();
	kill_jobs(&c, &job, 1);
	begin = stats_now_us() - begin;
	chains_wait();
	client_stop(&c);
	return begin;
}

/* The server ends by @number, or by the end of its input; until it has gone, or, where it is killed,
 * until the chains have. */
static double chains_end(char **args, char **server, int number)
{
	struct client c;
	struct job job;
	double begin;

	chains_start(&c, args, server, &job);
	begin = stats_now_us();
	if (number)
		kill(c.pid, number);
	else
		client_hang_up(&c);
	client_wait(&c);
	if (number != SIGKILL)
		begin = stats_now_us() - begin;
	chains_wait();
	return number == SIGKILL ? stats_now_us() - begin : begin;
}

/* chains COUNT HOSTILE: how long each end takes under so many */
void drive_chains(char **args, char **server)
{
	double timeout = chains_timeout(args, server), killed = chains_kill(args, server);
	double eof = chains_end(args, server, 0), term = chains_end(args, server, SIGTERM);

	stats_print("timeout_ms", timeout / 1e3, "kill_ms", killed / 1e3, "eof_ms", eof / 1e3,
		    "term_ms", term / 1e3, "sigkill_ms",
		    chains_end(args, server, SIGKILL) / 1e3, NULL);
}
