/*
 * blocklist - one verdict on a command: always blocked, or not.
 *
 * A guardrail against mistakes, not a boundary (docs/security.md). This is the
 * literal layer: twelve patterns searched anywhere in the text, also where it is
 * only data; with arguments, in command and args joined by single spaces; and in
 * a stdin that is fed to a shell. is_blocked and process.run call this one
 * function with the same input.
 */
#ifndef PROCPEN_GUARD_BLOCKLIST_H
#define PROCPEN_GUARD_BLOCKLIST_H

#include <stdbool.h>
#include <stddef.h>

struct blocklist_input {
	const char *command;
	const char *const *args; /* NULL-terminated, or NULL when there are none */
	const void *stdin_bytes; /* raw, or NULL */
	size_t stdin_len;
};

struct blocklist_verdict {
	bool blocked;
	const char *rule;       /* "literal.rm_root"; static; NULL if not blocked */
	char reason[512];       /* what matched, where, why */
	const char *suggestion; /* a safe alternative; static; NULL if not blocked */
	bool has_span;          /* the match lies in the command text (not in stdin) */
	size_t start, end;      /* bytes [start, end) in the text that was searched */
};

/* Judge @in. Never fails, never starts anything. Linear in the text. */
void blocklist_judge(const struct blocklist_input *in, struct blocklist_verdict *v);

#endif
