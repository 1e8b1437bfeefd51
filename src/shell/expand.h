/*
 * shell_expand - a tree to resolved commands; private to the shell modules.
 *
 * Walks the tree as a shell would run it, but knows only constants: a branch may
 * be taken or not (both values stay possible), a loop over constants runs once for
 * each, a call of the text's own function runs its body. Everything that is
 * appended anywhere costs fuel, so time is bounded whatever the text makes of itself.
 */
#ifndef PROCPEN_SHELL_EXPAND_H
#define PROCPEN_SHELL_EXPAND_H

#include "shell/arena.h"
#include "shell/ast.h"

/* What a command string is for: $SHELL, and $0 where no other is given. */
#define DEFAULT_SHELL "/bin/sh"

/* ---- characters in the making ---- */

enum cell_kind {
	CELL_QUOTED,  /* literal */
	CELL_PLAIN,   /* literal, unquoted in the source: braces, tilde and globs act */
	CELL_FIELD,   /* literal from an unquoted expansion: is split, globs act */
	CELL_UNKNOWN,
	CELL_UNKNOWN_FIELDS,
	CELL_TILDE,
	CELL_BREAK,   /* between two words of "$@" */
	CELL_EMPTY,   /* no character, but its word exists: "" */
	CELL_DOLLAR,  /* of $x before a brace: bash reads the name behind brace expansion */
	CELL_GLOB,    /* of a value that is a list of file names: acts in quotes too */
};

/* The character of an unknown cell: any text, or any but the empty one. */
#define UNKNOWN_ANY '?'
#define UNKNOWN_SET '!'

/* The name of a known cell that may be missing: cd x && pwd. */
#define NAME_MISSING "&&"

struct cell {
	uint32_t at;
	uint16_t name; /* of an unknown one, or NAME_MISSING; 0: none */
	uint8_t kind;
	char c;
};

static inline bool cell_is_known(const struct cell *c)
{
	return c->kind <= CELL_FIELD;
}

static inline bool cell_is_unknown(const struct cell *c)
{
	return c->kind == CELL_UNKNOWN || c->kind == CELL_UNKNOWN_FIELDS;
}

struct cells {
	struct cell *v;
	size_t len, cap;
};

/* A variable's value: cells QUOTED, UNKNOWN, TILDE, GLOB. */
struct value {
	struct value *other; /* another that is as possible */
	struct cell *v;
	uint32_t len;
};

struct binding {
	struct value *values; /* NULL and !is_set: empty */
	struct value **items; /* of an array */
	uint32_t item_count;
	bool is_set, exported, is_array;
};

struct moment {
	uint32_t stamp;
	struct binding *binding;
};

struct variable {
	const char *name;
	struct moment *history; /* oldest first */
	uint32_t count, cap;
	uint32_t epoch, digit; /* which value the present choice takes */
	uint32_t merge;        /* mark of the join that looked at it last */
};

struct change {
	struct variable *variable;
	struct binding *before;
};

struct variables {
	struct variable **slots; /* open addressing */
	size_t slot_count, count;
	struct change *log; /* of every assignment, newest last */
	size_t log_len, log_cap;
	uint32_t stamp;
};

struct params {
	struct value **v; /* $0, $1, ... */
	size_t count;
	bool known;
};

/* Functions and aliases are found by their names in this many lists. */
#define NAMED_LISTS 64u

struct function {
	struct function *older;
	struct function *same; /* the next older one in its list */
	const char *name;
	const struct ast_node *node;
	uint32_t index; /* among the script's, SHELL_NONE: not walked yet */
	bool active;
};

struct alias {
	struct alias *same; /* the next older one in its list */
	const char *name;
	struct value *value;
	bool active;
};

enum status { STATUS_UNKNOWN, STATUS_OK, STATUS_FAILED };

/* The memory of a script: what its words point to, and what nested scripts look up. */
struct shell_memory {
	struct shell_arena arena;
	struct shell_arena tree; /* of the commands that are walked, and of functions */
	struct variables variables;
	struct function *functions; /* the newest */
	struct function **function_lists; /* by name; NULL: there are none */
	struct alias **alias_lists;
	size_t function_count, alias_count;
	const char **names; /* of unknown characters, by cell.name */
	size_t name_count, name_cap;
	uint16_t *name_slots;
	unsigned name_slot_count;
	const struct shell_memory *outer;
	const struct shell_script *outer_script;
	uint32_t outer_stamp;
	bool outer_exported_only;
	bool bash; /* it is bash that reads the script */
};

