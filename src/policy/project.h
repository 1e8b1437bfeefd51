/*
 * project - .procpen.json at the root of the workspace: what a project asks to be narrower.
 *
 * It is read only where the operator says config.project=narrow, once, and by descriptor. Commands
 * can write it, so it can only narrow: a stricter tier, a lower limit, rules that allow nothing.
 * What would loosen, what no project may set, and mistakes are ignored and named; nothing in it
 * stops the start. Its texts are quoted and cut.
 */
#ifndef PROCPEN_POLICY_PROJECT_H
#define PROCPEN_POLICY_PROJECT_H

#include "policy/config.h"
#include "policy/tier.h"
#include "policy/scope.h"

#define PROJECT_FILE ".procpen.json"
#define PROJECT_NOTES_MAX 16

struct project {
	bool found;                         /* there is a file, and it was read or refused */
	char *narrowed[CONFIG_COUNT + 1];   /* names of options that it has set; NULL-terminated */
	char *ignored[PROJECT_NOTES_MAX + 1]; /* sentences; NULL-terminated */
	size_t narrowed_count, ignored_count; /* of ignored ones all, kept or not */
	struct ruleset rules; /* that make decisions stricter (policy/rulebook.h) */
};

/* The tier of a capability of which no option says anything. */
typedef enum tier (*project_tier_fn)(const char *capability);

/* Narrow @c by the file of the workspace of @scope. @p: all zero; project_release(). */
void project_read(struct project *p, struct config *c, const struct scope *scope,
		  project_tier_fn own_tier);
void project_release(struct project *p);

#endif
