/* The modes with heavy output. Every byte that is read back is compared. */
#include "drive.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page.h"
#include "stats.h"
#include "watch.h"

#define PINGS_MAX 20000
#define PING_EVERY_US 1000
#define FLOOD_BYTES (64ull << 30)
#define EXACT_RUNS 64
#define FLOODS_MAX 64
#define EXACT_BYTES (1u << 20)

static void writer_params(char *out, size_t size, const char *writer, unsigned long long bytes,
			  unsigned int seed)
{
	snprintf(out, size, "{\"command\":\"%s\",\"args\":[\"%llu\",\"%u\"],\"timeout\":100}",
		 writer, bytes, seed);
}

/* Pings until @end, one each millisecond; @over counts the runs that have been answered. */
static size_t ping_until(struct client *c, double end, double *took, int *over)
{
	size_t n = 0;

	while (n < PINGS_MAX && stats_now_us() < end) {
		double begin = stats_now_us();
		long want = client_send(c, "ping", "{}"), id;

		while (client_reply(c, &id) && id != want)
			(*over)++;
		took[n++] = stats_now_us() - begin;
		usleep(PING_EVERY_US);
	}
	return n;
}

/* Wait @waits times for lines that never come, of the runs that @first and the requests after it have
 * started in the background. */
static void wait_for_nothing(struct client *c, int waits, long first, int children)
{
	char ids[FLOODS_MAX][64], params[200];
	long id;

	for (int i = 0; i < children; i++) {
		const char *reply = client_reply(c, &id);

		client_string(reply, "process_id", ids[(id - first) % FLOODS_MAX], 64);
	}
	for (int i = 0; i < waits; i++) {
		snprintf(params, sizeof(params), "{\"process_id\":\"%s\",\"until\":\"pattern\","
			 "\"pattern\":\"^never$\",\"wait_ms\":100000}", ids[i % children]);
		client_send(c, "process.monitor", params);
	}
}

/* flood CHILDREN SECONDS WRITER RECORDS FOLLOW WAITS: pings while children write as fast as they can,
 * after so many other runs; FOLLOW true: and their output comes as events; WAITS: and so many
 * requests wait for a line of it */
void drive_flood(char **args, char **server)
{
	int children = atoi(args[0]), waits = atoi(args[5]), wanted = waits ? waits : children;
	int over = 0;
	double seconds = strtod(args[1], NULL), begin;
	double *took = calloc(PINGS_MAX, sizeof(*took));
	char params[4300];
	struct client c;
	size_t n;
	long id, first;

	client_start(&c, server);
	client_call(&c, "ping", "{}");
	drive_runs(&c, "{\"command\":\"true\",\"args\":[]}", strtoul(args[3], NULL, 10), 32, NULL);
	begin = stats_now_us();
	snprintf(params, sizeof(params),
		 "{\"command\":\"%s\",\"args\":[\"%llu\",\"1\",\"%.2f\"],%s%s}",
		 args[2], FLOOD_BYTES, seconds,
		 waits ? "\"background\":true" : "\"timeout\":100",
		 strcmp(args[4], "true") ? "" : ",\"follow\":true");
	first = c.next_id + 1;
	for (int i = 0; i < children; i++)
		client_send(&c, "process.run", params);
	if (waits)
		wait_for_nothing(&c, waits, first, children);
	usleep(100000);
	n = ping_until(&c, begin + seconds * 1e6, took, &over);
	for (; over < wanted; over++)
		if (client_number(client_reply(&c, &id), "exit_code") != 0)
			client_die("a flooding child failed");
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), "max_us",
		    stats_at(took, n, 1), "pings", (double)n, NULL);
	client_stop(&c);
	free(took);
}

/* Run on one processor from now on, and so all that is started: where the scheduler puts the ends of
 * a pipe otherwise decides its speed. */
static void stay_on_one_processor(void)
{
	cpu_set_t set, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		client_die("sched_getaffinity");
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		client_die("sched_setaffinity");
}