/* Levels of the walk for each level of the text: functions call functions. */
#define EXPAND_LEVELS 4u

struct expander {
	struct shell_memory *memory;
	struct shell_arena *arena;
	struct shell_script *script;
	struct shell_budget *budget;
	size_t command_cap, function_cap;
	uint64_t fuel;
	const uint32_t *identity; /* offsets of the outermost text, for words that are copies */
	const uint8_t *zeros;     /* as many */
	size_t identity_len;
	struct params params;
	struct cells *capture;    /* where output goes that is wanted; NULL: nowhere */
	struct value *input;      /* what is known of standard input, or NULL */
	struct shell_word *input_word; /* the same, made when first needed */
	/* Where the walk is. */
	unsigned context;
	unsigned subshells; /* how many were entered */
	uint32_t function, piped_from, parent;
	unsigned depth; /* levels still allowed */
	unsigned loops; /* loops around */
	struct local *prefix;  /* what is taken back at the end of the present command */
	struct local *locals;  /* ... of the present call of a function */
	bool in_call;
	bool keep_tree; /* a function was defined: its tree is needed later */
	struct shell_word *process; /* what is known of what the last <(...) writes */
	/* One choice among possible values. */
	bool choosing;
	uint32_t epoch;
	uint64_t choice_left, choice_count;
	const char *namerefs[4]; /* declare -n: names that hold the name that is meant */
	unsigned nameref_count;
	bool marked; /* text has unknown characters in it, see shell_expand_mark.c */
	bool errexit; /* set -e, and no failure here is looked at */
	bool posix;
};

struct local {
	struct local *older;
	struct variable *variable;
	struct binding *before;
};

/* ---- shell_expand.c: words ---- */

enum expand_mode {
	EXPAND_FIELDS, /* braces, splitting, globs: the words of a command */
	EXPAND_ONE,    /* one word: an assignment's value, a redirection's target */
	EXPAND_PATTERN,/* one word in which globs act */
};

struct words {
	struct shell_word *v;
	size_t len, cap;
};

void expand_trouble(struct expander *e, enum shell_trouble trouble, const char *what, uint32_t at);
bool expand_failed(struct expander *e);
bool expand_enter(struct expander *e, uint32_t at);
void expand_leave(struct expander *e);

/* Steps besides those of the characters. */
#define WORK_COMMAND 24u
#define WORK_WORD 6u
#define WORK_VARIABLE 18u
#define WORK_ASSIGN 30u
#define WORK_PARAM 12u
#define WORK_STAGE 20u /* of a pipeline */
#define WORK_COMPOUND 3u
#define WORK_BACKGROUND 14u
#define WORK_CALL 10u
#define WORK_TEXT 100u
#define WORK_TREE 7u /* bytes of the tree for which reading takes one step */
#define WORK_SUBSTITUTION 48u
/* Words that one word list may have. */
#define WORDS_MAX 100000u

static inline void expand_charge(struct expander *e, uint64_t steps)
{
	e->fuel = e->fuel > steps ? e->fuel - steps : 0;
}

/* shell_expand_cells.c. Room for @more cells; false: the expansion is too long. */
bool cells_room(struct expander *e, struct cells *c, size_t more);
void cells_release(struct cells *c);
void cells_add(struct expander *e, struct cells *c, char ch, enum cell_kind kind, uint32_t at,
	       uint16_t name);
void cells_copy(struct expander *e, struct cells *c, const struct cell *from, size_t len);
void cells_text(struct expander *e, struct cells *c, const char *text, enum cell_kind kind,
		uint32_t at);
