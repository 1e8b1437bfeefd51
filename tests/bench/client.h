/*
 * client - one server on two pipes, spoken to in plain JSON-RPC.
 *
 * Whatever is not as it must be ends the program with a message and status 1,
 * and the server with it: a figure for a wrong answer is worth nothing.
 */
#ifndef PROCPEN_BENCH_CLIENT_H
#define PROCPEN_BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct client {
	pid_t pid;
	int to, from;
	char *buf; /* received and not yet handed out: start ... end */
	size_t start, end, size;
	long next_id;
	double read_us; /* stats_now_us(), when bytes came last */
};

/* Start @argv with pipes; its stderr goes to /dev/null. */
void client_start(struct client *c, char *const argv[]);

/* Close its stdin and wait for its end, which must be orderly. */
void client_stop(struct client *c);

/* Close its stdin, or kill it, without waiting. */
void client_hang_up(struct client *c);
void client_kill(struct client *c);

/* Collect the status of a server that was hung up on or killed. */
int client_wait(struct client *c);

/* Send method with params (JSON text); returns the id. */
long client_send(struct client *c, const char *method, const char *params);

/* The next answer as text, valid until the next call; *@id its id. */
const char *client_reply(struct client *c, long *id);

/* The same, NULL when none came within @ms. */
const char *client_poll(struct client *c, long *id, int ms);

/* The next message as text, valid until the next call, be it an answer or a notification. */
const char *client_message(struct client *c);

/* Send and wait for the answer, which must be a result. */
const char *client_call(struct client *c, const char *method, const char *params);

/* A member of an answer by name; it must exist. The string is copied to @out. */
double client_number(const char *reply, const char *name);
void client_string(const char *reply, const char *name, char *out, size_t size);

/* Where the JSON string member @name begins, behind its quote. */
const char *client_text(const char *reply, const char *name);

/* End with a message. */
__attribute__((noreturn, format(printf, 1, 2))) void client_die(const char *format, ...);

#endif
