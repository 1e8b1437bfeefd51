/*
 * shell_ast - the syntax tree: grammar and word build it, eval walks it.
 *
 * Private to src/shell. All of it lives in the script's arena. Each text has the offsets of its
 * bytes in the outermost text, so no node needs its source.
 */
#ifndef PROCPEN_SHELL_AST_H
#define PROCPEN_SHELL_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "shell/arena.h"

/* Bytes and their offsets: at[i], or pos + i if at is NULL. */
struct ast_text {
	const char *s;
	const uint32_t *at;
	uint32_t pos;
	uint32_t len;
};

enum ast_part_type {
	PART_TEXT,
	PART_PARAM,   /* $x ${x...} */
	PART_COMMAND, /* $(...) `...` */
	PART_ARITH,   /* $((...)) $[...] */
	PART_INPUT,   /* <(...) */
	PART_OUTPUT,  /* >(...) */
};

struct ast_part {
	struct ast_part *next;
	struct ast_text text; /* PART_TEXT: the text; else the whole source of the part */
	union {
		struct ast_param *param;
		struct ast_node *list;
		struct ast_word *word;
	};
	uint8_t type;
	bool quoted;
};

struct ast_word {
	struct ast_word *next;
	struct ast_part *parts;
	uint32_t start, end; /* in the outermost text */
	bool simple;         /* one unquoted text without any special character */
	char before;         /* in [[ ]]: the operator before it, '&' for &&; or NUL */
};

enum ast_param_op {
	PARAM_PLAIN,
	PARAM_LENGTH,     /* ${#x} */
	PARAM_DEFAULT,    /* ${x-w} */
	PARAM_ASSIGN,     /* ${x=w} */
	PARAM_ERROR,      /* ${x?w} */
	PARAM_ALTERNATE,  /* ${x+w} */
	PARAM_PREFIX,     /* ${x#p}, long: ## */
	PARAM_SUFFIX,     /* ${x%p}, long: %% */
	PARAM_REPLACE,    /* ${x/p/w}, long: // */
	PARAM_REPLACE_START, /* ${x/#p/w} */
	PARAM_REPLACE_END,   /* ${x/%p/w} */
	PARAM_SUBSTRING,  /* ${x:o:l} */
	PARAM_UPPER,      /* ${x^}, long: ^^ */
	PARAM_LOWER,      /* ${x,}, long: ,, */
	PARAM_NAMES,      /* ${!x*} ${!x@} ${!x[@]} */
	PARAM_OTHER,      /* any other: its value is unknown */
};

struct ast_param {
	const char *name;
	struct ast_word *index; /* x[index], or NULL */
	struct ast_word *arg, *arg2;
	uint8_t op;
	bool colon;    /* :- := :? :+ */
	bool longest;  /* doubled operator */
	bool indirect; /* ${!x} */
};

enum ast_type {
	AST_SIMPLE,
	AST_PIPE,
	AST_LIST,
	AST_GROUP,
	AST_SUBSHELL,
	AST_IF,     /* condition, body; other: AST_IF of elif, or the else part */
	AST_WHILE,
	AST_FOR,
	AST_CASE,
	AST_FUNCTION,
	AST_ARITH,  /* ((...)) */
	AST_TEST,   /* [[ ... ]] */
};

enum ast_join {
	JOIN_ALWAYS, /* after ; & or newline, or first */
	JOIN_AND,
	JOIN_OR,
};

struct ast_assign {
	struct ast_assign *next;
	const char *name;
	struct ast_word *index; /* name[index]=, or NULL */
	struct ast_word *value; /* NULL: empty */
	struct ast_word *items; /* of name=(...) */
	bool is_array;
	bool append;
	bool late; /* an argument of declare or the like */
};

struct ast_redirect {
	struct ast_redirect *next;
	struct ast_word *target; /* SHELL_HERE: its body, set once read */
	const char *delimiter;   /* SHELL_HERE */
	uint8_t op;              /* enum shell_redirect_op */
	bool strip, raw;         /* <<-; a quoted delimiter */
	bool ampersand;          /* >& <&: a number or a file */
	bool named;              /* {name}>: the variable gets the number */
	int fd;
};

struct ast_case {
	struct ast_case *next;
	struct ast_word *patterns;
	struct ast_node *body;
	bool goes_on;  /* ;& or ;;&: the next one may run after it */
	bool compares; /* ;;&: only if it matches */
};

struct ast_node {
	struct ast_node *next; /* in its list or pipeline */
	struct ast_redirect *redirects;
	uint32_t start, end;
	uint8_t type;
	uint8_t join; /* enum ast_join */
	bool background;
	bool negated; /* PIPE: !; WHILE: until */
	bool plain_for; /* for without in: over "$@" */
	struct ast_word *words;      /* SIMPLE, TEST, FOR's values, CASE's word, ARITH's text */
	struct ast_assign *assigns;  /* SIMPLE */
	const char *name;            /* FOR's variable, FUNCTION's name, SUBSHELL's if a coproc */
	struct ast_node *body;       /* the members of a list, the content of a compound */
	struct ast_node *condition;  /* WHILE, IF */
	struct ast_node *other;      /* IF */
	struct ast_case *cases;
};

/* Is @w the unquoted @text? It may be NULL. */
bool ast_is_word(const struct ast_word *w, const char *text);

/* The same, in quotes or not. */
bool ast_is_text(const struct ast_word *w, const char *text);

/* The command that @n is, if it is a list or a pipeline of that only; else @n. */
const struct ast_node *ast_single(const struct ast_node *n);

/* The name of the command @n, in @arena. NULL: it has special characters, or parts that are not
 * text. */
const char *ast_command_name(const struct ast_node *n, struct shell_arena *arena);

/* What a command asks of a variable. */
enum ast_ask {
	ASK_NOTHING,
	ASK_SOMETHING, /* its name stands in the words */
	ASK_EMPTY,     /* [ -z "$x" ]: whether it is empty */
	ASK_SET,       /* [ -n "$x" ], [ "$x" ] */
};

/*
 * What @n, or what it tests, asks of $@name. *@looked grows by the parts of words that were looked
 * at.
 */
enum ast_ask ast_asks(const struct ast_node *n, const char *name, uint64_t *looked);

/* What is known of tests, and what is to be called for each variable that is not @text then, as
 * the empty one. */
struct ast_tests {
	bool holds; /* all of them hold; else none does */
	bool bash;  /* [ ] knows ==; to dash that is an error, which is no test that fails */
	void (*found)(void *ctx, const char *name, const struct ast_text *text);
	void *ctx;
};

/* Look at the tests from @n to before @end, members of a list. */
void ast_sets(const struct ast_node *n, const struct ast_node *end, const struct ast_tests *t);

#endif