bool cells_known(const struct cell *v, size_t len);
/* The literal text of @v, heap of the arena; NULL if a character of it is not known. */
char *cells_string(struct expander *e, const struct cell *v, size_t len);
struct value *value_make(struct expander *e, const struct cell *v, size_t len);
struct value *value_text(struct expander *e, const char *text, uint32_t at);
uint16_t expand_name(struct expander *e, const char *name);
const char *expand_name_text(const struct expander *e, uint16_t name);
/* The cell of what is not known; @name (a variable's, "$(mktemp)", or NULL) tells if it is set. */
struct cell cell_unknown(struct expander *e, const char *name, enum cell_kind kind, uint32_t at);
struct value *value_unknown(struct expander *e, const char *name, uint32_t at);

/* Cells of the word before splitting. */
void expand_parts(struct expander *e, const struct ast_part *parts, struct cells *out,
		  enum expand_mode mode);
void expand_word(struct expander *e, const struct ast_word *w, struct words *out);
struct value *expand_value(struct expander *e, const struct ast_word *w);
void expand_one(struct expander *e, const struct ast_word *w, struct shell_word *out);
/* shell_expand_words.c. */
void words_release(struct words *w);
/* The fields of @c, words of @w's place. */
void words_split(struct expander *e, const struct ast_word *w, const struct cells *c,
		 struct words *out);
/* A word of a finished text. */
void word_make(struct expander *e, const struct cell *v, size_t len, struct shell_word *out);
void word_add(struct expander *e, struct words *out, const struct shell_word *word);
struct value *word_value(struct expander *e, const struct shell_word *word);

/* ---- shell_expand_mark.c: unknown characters in a text that is read again ---- */

struct shell_text expand_marked_text(struct shell_arena *arena, const struct shell_word *w);
/* Has it characters that are not known? */
bool expand_is_partial(const struct shell_word *w);
const struct shell_unknown *expand_unknown_at(const struct shell_word *w, size_t index);
uint32_t expand_mark(struct expander *e, const struct ast_text *t, uint32_t i, bool quoted,
		     struct cells *out);

/* ---- shell_expand_brace.c ---- */

struct cell_words {
	struct cells *v;
	size_t len, cap;
};
bool expand_has_brace(const struct cells *c);
void expand_braces(struct expander *e, const struct cells *c, struct cell_words *out);
void cell_words_release(struct cell_words *w);

/* ---- shell_expand_param.c, _operator.c, _pattern.c, _arith.c ---- */

void expand_param(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
		  struct cells *out);
void expand_unknown(struct expander *e, struct cells *out, const char *name, bool quoted,
		    uint32_t at);
void expand_append(struct expander *e, struct cells *out, const struct value *v, bool quoted);
const char *expand_key(struct expander *e, const char *name, const struct ast_word *index);
/* What a name of declare -n stands for; any other name is itself. */
const char *expand_nameref(struct expander *e, const char *name);
/* What ${x...} is: @v, what is known of x, by its operator; NULL: not known. */
struct value *expand_operator(struct expander *e, const struct ast_param *p, const char *name,
			      const struct value *v, uint32_t at);
/* ${x-w} and its kind; @unset: the text itself has unset x. */
void expand_default(struct expander *e, const struct ast_param *p, const struct value *v,
		    bool unset, bool quoted, uint32_t at, struct cells *out);
/* The substitutions in words of an operator whose result is not used. */
void expand_unused(struct expander *e, const struct ast_param *p);
/* What the word is as arithmetic; false: not known, or there is no word. */
bool expand_number(struct expander *e, const struct ast_word *w, int64_t *n);
/* ${x#p} and its kind on known cells. */
struct value *expand_trim(struct expander *e, const struct value *v, const struct ast_param *p,
			  const struct cells *pattern);
struct value *expand_replace(struct expander *e, const struct value *v, const struct ast_param *p,
			     const struct cells *pattern, const struct cells *by);
/* Does the whole of @v match the pattern? */
bool expand_matches(struct expander *e, const struct cell *v, size_t len, const struct cell *p,
		    size_t plen);
/* False: the result is not known. */
bool expand_arith(struct expander *e, const struct cells *text, int64_t *result);

/* ---- shell_expand_vars.c ---- */

