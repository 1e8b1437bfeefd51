/*
 * shell_script - the result of shell/parse: simple commands with resolved words.
 *
 * All pointers are into memory of the script.
 */
#ifndef PROCPEN_SHELL_SCRIPT_H
#define PROCPEN_SHELL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shell that runs a text. Where shells differ, the commands of both readings count. */
enum shell_family {
	SHELL_FAMILY_POSIX, /* /bin/sh: dash or bash */
	SHELL_FAMILY_DASH,
	SHELL_FAMILY_BASH,
};

/* What a character of a word is. */
enum shell_kind {
	SHELL_LITERAL, /* itself: quoted, or not special */
	SHELL_GLOB,    /* an unquoted * ? [ ]: matches file names */
	SHELL_TILDE,   /* '~' for a home: an unquoted ~ (the name of ~name follows as literals),
			* or $HOME, quoted or not, unless the text sets it */
	SHELL_UNKNOWN, /* '?' for any text, even empty */
	SHELL_UNKNOWN_FIELDS, /* the same, unquoted: may become any number of words */
};

/* Text with the origin of each byte. */
struct shell_text {
	const char *s;
	const uint32_t *at; /* offset of each byte in the outermost text; NULL: at[i] == i */
	size_t len;
};

/*
 * An unknown character with a name; or a glob with one, "$(ls)": a star that stands for the names
 * of the files in the current directory.
 */
struct shell_unknown {
	uint32_t index; /* in the word's text */
	bool is_set;    /* not empty */
	bool is_given;  /* something gives it at run time, as read does */
	const char *name; /* a variable's ("PWD", "1"), "$(mktemp)", "<(" or SHELL_RANGE */
};

/* The name of what is unknown of the output of @program, a path or a name: "$(mktemp)". Cuts a long
 * one. Returns @name. */
#define SHELL_OUTPUT_NAME_SIZE 36
const char *shell_output_name(const char *program, char name[SHELL_OUTPUT_NAME_SIZE]);

/* The name of a number that is any of a long range: {2..65535}, for ((i=2; i<65535; i++)). */
#define SHELL_RANGE "{0..9}"

struct shell_word {
	struct shell_text text; /* ended by NUL */
	const uint8_t *kind;    /* enum shell_kind of each byte */
	uint32_t start, end;    /* place of its source in the outermost text */
	const struct shell_unknown *unknowns; /* those with a name, sorted by index */
	uint32_t unknown_count;
	uint32_t gone_from, gone_to; /* known characters [from, to) may be missing: they come from
				      * a command that may not run */
	bool quoted;            /* any part was quoted ("" is a word) */
	const struct shell_word *content; /* of a word <(...): the known output, or NULL */
};

/* The text of a word without unknown characters, globs and tilde; else NULL. */
const char *shell_word_constant(const struct shell_word *word);

/*
 * Do names of programs and directories lead elsewhere by the variable @name, of @len bytes, or may
 * it name files to run: PATH, CDPATH, BASH_CMDS, BASH_ALIASES, ENV, BASH_ENV, BASH_FUNC_*, LD_*,
 * PROMPT_COMMAND, NODE_OPTIONS, PERL5OPT, PYTHONSTARTUP, RUBYOPT? NODE_OPTIONS and RUBYOPT do not
 * with a @value of everyday options that load nothing. NULL: it is not known.
 */
bool shell_names_files(const char *name, size_t len, const char *value);

/* The unknown character @index of @word; NULL if it has no name. */
const struct shell_unknown *shell_word_unknown(const struct shell_word *word, size_t index);

/* How many of word->unknowns stand before character @index: takes no time for each of them. */
uint32_t shell_word_unknowns_before(const struct shell_word *word, size_t index);

/*
 * A star for the names of files here means all of them only if it is the whole path, but for a
 * "./" before it; make each other one among @unknowns (/opt/$f, $f.service) an unknown name.
 */
void shell_word_settle(char *text, uint8_t *kind, size_t len, const struct shell_unknown *unknowns,
		       size_t count);

/* The index of the first name in the words of read, behind options and their values. */
size_t shell_read_names(const struct shell_word *words, size_t count);

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
	int fd; /* the descriptor, or -1 if none is given */
	struct shell_word target;
};

