/*
 * blocklist - one verdict on a command: always blocked, or not.
 *
 * A guardrail against mistakes, not a boundary (docs/blocklist.md). The structural
 * layer (blocklist/evaluate) parses the shell, opens wrappers and nested texts, and judges
 * what would be run by the rules of schema/blocklist.json. The literal layer
 * (blocklist/literal), if the operator asks for it, first searches the whole text, data
 * included, for thirteen patterns. Blocks text that is too large, too deep or invalid.
 * is_blocked, process.run and `procpen check` call this one function.
 */
#ifndef PROCPEN_BLOCKLIST_BLOCKLIST_H
#define PROCPEN_BLOCKLIST_BLOCKLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/script.h"

/* A longer text (command, or stdin for a shell) is blocked unread. */
#define BLOCKLIST_TEXT_MAX (1u << 20)

struct path_dir;

/* A simple command that a text would run, with resolved words. Valid during a call of on_run. */
struct blocklist_run {
	const struct shell_word *words; /* words[0] is the program as written */
	size_t count;                   /* 0: only assignments and redirections */
	struct shell_text program;      /* its name without the folder */
	const uint8_t *program_kind;    /* enum shell_kind of each byte; NULL: all literal */
	const struct path_dir *directory; /* where it runs (blocklist/path.h) */
	bool has_moved;   /* by a cd or the like, even if it came back */
	const struct shell_assign *assigns, *more_assigns; /* variables set for it, in two parts */
	size_t assign_count, more_assign_count;
	uint32_t at;      /* the last place of the text where a command began */
	uint64_t steps;   /* left of the budget; who takes as many need not go on */
	bool is_direct;   /* a shell runs it as it stands, so it may be a builtin */
	bool is_function; /* a function of the text may hide the program */
	bool is_idle;     /* it stands in a definition; each call is reported too */
	bool sets_variables; /* its text does, by more than assignments (shell/script.h) */
	bool sets_path;   /* its text does, by whatever means (shell/script.h) */
	bool sets_home;
	bool is_altered;  /* the text around it may change what it does (blocklist/altered.h) */
	bool is_test;     /* the words of [[ ]] */
	bool is_loop;     /* it stands in a loop */
	bool is_inner;    /* it stands in $(...), <(...) or >(...) */
	bool is_apart;    /* it stands in ( ), a pipeline or the background */
	bool is_fed;      /* a pipe or a redirection is its standard input, or may be */
	const struct shell_word *input; /* text that is known to stand there, or NULL */
	const struct shell_word *input_file; /* the file that a redirection puts there, or NULL */
	bool writes;      /* a redirection writes a file other than /dev/null */
	const struct shell_redirect *redirects; /* all that stand with it */
	size_t redirect_count;
};

/* Places from here on are in the standard input of the command. */
#define BLOCKLIST_INPUT_BASE 0x80000000u

struct blocklist_input {
	const char *command;
	const char *const *args; /* NULL-terminated, or NULL when there are none */
	const void *stdin_bytes; /* raw, or NULL */
	size_t stdin_len;
	bool stdin_is_part;      /* earlier parts stand in front: tell no line and byte of it */
	const char *const
		*environment;	 /* "NAME=VALUE", NULL-terminated, or NULL: known variables */
	const char *directory;   /* absolute working directory; NULL: not known */
	bool no_shell;           /* only split into words; text that cannot be split does not run */
	bool shell;              /* with args: they are $1 ... of a shell that runs the command */
	const char *shell_path;  /* of the shell that runs a string; NULL: /bin/sh */
	enum shell_family shell_family; /* how it reads the string */
	bool literal_anywhere;   /* also search the literal patterns in the whole text */
	const char *literal_by;  /* the place in a project's file that wants this; or NULL */

	/* Called for each command in a stdin that is shell text (@at: where it begins) that may
	 * change the verdict on later ones. May be NULL. */
	void (*on_change)(void *ctx, size_t at);
	void *on_change_ctx;

	/* Called for each simple command that the text would run, behind every wrapper and in
	 * nested texts, up to the first that is blocked. Returns the steps that it took, which
	 * count for the verdict. May be NULL. */
	uint64_t (*on_run)(void *ctx, const struct blocklist_run *run);
	void *on_run_ctx;
};

/* What the command takes its standard input for. */
enum blocklist_reader {
	BLOCKLIST_READS_DATA,  /* nothing that the blocklist knows as program text */
	BLOCKLIST_READS_CODE,  /* text of another language */
	BLOCKLIST_READS_SHELL, /* shell text */
};

struct blocklist_verdict {
	bool blocked;
	bool unparsable;        /* the text is invalid in every shell */
	const char *rule;       /* "literal.rm_root"; static; NULL if not blocked */
	char reason[640];       /* what matched, where, why; empty if not blocked */
	char suggestion[256];   /* a safe alternative, or to ask the user; empty if not blocked */
	uint64_t work;          /* steps that the verdict took (docs/blocklist.md) */
	bool reads_stdin;       /* it may be another for another stdin */
	enum blocklist_reader reader; /* known if the stdin is not empty, and not blocked */
	bool has_span;          /* the match lies in the command text (not in stdin) */
	size_t start, end;      /* bytes [start, end) of command, or of command and args joined by
				 * single spaces */
};

/* Judge @in. Never fails, never starts anything. Linear in the text. */
void blocklist_judge(const struct blocklist_input *in, struct blocklist_verdict *v);

#endif