struct binding *vars_get(struct expander *e, const char *name);
struct variable *vars_find(struct variables *t, const char *name);
/* The value that the present choice takes; NULL: not assigned by the text. */
struct value *vars_value(struct expander *e, const char *name, bool *is_unset);
void vars_set(struct expander *e, const char *name, struct value *value);
void vars_set_binding(struct expander *e, const char *name, struct binding *b);
void vars_export(struct expander *e, const char *name);
void vars_unset(struct expander *e, const char *name);
/* Note what @name holds, to be taken back when the list is shortened to @until. */
void vars_local(struct expander *e, struct local **list, const char *name);
void vars_end_locals(struct expander *e, struct local **list, struct local *until);
size_t vars_mark(struct expander *e);
void vars_undo(struct expander *e, size_t mark);

/* Branches of which one is taken: their values meet at the end. */
struct join {
	size_t mark;
	struct join_entry *entries;
	size_t branches;
};
void join_start(struct expander *e, struct join *j);
void join_branch(struct expander *e, struct join *j);
void join_end(struct expander *e, struct join *j, bool may_skip);

/* ---- shell_expand_walk.c: lists, pipelines, compounds ---- */

enum status expand_walk(struct expander *e, const struct ast_node *n);
/* What the commands write becomes @out, without the newlines at its end. */
void expand_substitution(struct expander *e, const struct ast_node *list, struct cells *out);
void expand_process(struct expander *e, const struct ast_part *p, struct cells *out);

/* ---- shell_expand_simple.c: simple commands ---- */

enum status expand_simple(struct expander *e, const struct ast_node *n);
/* A slot in the script; SHELL_NONE when there may be no more. */
uint32_t expand_new_command(struct expander *e, uint32_t start, uint32_t end);
/* The redirections of a command or compound: they set what it reads and whether it is heard. */
void expand_redirects(struct expander *e, const struct ast_redirect *list, uint32_t command);
void expand_assign(struct expander *e, const struct ast_assign *a, struct shell_assign *out);
/* If @n is x=$(cd y && pwd): it has not failed, so nothing of x is missing. */
void expand_succeeded(struct expander *e, const struct ast_node *n);
const struct shell_word *expand_input_word(struct expander *e);

/* ---- shell_expand_call.c: functions, aliases, eval ---- */

/* Functions or aliases of one text: each call looks through them. */
#define FUNCTIONS_MAX 1000

/* The text defines nothing yet. */
void expand_forget(struct expander *e);
void expand_define(struct expander *e, const struct ast_node *n);
struct function *expand_find_function(struct expander *e, const char *name);
/* @words begin with the function's name. */
enum status expand_call(struct expander *e, struct function *f, const struct shell_word *words,
			size_t count);
/* $1, ... from @words[1] on. */
struct params expand_params(struct expander *e, const struct shell_word *words, size_t count);
/* Functions that nothing has called run with unknown parameters. */
void expand_uncalled(struct expander *e);
/* The commands of a text that the script made itself. */
enum status expand_text(struct expander *e, const struct shell_word *word);
enum status expand_eval(struct expander *e, const struct shell_word *words, size_t count);
struct alias *expand_find_alias(struct expander *e, const char *name);
void expand_set_alias(struct expander *e, const char *name, struct value *value);
enum status expand_alias(struct expander *e, struct alias *a, const struct shell_word *words,
			 size_t count);

/* ---- shell_expand_builtin.c, shell_expand_output.c: what single commands do ---- */

/* Runs the builtin, if it is one that changes what is known. */
bool expand_builtin(struct expander *e, const struct shell_word *words, size_t count,
		    enum status *status);
/* Its words NAME=VALUE are not split. */
bool expand_is_declaration(const char *name);
/* What the command writes, as far as it is known, goes into e->capture. */
enum status expand_output(struct expander *e, const struct shell_word *words, size_t count);
/* What echo writes (shell_expand_echo.c, as the next one). */
enum status expand_echo(struct expander *e, const struct shell_word *words, size_t count);
/* printf's text: @words begin with the format. False: not known. */
bool expand_printf(struct expander *e, const struct shell_word *words, size_t count,
		   struct cells *out);
/* A filter's output for @in, where it is one whose work we know (shell_expand_filter.c). */
bool expand_filter(struct expander *e, const struct shell_word *words, size_t count,
		   const struct value *in, struct cells *out);
/* The names of files that find, ls and the like write (shell_expand_names.c). */
bool expand_names(struct expander *e, const struct shell_word *words, size_t count);
const char *expand_constant(const struct shell_word *w);

#endif
