/*
 * shell_expand - a tree to resolved commands; private to this folder.
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

/* ---- characters in the making ---- */

enum char_kind {
	CHAR_QUOTED,  /* literal */
	CHAR_PLAIN,   /* literal, unquoted in the source: braces, tilde and globs act */
	CHAR_FIELD,   /* literal from an unquoted expansion: is split, globs act */
	CHAR_UNKNOWN,
	CHAR_UNKNOWN_FIELDS,
	CHAR_TILDE,
	CHAR_BREAK,   /* between two words of "$@" */
	CHAR_EMPTY,   /* no character, but its word exists: "" */
	CHAR_DOLLAR,  /* of $x before a brace: bash reads the name behind brace expansion */
	CHAR_GLOB,    /* of a value that is a list of file names: acts in quotes too */
};

/* The character of an unknown character: any text, or any but the empty one. */
#define UNKNOWN_ANY '?'
#define UNKNOWN_SET '!'

/* The name of a known character that may be missing: cd x && pwd. */
#define NAME_MISSING "&&"

struct shell_char {
	uint32_t at;
	uint16_t name; /* of an unknown one, or NAME_MISSING; 0: none */
	uint8_t kind;
	char c;
};

static inline bool char_is_known(const struct shell_char *c)
{
	return c->kind <= CHAR_FIELD;
}

static inline bool char_is_unknown(const struct shell_char *c)
{
	return c->kind == CHAR_UNKNOWN || c->kind == CHAR_UNKNOWN_FIELDS;
}

struct chars {
	struct shell_char *v;
	size_t len, cap;
};

/* A variable's value: chars QUOTED, UNKNOWN, TILDE, GLOB. */
struct value {
	struct value *other; /* another that is as possible */
	struct shell_char *v;
	uint32_t len;
};

struct assignment {
	struct value *values; /* NULL and !is_set: empty */
	struct value **items; /* of an array */
	uint32_t item_count;
	bool is_set, exported, is_array;
};

struct version {
	uint32_t version;
	struct assignment *assignment;
};

struct variable {
	const char *name;
	struct version *history; /* oldest first */
	uint32_t count, cap;
	uint32_t choice_version, choice; /* which value the present choice takes */
	uint32_t merge;        /* mark of the join that looked at it last */
};

struct change {
	struct variable *variable;
	struct assignment *before;
};

struct variables {
	struct variable **slots; /* open addressing */
	size_t slot_count, count;
	struct change *log; /* of every assignment, newest last */
	size_t log_len, log_cap;
	uint32_t version;
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
	const char **names; /* of unknown characters, by ch.name */
	size_t name_count, name_cap;
	uint16_t *name_slots;
	unsigned name_slot_count;
	const struct shell_memory *outer;
	const struct shell_script *outer_script;
	uint32_t outer_stamp;
	bool outer_exported_only;
	const char *shell_path;
	enum shell_family family; /* of the shell that reads the script */
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
	struct chars *capture;    /* where output goes that is wanted; NULL: nowhere */
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
	uint32_t choice_version;
	uint64_t choice_left, choice_count;
	const char *namerefs[4]; /* declare -n: names that hold the name that is meant */
	unsigned nameref_count;
	bool marked; /* text has unknown characters in it, see chars.c */
	bool errexit; /* set -e, and no failure here is looked at */
	bool posix;
};

struct local {
	struct local *older;
	struct variable *variable;
	struct assignment *before;
};

/* ---- chars.c: bounds, chars, values, names of unknown characters ---- */

void expand_trouble(struct expander *e, enum shell_trouble trouble, const char *what, uint32_t at);
bool expand_failed(struct expander *e);
bool expand_enter(struct expander *e, uint32_t at);
void expand_leave(struct expander *e);

/* Steps besides those of the characters that more than one file takes. */
#define WORK_TEXT 100u
#define WORK_TREE 7u /* bytes of the tree for which reading takes one step */

static inline void expand_charge(struct expander *e, uint64_t steps)
{
	e->fuel = e->fuel > steps ? e->fuel - steps : 0;
}

/* Room for @more chars; false: the expansion is too long. */
bool chars_room(struct expander *e, struct chars *c, size_t more);
void chars_release(struct chars *c);
void chars_add(struct expander *e, struct chars *c, char ch, enum char_kind kind, uint32_t at,
	       uint16_t name);
void chars_copy(struct expander *e, struct chars *c, const struct shell_char *from, size_t len);
void chars_text(struct expander *e, struct chars *c, const char *text, enum char_kind kind,
		uint32_t at);
bool chars_known(const struct shell_char *v, size_t len);
/* The literal text of @v, heap of the arena; NULL if a character of it is not known. */
char *chars_string(struct expander *e, const struct shell_char *v, size_t len);
struct value *value_make(struct expander *e, const struct shell_char *v, size_t len);
struct value *value_text(struct expander *e, const char *text, uint32_t at);
uint16_t expand_name(struct expander *e, const char *name);
const char *expand_name_text(const struct expander *e, uint16_t name);
/* An unknown character; @name (a variable's, "$(mktemp)", or NULL) tells if it is set. */
struct shell_char char_unknown(struct expander *e, const char *name, enum char_kind kind,
			       uint32_t at);
