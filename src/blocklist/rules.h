/*
 * rules - apply the rules of the table to one program and its words.
 *
 * Judges a simple command without its wrappers: what the program does to its
 * operands (effects), and the rules that name the program. Pipes, nested texts and
 * wrappers are the job of blocklist/evaluate.
 */
#ifndef PROCPEN_BLOCKLIST_RULES_H
#define PROCPEN_BLOCKLIST_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/args.h"
#include "blocklist/command/table.h"
#include "blocklist/path.h"

/* Why something is blocked. */
struct finding {
	const struct blocklist_rule *rule; /* NULL: nothing found */
	uint32_t start, end; /* the part in the outermost text */
	uint64_t classes;    /* of the operand that decided, or 0 */
	struct path_match_text match; /* why it is in them */
	const char *detail;  /* static; more about it, or NULL */
};

struct rules {
	struct args args; /* scratch */
	const struct path_dir *dir; /* the working directory of the command */
	unsigned patterns;          /* names with unknown parts that were tried */
	uint64_t work;              /* steps since the caller set it to 0 */
	uint64_t limit;             /* stop judging beyond it; 0: no limit */
	bool each; /* the command gets all files below its operands, one by one */
};

/*
 * Judge @words (words[0] is the program's name) by the effects and rules of @name.
 * @guess: the name is partly unknown and @name is one possible program, so only rules
 * marked for guesses apply. True if blocked; *@f is filled. A caller that sets a limit
 * must check @r->work: beyond the limit "not blocked" means nothing.
 */
bool rules_judge_program(struct rules *r, const struct blocklist_name *name,
			 const struct shell_word *words, size_t count, bool guess,
			 struct finding *f);

/* Judge what @effect ("write") does to @word from byte @skip on. */
bool rules_judge_effect(struct rules *r, const char *effect,
			const struct shell_word *word, size_t skip, bool guess,
			struct finding *f);

/* Find the first rule on @effect, whatever its operand. The part is [start, end). */
bool rules_find_effect(const char *effect, uint32_t start, uint32_t end, struct finding *f);

#endif