/* output BYTES WRITER: one run with much output */
void drive_output(char **args, char **server)
{
	double bytes = strtod(args[0], NULL), begin, took, cpu, rest, heap = 0, now;
	char params[4300];
	const char *reply = NULL;
	struct client c;
	long id;

	stay_on_one_processor();
	client_start(&c, server);
	drive_runs(&c, "{\"command\":\"true\",\"args\":[]}", 5, 1, NULL);
	rest = watch_status_kb(c.pid, "RssAnon");
	cpu = watch_cpu_us(c.pid);
	writer_params(params, sizeof(params), args[1], (unsigned long long)bytes, 1);
	begin = stats_now_us();
	client_send(&c, "process.run", params);
	while (!(reply = client_poll(&c, &id, 50))) {
		now = watch_status_kb(c.pid, "RssAnon");
		heap = now > heap ? now : heap;
	}
	took = stats_now_us() - begin;
	now = watch_status_kb(c.pid, "RssAnon");
	heap = now > heap ? now : heap;
	if (client_number(reply, "exit_code") != 0 || client_number(reply, "stdout_size") != bytes)
		client_die("output was lost: %.300s", reply);
	stats_print("wall_ms", took / 1e3, "mb_per_s", bytes / took, "cpu_ms",
		    (watch_cpu_us(c.pid) - cpu) / 1e3, "heap_grown_kb", heap - rest, "peak_rss_kb",
		    watch_status_kb(c.pid, "VmHWM"), NULL);
	client_stop(&c);
}

/* Undo JSON's escapes as they occur in pages; the length. */
static size_t unescape(const char *at, char *out, size_t size)
{
	size_t n = 0;

	for (; *at && *at != '"'; at++) {
		if (n == size)
			client_die("a page is longer than it says");
		if (*at != '\\') {
			out[n++] = *at;
			continue;
		}
		at++;
		out[n++] = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
	}
	return n;
}

/* Compare the text at @offset of a stream with what writer @seed wrote there. */
static void compare(const char *text, size_t len, uint64_t offset, unsigned int seed)
{
	char page[PAGE_BYTES];

	while (len) {
		size_t at = offset % PAGE_BYTES;
		size_t n = PAGE_BYTES - at < len ? PAGE_BYTES - at : len;

		page_fill(page, seed, offset / PAGE_BYTES);
		if (memcmp(page + at, text, n))
			client_die("writer %u: wrong bytes near offset %llu", seed,
				   (unsigned long long)offset);
		text += n;
		offset += n;
		len -= n;
	}
}

struct reader {
	char id[64];
	uint64_t offset;
	char *text; /* of one page */
	size_t size;
};

/* Read the next page of a run's stdout; only the time of the call counts. */
static double read_page(struct client *c, struct reader *r, unsigned int seed)
{
	char params[160];
	const char *reply;
	double begin = stats_now_us(), took;
	uint64_t next;
	size_t len;

	snprintf(params, sizeof(params),
		 "{\"process_id\":\"%s\",\"stream\":\"stdout\",\"offset\":%llu}", r->id,
		 (unsigned long long)r->offset);
	reply = client_call(c, "process.logs", params);
	took = stats_now_us() - begin;
	next = (uint64_t)client_number(reply, "stdout_next_offset");
	len = unescape(client_text(reply, "stdout"), r->text, r->size);
	if (next <= r->offset || len != next - r->offset)
		client_die("a page of %zu bytes leads from %llu to %llu", len,
			   (unsigned long long)r->offset, (unsigned long long)next);
	compare(r->text, len, r->offset, seed);
	r->offset = next;
	return took;
}

static void reader_init(struct reader *r, const char *reply)
{
	client_string(reply, "process_id", r->id, sizeof(r->id));
	r->offset = 0;
	r->size = 2u << 20;
	r->text = malloc(r->size);
	if (!r->text)
		client_die("no memory");
}

/* logs BYTES ROUNDS WRITER: page through what one run wrote */
void drive_logs(char **args, char **server)
{
	uint64_t bytes = strtoull(args[0], NULL, 10);
	size_t rounds = strtoul(args[1], NULL, 10), pages = 0;
	double *took = calloc(rounds, sizeof(*took));
	char params[4300];
	struct reader r;
	struct client c;

	client_start(&c, server);
	writer_params(params, sizeof(params), args[2], bytes, 3);
	reader_init(&r, client_call(&c, "process.run", params));
	for (size_t i = 0; i < rounds; i++) {
		for (r.offset = 0, pages = 0; r.offset < bytes; pages++)
			took[i] += read_page(&c, &r, 3);
	}
	stats_print("p50_us", stats_at(took, rounds, 0.5), "pages", (double)pages, NULL);
	client_stop(&c);
	free(r.text);
	free(took);
}