struct value *value_unknown(struct expander *e, const char *name, uint32_t at);

/* Unknown characters in a text that is read again. */
struct shell_text mark_text(struct shell_arena *arena, const struct shell_word *w);
/* Has it characters that are not known? */
bool word_is_partial(const struct shell_word *w);
uint32_t mark_expand(struct expander *e, const struct ast_text *t, uint32_t i, bool quoted,
		     struct chars *out);

/* ---- fields.c: chars to words ---- */

struct words {
	struct shell_word *v;
	size_t len, cap;
};

void words_release(struct words *w);
/* The fields of @c, words of @w's place. */
void words_split(struct expander *e, const struct ast_word *w, const struct chars *c,
		 struct words *out);
/* A word of a finished text. */
void word_make(struct expander *e, const struct shell_char *v, size_t len, struct shell_word *out);
void word_add(struct expander *e, struct words *out, const struct shell_word *word);
struct value *word_value(struct expander *e, const struct shell_word *word);

/* ---- vars.c ---- */

struct assignment *vars_get(struct expander *e, const char *name);
/* The value that the present choice takes; NULL: not assigned by the text. */
struct value *vars_value(struct expander *e, const char *name, bool *is_unset);
void vars_set(struct expander *e, const char *name, struct value *value);
void vars_set_binding(struct expander *e, const char *name, struct assignment *b);
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

/* ---- arith.c ---- */

/* False: the result is not known. */
bool expand_arith(struct expander *e, const struct chars *text, int64_t *result);

/* ---- brace.c ---- */

struct char_words {
	struct chars *v;
	size_t len, cap;
};
bool expand_has_brace(const struct chars *c);
void expand_braces(struct expander *e, const struct chars *c, struct char_words *out);
void char_words_release(struct char_words *w);

/* ---- output.c: what single commands write ---- */

/* What the command writes, as far as it is known, goes into e->capture. */
enum status output_run(struct expander *e, const struct shell_word *words, size_t count);
/* printf's text: @words begin with the format. False: not known. */
bool output_printf(struct expander *e, const struct shell_word *words, size_t count,
		   struct chars *out);

/* ---- expand.c: words ---- */

enum expand_mode {
	EXPAND_FIELDS, /* braces, splitting, globs: the words of a command */
	EXPAND_ONE,    /* one word: an assignment's value, a redirection's target */
	EXPAND_PATTERN,/* one word in which globs act */
};

/* Cells of the word before splitting. */
void expand_parts(struct expander *e, const struct ast_part *parts, struct chars *out,
		  enum expand_mode mode);
void expand_word(struct expander *e, const struct ast_word *w, struct words *out);
struct value *expand_value(struct expander *e, const struct ast_word *w);
/* One word, not split; a redirection's target. */
void expand_one(struct expander *e, const struct ast_word *w, struct shell_word *out);

/* ---- param.c ---- */

void expand_param(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
		  struct chars *out);
/* The name of an associative array's element, "m[k]"; NULL: the index may be a number. */
const char *param_key(struct expander *e, const char *name, const struct ast_word *index);
/* What a name of declare -n stands for; any other name is itself. */
const char *param_nameref(struct expander *e, const char *name);

/* ---- eval.c: commands ---- */

enum status eval_walk(struct expander *e, const struct ast_node *n);
/* What the commands write becomes @out, without the newlines at its end. */
void eval_substitution(struct expander *e, const struct ast_node *list, struct chars *out);
void eval_process(struct expander *e, const struct ast_part *p, struct chars *out);

/* ---- call.c: functions, aliases, eval ---- */

/* The text defines nothing yet. */
void call_forget(struct expander *e);
void call_define(struct expander *e, const struct ast_node *n);
struct function *call_find_function(struct expander *e, const char *name);
/* @words begin with the function's name. */
enum status call_function(struct expander *e, struct function *f, const struct shell_word *words,
			  size_t count);
/* $1, ... from @words[1] on. */
struct params call_params(struct expander *e, const struct shell_word *words, size_t count);
/* Functions that nothing has called run with unknown parameters. */
void call_uncalled(struct expander *e);
enum status call_eval(struct expander *e, const struct shell_word *words, size_t count);
struct alias *call_find_alias(struct expander *e, const char *name);
void call_set_alias(struct expander *e, const char *name, struct value *value);
enum status call_alias(struct expander *e, struct alias *a, const struct shell_word *words,
		       size_t count);

/* ---- builtin.c ---- */

/* Runs the builtin, if it is one that changes what is known. */
bool builtin_run(struct expander *e, const struct shell_word *words, size_t count,
		 enum status *status);
/* Its words NAME=VALUE are not split. */
bool builtin_declares(const char *name);

#endif
