/*
 * log_file - the file that both streams of a run are also written to.
 *
 * A writer in a sandbox like the run's (os/shim/log_writer.h) opens and writes the file, never the
 * server. It has a shim of its own, so neither the run's limits nor a kill of the run concern it.
 * It opens the file before the run starts, and truncates it only once the command has begun: one
 * that cannot be executed, a server that dies before that, and whoever writes to the file meanwhile
 * leave it as it is. It ends when it has written what the run's streams held as the run settled. It
 * is killed when it takes nothing for a second then, or is not done in five (in one when the server
 * ends).
 *
 * The bytes come from the store, in the order of arrival, and go into the writer's pipe as it takes
 * them: a slow disk delays neither the run nor the loop. What the store evicts first is missing in
 * the file; a line says so there, and `missing` counts it.
 */
#ifndef PROCPEN_PROC_LOG_FILE_H
#define PROCPEN_PROC_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/loop.h"
#include "os/sandbox/confine.h"
#include "proc/arrivals.h"
#include "proc/output.h"
#include "proc/tree.h"

/* Everything is borrowed for the call. */
struct log_file_spec {
	uint64_t seq;         /* names its control group */
	const char *name;     /* of the file, for the result and in errors */
	int dir_fd;           /* O_PATH: a directory, and its canonical path */
	const char *dir;
	const char *path;     /* of the file, beneath it */
	bool truncate;        /* as soon as the command has begun */
	uint64_t max_bytes;   /* the size at which the file stops growing */
	const struct confine_request *confine; /* the run's */
	/* Called once, from the loop: the file is open, or log_file_failed(). May free it. */
	void (*on_open)(void *ctx);
	void *ctx;
};

enum log_file_phase {
	LOG_FILE_OPENING,
	LOG_FILE_OPEN,
	LOG_FILE_FINISHING, /* the run is over, its last bytes are being written */
	LOG_FILE_OVER,
};

/* The streams of a run, borrowed while the file is open: stdout and stderr. */
struct log_file_streams {
	const struct output *output[2];
	const struct arrivals *arrivals;
};

struct log_file {
	struct ev_loop *loop;
	char *name;
	enum log_file_phase phase;
	struct tree tree;
	struct confine_run run;
	ev_io pipe;         /* to the writer; fd -1: closed */
	ev_timer timer;     /* of the present phase */
	struct err *failure; /* why it was not opened, or NULL */
	void (*on_open)(void *ctx);
	void (*on_over)(void *ctx);
	void *ctx;
	struct log_file_streams streams;
	uint64_t at[2];     /* where the writer goes on ... */
	uint64_t until[2];  /* ... and ends */
	int64_t finish_ms;    /* how long LOG_FILE_FINISHING may take ... */
	int64_t finish_by_ms; /* ... and its end */
	bool announced;     /* on_open was called */
	bool truncates;     /* the writer is still to drop what the file held */
	bool loud;          /* the pipe was full */
	bool stopped;       /* the pipe is closed */
	/* Once it is over: */
	bool known;         /* `bytes` is: the writer has reported */
	uint64_t bytes;     /* written by this run */
	uint64_t missing;   /* evicted before they could be written */
	bool kept;          /* it was not truncated: somebody wrote to it as the command began */
	int error;          /* errno that stopped it, or SHIM_LOG_FULL; 0: none */
};

/* Start the writer. Returns NULL with SpawnFailed or SandboxUnavailable. */
struct log_file *log_file_new(struct ev_loop *loop, struct reaper *reaper, struct confine *confine,
			      const struct log_file_spec *spec, struct err *e);

/* May be NULL. A writer that still lives is killed. */
void log_file_free(struct log_file *f);

/* Move the reason why the file was not opened to @e, and return true; false: it is open. */
bool log_file_failed(struct log_file *f, struct err *e);

/* Write @streams from now on. @on_over is called when the writer is over, once and from the loop,
 * unless log_file_finish() has said so. */
void log_file_start(struct log_file *f, const struct log_file_streams *streams,
		    void (*on_over)(void *ctx), void *ctx);

/* The command has begun, or more bytes are in the store. */
void log_file_feed(struct log_file *f);

/* The run is over: write the rest, then end the writer. @ran: its command has exited; else a file
 * that is not truncated yet stays as it is. True: it is over. */
bool log_file_finish(struct log_file *f, bool ran);

/* The server ends, and cannot wait for a slow disk. */
void log_file_hurry(struct log_file *f);

/* It does not even have that time. True: the run waited for its file alone, and on_over was
 * called. */
bool log_file_give_up(struct log_file *f);

#endif