/* Take one event of a follow; false: it was the last. @r, if any: compare its text. */
static bool take_event(struct client *c, struct reader *r, unsigned int seed)
{
	const char *event = client_message(c);
	size_t len;

	if (strstr(event, "\"type\":\"gap\""))
		client_die("output was lost");
	if (r && strstr(event, "\"type\":\"stdout\"")) {
		if (client_number(event, "offset") != (double)r->offset)
			client_die("an event that does not go on at %llu",
				   (unsigned long long)r->offset);
		len = unescape(client_text(event, "data"), r->text, r->size);
		compare(r->text, len, r->offset, seed);
		r->offset += len;
	}
	return !memmem(event, strnlen(event, 300), "\"exited\"", strlen("\"exited\""));
}

/* Follow a run that is over; the time until its end has come. */
static double follow_once(struct client *c, const char *id, struct reader *r, unsigned int seed)
{
	char params[160];
	double begin = stats_now_us();

	snprintf(params, sizeof(params), "{\"process_id\":\"%s\"}", id);
	client_call(c, "process.follow", params);
	while (take_event(c, r, seed))
		;
	return stats_now_us() - begin;
}

/* follow BYTES ROUNDS WRITER pipe|tty: what one run wrote, as events; on a terminal that leaves each
 * byte as it is */
void drive_follow(char **args, char **server)
{
	uint64_t bytes = strtoull(args[0], NULL, 10);
	size_t rounds = strtoul(args[1], NULL, 10);
	double *took = calloc(rounds, sizeof(*took));
	char params[4300];
	struct reader r;
	struct client c;

	client_start(&c, server);
	writer_params(params, sizeof(params), args[2], bytes, 3);
	if (!strcmp(args[3], "tty"))
		snprintf(params, sizeof(params),
			 "{\"command\":\"stty -opost; exec %s %s 3\",\"tty\":true,\"timeout\":100}",
			 args[2], args[0]);
	reader_init(&r, client_call(&c, "process.run", params));
	follow_once(&c, r.id, &r, 3);
	if (r.offset != bytes)
		client_die("%llu bytes of %llu", (unsigned long long)r.offset,
			   (unsigned long long)bytes);
	for (size_t i = 0; i < rounds; i++)
		took[i] = follow_once(&c, r.id, NULL, 3);
	stats_print("p50_us", stats_at(took, rounds, 0.5), NULL);
	client_stop(&c);
	free(r.text);
	free(took);
}

/* exact ROUNDS WRITER: many runs at once, each byte of each compared */
void drive_exact(char **args, char **server)
{
	size_t rounds = strtoul(args[0], NULL, 10);
	char params[4300], ids[EXACT_RUNS][64];
	struct reader r = { .size = 0 };
	double begin = stats_now_us();
	struct client c;
	long id, first;

	client_start(&c, server);
	for (size_t round = 0; round < rounds; round++) {
		first = c.next_id + 1;
		for (unsigned int i = 0; i < EXACT_RUNS; i++) {
			writer_params(params, sizeof(params), args[1], EXACT_BYTES, i);
			client_send(&c, "process.run", params);
		}
		for (int i = 0; i < EXACT_RUNS; i++) {
			const char *reply = client_reply(&c, &id);

			client_string(reply, "process_id", ids[(id - first) % EXACT_RUNS], 64);
		}
		for (unsigned int i = 0; i < EXACT_RUNS; i++) {
			free(r.text);
			r = (struct reader){ .text = malloc(2u << 20), .size = 2u << 20 };
			memcpy(r.id, ids[i], sizeof(r.id));
			while (r.offset < EXACT_BYTES)
				read_page(&c, &r, i);
		}
	}
	stats_print("exact", (double)EXACT_RUNS, "ms_per_round",
		    (stats_now_us() - begin) / 1e3 / (double)rounds, NULL);
	client_stop(&c);
	free(r.text);
}
