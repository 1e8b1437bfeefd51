/*
 * shell_script - what a shell text is made of, as shell/parse tells it.
 *
 * Types only. Everything that is pointed to belongs to the script.
 */
#ifndef PROCPEN_SHELL_SCRIPT_H
#define PROCPEN_SHELL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which shell reads a text. Where two may read it differently, the commands of both are judged. */
enum shell_family {
	SHELL_FAMILY_POSIX, /* some sh */
	SHELL_FAMILY_DASH,
	SHELL_FAMILY_BASH,
};

/* What a character of a word is. */
enum shell_kind {
	SHELL_LITERAL, /* itself; quoted or without meaning */
	SHELL_GLOB,    /* an unquoted * ? [ ]: matches file names */
	SHELL_TILDE,   /* '~' that means a home: an unquoted ~ (of ~name the name follows as
			* literals), or $HOME, quoted or not, where the text does not set it */
	SHELL_UNKNOWN, /* '?' that stands for any text, the empty one included */
	SHELL_UNKNOWN_FIELDS, /* the same, unquoted: may also become several words, or none */
};

/* Text with the origin of each byte. */
struct shell_text {
	const char *s;
	const uint32_t *at; /* offset of each byte in the outermost text; NULL: at[i] == i */
	size_t len;
};

/* An unknown character with a name. */
struct shell_unknown {
	uint32_t index; /* in the word's text */
	bool is_set;    /* it stands for any text but the empty one */
	const char *name; /* a variable's ("PWD", "1"), "$(mktemp)" or "<(" */
};

struct shell_word {
	struct shell_text text; /* ended by NUL */
	const uint8_t *kind;    /* enum shell_kind of each byte */
	uint32_t start, end;    /* of the source of the whole word in the outermost text */
	const struct shell_unknown *unknowns; /* those with a name, by index */
	uint32_t unknown_count;
	uint32_t gone_from, gone_to; /* known characters [from, to) that may be missing: the output
				      * of a command that may not run */
	bool quoted;            /* any part was quoted ("" is a word) */
	const struct shell_word *content; /* of a word <(...): what is known of what it writes */
};

/* A word whose every character is known and without glob or tilde: its text; else NULL. */
const char *shell_word_constant(const struct shell_word *word);

/* What is known of the unknown character @index of @word; NULL if it has no name. */
const struct shell_unknown *shell_word_unknown(const struct shell_word *word, size_t index);

enum shell_redirect_op {
	SHELL_TO,      /* > >| &> >& FILE */
	SHELL_APPEND,  /* >> &>> */
	SHELL_FROM,    /* < */
	SHELL_BOTH,    /* <> */
	SHELL_HERE,    /* << <<- : target is the body, resolved like a word */
	SHELL_STRING,  /* <<< */
	SHELL_DUP,     /* >&1 <&0 >&- */
};

struct shell_redirect {
	enum shell_redirect_op op;
	int fd; /* the descriptor, or -1 where it has no number */
	struct shell_word target;
};

struct shell_assign {
	const char *name;
	struct shell_word value;
};

/* How a simple command's output and input are connected, and where it stands. */
enum shell_context {
	SHELL_IN_FUNCTION = 1,     /* in a function's body; `function` is its index */
	SHELL_IN_SUBSTITUTION = 2, /* $(...) or `...`: its output becomes part of a word */
	SHELL_IN_PROCESS = 4,      /* <(...) or >(...) */
	SHELL_IN_LOOP = 8,
	SHELL_BACKGROUND = 16,     /* it, or a group around it, ends in & */
	SHELL_IN_CALL = 32,        /* of a function's body, as called: with the call's parameters */
	SHELL_IN_EVAL = 64,        /* in the text of an eval or an alias */
	SHELL_CONDITIONAL = 128,   /* may be skipped: a branch, behind && or || */
	SHELL_IN_SUBSHELL = 256,   /* ( ), a stage of a pipeline: cd and exit end with it */
	SHELL_TEST = 512,          /* the words of [[ ]], with [[ as the first */
};

#define SHELL_NONE UINT32_MAX

/*
 * Above the flags a context holds how deep the subshell is that a command stands in, and a
 * number that tells it from its neighbours; both are 0 outside.
 */
#define SHELL_CONTEXT_MASK 0xffffu
#define SHELL_DEPTH_SHIFT 16
#define SHELL_SUBSHELL_SHIFT 24
#define SHELL_SUBSHELL_DEPTH_MAX 255u

static inline unsigned shell_subshell_depth(unsigned context)
{
	return (context >> SHELL_DEPTH_SHIFT) & SHELL_SUBSHELL_DEPTH_MAX;
}

struct shell_command {
	struct shell_word *words; /* after brace expansion; [0] is the command's name */
	size_t word_count;
	struct shell_assign *assigns; /* before the name */
	size_t assign_count;
	struct shell_redirect *redirects; /* own, and those of the compounds around it */
	size_t redirect_count;
	unsigned context;   /* enum shell_context */
	uint32_t function;  /* the innermost function it stands in, or SHELL_NONE */
	uint32_t piped_from; /* a command whose output is its standard input (the last simple one of
			      * the stage before; for a group: the first in it), or SHELL_NONE */
	uint32_t parent;    /* of one in a substitution or process: the command whose word it is
			     * in, else SHELL_NONE */
	const struct shell_word *input; /* what is known of its standard input: a here-document, a
					 * here-string, or what echo, printf and the like write into
					 * the pipe; NULL if nothing is known */
	uint32_t version; /* private: which values its variables have */
	uint32_t start, end; /* in the outermost text */
};

struct shell_function {
	const char *name;
	uint32_t first, last; /* commands [first, last) are its body */
	uint32_t start, end;
};

enum shell_trouble {
	SHELL_FINE,
	SHELL_SYNTAX,      /* no shell would take it */
	SHELL_TOO_DEEP,
	SHELL_TOO_LONG,    /* text, commands, or what expansion produces */
};

struct shell_script {
	struct shell_command *commands;
	size_t command_count;
	struct shell_function *functions;
	size_t function_count;
	enum shell_trouble trouble; /* not SHELL_FINE: commands holds what was found before it */
	const char *trouble_text;   /* static: "an unclosed double quote" */
	uint32_t trouble_at;
	void *memory; /* private */
};

/* What may be spent; shared by the whole of one verdict, nested texts included. */
struct shell_budget {
	unsigned depth;   /* levels of nesting still allowed */
	size_t commands;  /* simple commands still allowed */
	size_t bytes;     /* memory that scripts may still take, those in use counted */
	uint64_t work;    /* steps still allowed: a character that is read, copied or compared
			   * is one, a word or a command is several; 3 ns each or less */
};
#define SHELL_BUDGET_INIT \
	{ .depth = 64, .commands = 100000, .bytes = 20u << 20, .work = 8u << 20 }

/* Takes @steps from what is left; false: there is no more. */
static inline bool shell_budget_take(struct shell_budget *b, uint64_t steps)
{
	b->work = b->work > steps ? b->work - steps : 0;
	return b->work > 0;
}

#endif