struct shell_assign {
	const char *name;
	struct shell_word value;
};

/* Where a simple command stands; bits. */
enum shell_context {
	SHELL_IN_FUNCTION = 1,     /* in a function's body; `function` is its index */
	SHELL_IN_SUBSTITUTION = 2, /* $(...) or `...`: its output becomes part of a word */
	SHELL_IN_PROCESS = 4,      /* <(...) or >(...) */
	SHELL_IN_LOOP = 8,
	SHELL_BACKGROUND = 16,     /* it, or a group around it, ends in & */
	SHELL_IN_CALL = 32,        /* in a function's body, with the parameters of a call */
	SHELL_IN_EVAL = 64,        /* in the text of an eval or an alias */
	SHELL_CONDITIONAL = 128,   /* may be skipped: in a branch, after && or || */
	SHELL_IN_SUBSHELL = 256,   /* ( ), a stage of a pipeline: cd and exit end with it */
	SHELL_TEST = 512,          /* the words of [[ ]], with [[ as the first */
	SHELL_ENDLESS = 1024,      /* in a loop that has no end of its own, while true or
				    * for ((;;)), and is not in the background itself */
};

#define SHELL_NONE UINT32_MAX

/*
 * Above the flags, a context holds the depth of the command's subshell and a number that
 * differs from that of neighbouring subshells; both are 0 outside of subshells.
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
	struct shell_redirect *redirects; /* those of a compound command are one without words,
					   * before the commands in it */
	size_t redirect_count;
	unsigned context;   /* enum shell_context */
	uint32_t piped_from; /* the command that feeds its standard input (the last of the stage
			      * before; the first of a group), or SHELL_NONE */
	uint32_t parent;    /* of one in $(...), <(...) or >(...): the command whose word that is;
			     * else SHELL_NONE */
	const struct shell_word *input; /* known standard input: a here-document, a here-string, or
					 * what echo, printf and the like write into the pipe; or
					 * NULL */
	const struct shell_word *output; /* its standard output, if a redirection sends it to a file
					  * or >(...) and a part of it is known; or NULL */
	bool sourced;       /* source: the commands of its text follow */
	uint32_t version, end_version; /* private: of the variables when it runs, and where its
					* script or subshell ends */
	uint32_t start, end; /* in the outermost text */
};

struct shell_function {
	const char *name;
	uint32_t first, last; /* commands [first, last) are its body */
	uint32_t start, end;
	uint32_t gone; /* from where on it may not be there: unset, not defined; or SHELL_NONE */
	bool uncalled; /* no call of it was seen, so its body stands behind all else */
};

enum shell_trouble {
	SHELL_FINE,
	SHELL_SYNTAX,      /* invalid in every shell */
	SHELL_TOO_DEEP,
	SHELL_TOO_LONG,    /* the text or its expansions */
};

struct shell_script {
	struct shell_command *commands;
	size_t command_count;
	struct shell_function *functions;
	size_t function_count;
	enum shell_trouble trouble; /* not SHELL_FINE: commands has those before it only */
	bool sets_variables; /* by more than assignments and builtins: a loop over words,
			      * arithmetic, an array, an operator in ${...}, {name}>, coproc */
	bool sets_path; /* sets or unsets a variable of shell_names_files(), or any by {name}> */
	bool sets_home; /* sets or unsets HOME, ZDOTDIR or XDG_CONFIG_HOME */
	bool has_cdpath; /* CDPATH may have a value in it, whoever sets it */
	const char *trouble_text;   /* static: "an unclosed double quote" */
	uint32_t trouble_at;
	void *memory; /* private */
};

/* Bounds of one verdict, nested texts included: what is left. */
struct shell_budget {
	unsigned depth;   /* levels of nesting */
	size_t bytes;     /* memory of scripts, those in use included */
	uint64_t work;    /* steps of some ns: one for a character read, copied or compared,
			   * several for a word or a command */
};
#define SHELL_BUDGET_INIT \
	{ .depth = 64, .bytes = 20u << 20, .work = 8u << 20 }

/* Take @steps of b->work. False: none is left. */
static inline bool shell_budget_take(struct shell_budget *b, uint64_t steps)
{
	b->work = b->work > steps ? b->work - steps : 0;
	return b->work > 0;
}

#endif
