/*
 * shell_expand - a syntax tree to resolved commands; private to this folder.
 *
 * Walks the tree as a shell would run it, with constants only: after a branch that
 * may be skipped, both values are possible; a loop over constants runs once for each;
 * a call of the text's own function runs its body. Every character appended anywhere
 * costs fuel, so the time is bounded for any text.
 */
#ifndef PROCPEN_SHELL_EXPAND_H
#define PROCPEN_SHELL_EXPAND_H

#include "shell/arena.h"
#include "shell/ast.h"
#include "shell/script.h"

/* ---- characters before splitting and globbing ---- */

enum char_kind {
	CHAR_QUOTED,  /* literal */
	CHAR_PLAIN,   /* literal, unquoted in the source: braces, tilde and globs act */
	CHAR_FIELD,   /* literal from an unquoted expansion: splitting and globs act */
	CHAR_UNKNOWN,
	CHAR_UNKNOWN_FIELDS,
	CHAR_TILDE,
	CHAR_BREAK,   /* between two words of "$@" */
	CHAR_EMPTY,   /* no character, but makes a word: "" */
	CHAR_DOLLAR,  /* the $ of $x{...}: bash expands braces before it reads the name */
	CHAR_GLOB,    /* a glob in a list of file names: acts in quotes too */
};

/* shell_char.c of an unknown character: any text; any that something gives at run time, as read
 * does; any but the empty one. The less may be empty, the smaller. */
#define UNKNOWN_ANY '?'
#define UNKNOWN_GIVEN '%'
#define UNKNOWN_SET '!'

/* The name of a known character that may be missing, as in $(cd x && pwd). */
#define NAME_MISSING "&&"

struct shell_char {
	uint32_t at;
	uint16_t name; /* expand_name() of an unknown one, or of NAME_MISSING; 0: none */
	uint8_t kind;
	char c;
};

static inline bool char_is_known(const struct shell_char *c)
{
	return c->kind <= CHAR_FIELD;
}

/* Is it the character of a pattern, if it is one of these? */
static inline bool char_is_globbing(const struct shell_char *c)
{
	return c->kind == CHAR_PLAIN || c->kind == CHAR_FIELD;
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
	struct value *other; /* the next possible value */
	struct shell_char *v;
	struct value_room *room; /* the memory that v begins, if a value has grown there */
	uint32_t len;
};

/* What declare says of a variable; bits. */
enum attribute {
	ATTRIBUTE_READONLY = 1,
	ATTRIBUTE_LOWER = 2,
	ATTRIBUTE_UPPER = 4,
	ATTRIBUTE_CAPITAL = ATTRIBUTE_LOWER | ATTRIBUTE_UPPER,
	ATTRIBUTE_INTEGER = 8,
	ATTRIBUTE_NAMEREF = 16,
	ATTRIBUTE_ASSOCIATIVE = 32,
};

struct assignment {
	struct assignment *other; /* what the variable may be instead, where one is an array */
	struct value *values; /* NULL and !is_set: empty */
	struct value **items; /* of an array; NULL: not set */
	uint32_t item_count, item_room;
	bool is_set, exported, is_array;
	bool is_open; /* an array with elements at places that are not known */
	uint8_t attributes; /* enum attribute */
	/* What it was before the tests of a function that took values out, or NULL. */
	const struct assignment *untested;
};

struct version {
	uint32_t version;
	struct assignment *assignment;
};

struct variable {
	const char *name;
	struct version *history; /* oldest first */
	uint32_t count, cap;
	uint32_t choice_version, choice; /* index of its value in the choice with that version */
	uint32_t merge;        /* mark of the last join that saw it */
};

struct change {
	struct variable *variable;
	struct assignment *before;
};

struct variables {
	struct variable **slots; /* open addressing */
	size_t slot_count, count;
	struct change *log; /* of all assignments, newest last */
	size_t log_len, log_cap;
	uint32_t version;
};

/* Lists of functions, and of aliases, by the hash of the name. */
#define NAMED_LISTS 64u

struct function {
	struct function *older;
	struct function *same; /* the next older one in its list */
	const char *name;
	const struct ast_node *node;
	uint32_t index; /* in shell_script.functions; SHELL_NONE: not walked yet */
	uint32_t gone;  /* where it, or the branch that defines it, ends; or SHELL_NONE */
	bool active;
	bool imported;  /* an outer text defines it */
};

struct alias {
	struct alias *same; /* the next older one in its list */
	const char *name;
	struct value *value;
	bool active;
};

enum status { STATUS_UNKNOWN, STATUS_OK, STATUS_FAILED };

/* shell_script.memory: what its words point to, and what nested scripts look up. */
struct shell_memory {
	struct shell_arena arena;
	struct shell_arena tree; /* syntax trees of the commands being walked, and of functions */
	struct variables variables;
	struct function *functions; /* the newest */
	struct function **function_lists; /* by name; NULL: no functions */
	struct alias **alias_lists;
	size_t function_count, alias_count;
	const char **names; /* of unknown characters, by shell_char.name */
	size_t name_count, name_cap;
	uint16_t *name_slots;
	unsigned name_slot_count;
	const struct shell_memory *outer;
	uint32_t outer_version;
	bool outer_exported_only;
	bool is_outermost; /* shell_setup.outermost, of the shell that runs it */
	const char *shell_path;
	enum shell_family family; /* the shell that runs the script */
};

/* Levels of the walk for each level of the text, since functions call functions. */
#define EXPAND_LEVELS 4u

/* What a redirection made of a descriptor. */
struct descriptor {
	const struct descriptor *older;
	long fd;
	struct value *input; /* what can be read there, or NULL */
	uint32_t piped_from; /* of N<&0, else SHELL_NONE */
};

/* What a command reads and writes: redirections change it, and its end undoes that. */
struct streams {
	struct value *input;           /* known standard input, or NULL */
	struct shell_word *input_word; /* the same, made when first needed */
	uint32_t piped_from;           /* the command that feeds it, or SHELL_NONE */
	const struct descriptor *descriptors; /* others, the newest */
	struct chars *capture;         /* gets the commands' output; NULL: not needed */
	struct chars *to_file;         /* gets it behind a redirection to a file */
};

/* Where break, continue and return lead, in the present shell; or NULL. */
struct jumps {
	struct join *breaks, *continues, *returns;
};

struct expander {
	struct shell_memory *memory;
	struct shell_arena *arena;
	struct shell_script *script;
	struct shell_budget *budget;
	size_t command_cap, function_cap;
	uint64_t fuel;
	uint64_t turn_fuel; /* of it, what turns of loops in loops have taken */
	const uint32_t *identity; /* offset of each byte, for words that are copies of the text */
	const uint8_t *zeros;     /* SHELL_LITERAL for as many bytes */
	size_t identity_len;
	struct streams io;
	const struct shell_word *last_word; /* of the command before: $_; NULL: not known */
	/* Where the walk is. */
	unsigned context;
	unsigned subshells; /* entered so far */
	uint32_t parent; /* the command whose word holds the present one, or SHELL_NONE */
	unsigned depth; /* levels left */
	unsigned loops; /* loops around */
	struct local *prefix;  /* to restore after the present command */
	struct local *locals;  /* to restore after the present call of a function */
	bool keep_tree; /* a function was defined, which needs its tree later */
	struct shell_word *process; /* known output of the last <(...) */
	/* One choice among possible values, see choice.c. */
	bool choosing;
	uint32_t choice_version;
	uint64_t choice_left, choice_count;
	struct jumps jumps;
	struct join *jumped; /* that of the last command, or NULL: it was none of them */
	unsigned others; /* choices before the present one, also of the calls around it */
	bool unfollowed; /* the present choice runs something that is not walked */
	bool has_namerefs; /* declare -n was there */
	bool marked; /* the text has marks for unknown characters, see chars.c */
	bool errexit; /* set -e acts here: not in a condition */
	bool nounset; /* set -u: what is not set ends the shell */
	const struct value *given_input; /* the standard input that the text as a whole has */
	bool sourced;  /* the present command is source, and its text was walked */
	bool sets_unknown; /* a text that is not known may have set any variable */
	bool in_code; /* so may the text of another language that this stands in */
	bool lastpipe; /* shopt -s lastpipe was there */
	const struct ast_node *stage; /* the stage of a pipeline that is walked */
	bool posix;
};

/* A command that runs: its name and arguments, resolved. */
struct call {
	const struct shell_word *words;
	size_t count;
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

/* Steps that several files charge, besides those for characters. */
#define WORK_TEXT 100u
#define WORK_TREE 7u /* bytes of the tree that take one step to read */

static inline void expand_charge(struct expander *e, uint64_t steps)
{
	e->fuel = e->fuel > steps ? e->fuel - steps : 0;
}

/* Make room for @more chars. False: the expansion is too long. */
bool chars_room(struct expander *e, struct chars *c, size_t more);
void chars_release(struct chars *c);
void chars_add(struct expander *e, struct chars *c, char ch, enum char_kind kind, uint32_t at,
	       uint16_t name);
void chars_copy(struct expander *e, struct chars *c, const struct shell_char *from, size_t len);
void chars_text(struct expander *e, struct chars *c, const char *text, enum char_kind kind,
		uint32_t at);
/* The chars from @from on are those of an unquoted expansion: they are split. */
void chars_unquote(struct chars *c, size_t from);
/* The chars from @from on may not be there. */
void chars_may_be_missing(struct expander *e, struct chars *c, size_t from);
bool chars_known(const struct shell_char *v, size_t len);
bool chars_any_known(const struct chars *c);
/* The text of @v, in the arena; NULL if a character is unknown. */
char *chars_string(struct expander *e, const struct shell_char *v, size_t len);
struct value *value_make(struct expander *e, const struct shell_char *v, size_t len);
/* The value that @c is, which this releases. */
struct value *value_take(struct expander *e, struct chars *c);
/*
 * @before with @more behind it. Both share memory if nothing else has grown there, so that
 * x="$x $f" takes no time for what x was.
 */
struct value *value_append(struct expander *e, const struct value *before,
			   const struct value *more);
struct value *value_text(struct expander *e, const char *text, uint32_t at);
uint16_t expand_name(struct expander *e, const char *name);
const char *expand_name_text(const struct expander *e, uint16_t name);
/* An unknown character. @name: a variable, "$(mktemp)", or NULL; decides if it may be empty. */
struct shell_char char_unknown(struct expander *e, const char *name, enum char_kind kind,
			       uint32_t at);
struct value *value_unknown(struct expander *e, const char *name, uint32_t at);
/* The same of one that something gives at run time. */
struct value *value_unknown_given(struct expander *e, const char *name, uint32_t at);
/* The same of one that is not empty. */
struct value *value_unknown_set(struct expander *e, const char *name, uint32_t at);
/* Is nothing known of @v, as of a variable that a branch has left unset? */
bool value_is_any(const struct value *v);
/* The name of a number that is not known. */
#define NAME_NUMBER "$(())"

/* @w as text to parse, with a mark for each unknown character, see chars.c. */
struct shell_text mark_text(struct shell_arena *arena, const struct shell_word *w);
/* Has it an unknown character? */
bool word_is_partial(const struct shell_word *w);
uint32_t mark_expand(struct expander *e, const struct ast_text *t, uint32_t i, bool quoted,
		     struct chars *out);

/* ---- fields.c: chars to words ---- */

struct words {
	struct shell_word *v;
	size_t len, cap;
};

void words_release(struct words *w);
/* Split @c into words at the place of @w. */
void words_split(struct expander *e, const struct ast_word *w, const struct chars *c,
		 struct words *out);
/* Fill @out with the word that @v is. */
void word_make(struct expander *e, const struct shell_char *v, size_t len, struct shell_word *out);
void word_add(struct expander *e, struct words *out, const struct shell_word *word);
struct value *word_value(struct expander *e, const struct shell_word *word);
static inline bool word_is_text(const struct shell_word *word, const char *text)
{
	return strcmp(word->text.s, text) == 0;
}
/* The place of its last character, for what a command adds to it. */
static inline uint32_t word_last(const struct shell_word *word)
{
	return word->end > word->start ? word->end - 1 : word->start;
}

/* ---- initial.c ---- */

/* The value that the shell gives to @name at its start; NULL: none that is known. */
struct value *initial_value(struct expander *e, const char *name, uint32_t at);
/* What @name is where the branch that assigns it did not run. With @set it is not empty. */
struct value *initial_unassigned(struct expander *e, const char *name, bool set);

/* ---- vars.c ---- */

struct assignment *vars_get(struct expander *e, const char *name);
/* What vars_get() has or, of several, that of the present choice. */
struct assignment *vars_chosen(struct expander *e, const char *name);
/* The value in the present choice; NULL: the text does not assign it, or has unset it. */
struct value *vars_value(struct expander *e, const char *name);
struct value *vars_value_or_unset(struct expander *e, const char *name, bool *is_unset);
void vars_set(struct expander *e, const char *name, struct value *value);
/* One of @values, which have no variable: @hidden is a name that no text can assign. */
struct value *vars_one_of(struct expander *e, const char *hidden, struct value *values);
/* The value of @name with @more behind it. */
struct value *vars_append(struct expander *e, const char *name, const struct value *more);
void vars_set_binding(struct expander *e, const char *name, struct assignment *b);
void vars_export(struct expander *e, const char *name);
/* One that is readonly stays. */
void vars_unset(struct expander *e, const char *name);
/* Give the variable the attributes @add, and take @drop from it. */
void vars_set_attributes(struct expander *e, const char *name, unsigned add, unsigned drop);
/* The variable that @name refers to, by declare -n; else @name. */
const char *vars_nameref(struct expander *e, const char *name);
/* Save the value of @name in @list; vars_end_locals() restores those saved since @until. */
void vars_local(struct expander *e, struct local **list, const char *name);
void vars_end_locals(struct expander *e, struct local **list, struct local *until);
size_t vars_mark(struct expander *e);
void vars_undo(struct expander *e, size_t mark);

/* What @v is now. NULL: the text does not assign it. */
struct assignment *vars_current(const struct variable *v);
/* Make it @b, whatever its attributes say. */
void vars_bind(struct expander *e, struct variable *v, struct assignment *b);

/* ---- values.c ---- */

/* Add copies of the values in @more that are not in @list, up to as many as are followed. */
void values_add(struct expander *e, struct value **list, const struct value *more);
/* Add copies of what @b may be to *@list, each with one value; as few. */
void values_add_others(struct expander *e, struct assignment **list, const struct assignment *b);
/* A new assignment: what @a or @b may be. */
struct assignment *values_union(struct expander *e, const struct assignment *a,
				const struct assignment *b);

/* ---- join.c ---- */

/*
 * Branches of which one runs: after join_end(), the values of each are possible; with @may_skip,
 * and for a variable that a branch does not assign, those from before too.
 */
struct join {
	size_t mark;
	struct join_entry *entries;
	size_t branches;
	const struct join *instead; /* of a && @instead || b: of those from before, if it has any */
	const struct ast_node *test; /* decides, or NULL: a variable in it is not empty otherwise */
	bool holds, fails; /* the test does where no branch runs; neither: that is not known */
	struct join *outer; /* where the loop around leads by the same jump, or NULL */
	/* Of the body of a function, which writes to @capture from @from on: */
	struct chars *capture;
	size_t from;
	struct value *written; /* up to a return */
	bool may_fail;         /* it has a return 1 */
};
void join_start(struct expander *e, struct join *j);
/* End a branch: note what it has assigned, and undo that. What one that @leaves, as by exit, does
 * not assign is not what it was. */
void join_branch(struct expander *e, struct join *j, bool leaves);
/* The shell may go on behind @j from here: what holds is noted as of a branch, and stays. */
void join_jump(struct expander *e, struct join *j);
void join_end(struct expander *e, struct join *j, bool may_skip);
/* Behind a function whose tests may have failed: what they took out since @mark is back. */
void join_untest(struct expander *e, size_t mark);
/* The changes since @mark may have been made or not; vars_undo() makes them undone. */
void join_maybe(struct expander *e, size_t mark);
/* From here on, up to vars_undo(), the tests from @test to before @end, members of a list, all
 * hold, or with !@holds all do not: a variable that they ask for is not empty. */
void join_assume(struct expander *e, const struct ast_node *test, const struct ast_node *end,
		 bool holds);

/* ---- choice.c ---- */

/* One choice of values after the other. Inside of another one there is only that. What they assign
 * are branches, of which one runs. */
struct choice {
	bool outer;             /* it is inside of another one */
	uint64_t number, count; /* of those begun; of those known of */
	uint64_t max;           /* so many are tried */
	bool several;           /* one has been ended: the state is that before them */
	struct join join;
	uint64_t found;         /* of choice_enter() */
	bool choosing;
};
void choice_start(struct expander *e, struct choice *c);
/* Go to the next choice. False: there is none. */
bool choice_next(struct expander *e, struct choice *c);
void choice_end(struct expander *e, struct choice *c);
/* What the command of a choice runs, up to choice_leave(), has choices of its own. */
void choice_enter(struct expander *e, struct choice *c);
void choice_leave(struct expander *e, const struct choice *c);
/*
 * Is a function, a text or a loop over a known input walked for the present choice, too? If not,
 * what other choices assign is taken to be assigned in it as well.
 */
bool choice_is_followed(struct expander *e);

/* ---- arith.c ---- */

/* False: the result is unknown. */
bool expand_arith(struct expander *e, const struct chars *text, int64_t *result);

/* ---- brace.c ---- */

/* Numbers of a range that are followed one by one; a longer one is its ends and SHELL_RANGE. */
#define RANGE_MAX 1024

struct char_words {
	struct chars *v;
	size_t len, cap;
};
/* Has it an extended glob of bash, @(a|b)? expand_groups() writes braces in its place. */
bool expand_has_group(const struct chars *c);
void expand_groups(struct expander *e, struct chars *c);
bool expand_has_brace(const struct chars *c);
void expand_braces(struct expander *e, const struct chars *c, struct char_words *out);
void char_words_release(struct char_words *w);

/* ---- output.c: what single commands write ---- */

/* Append the command's output, if known, to e->io.capture. */
enum status output_run(struct expander *e, const struct call *c);

/* ---- printf.c ---- */

/* Append @v with its escapes replaced. False: \c ended the output. */
bool printf_escaped(struct expander *e, const struct value *v, struct chars *out);
/* The output of printf; the words of @c begin with the format. */
void printf_format(struct expander *e, const struct call *c, struct chars *out);

/* ---- filter.c ---- */

struct filter {
	struct expander *e;
	const struct call *c;
	const struct value *in;
	struct chars *out;
};
/* Append the output of the filter. False: it is unknown. */
typedef bool filter_fn(const struct filter *f);
filter_fn filter_tr, filter_base64, filter_xxd, filter_cut, filter_one_line;
/*
 * Are they names of files in the current directory, with a star? What picks some of them picks
 * names that are not known.
 */
bool filter_names_here(const struct value *in);

/* ---- filenames.c ---- */

/* Append the names that find, ls, du, tree or locate prints. False: they are not known. */
bool filenames_write(struct expander *e, const struct call *c);
/* Has it a cluster of options with @letter? */
bool filenames_has_letter(const struct call *c, char letter);

/* ---- expand.c: words ---- */

enum expand_mode {
	EXPAND_FIELDS, /* braces, splitting, globs: the words of a command */
	EXPAND_ONE,    /* one word: an assignment's value, a redirection's target */
	EXPAND_PATTERN,/* one word in which globs act */
};

/* Append the chars of the word, not yet split. */
void expand_parts(struct expander *e, const struct ast_part *parts, struct chars *out,
		  enum expand_mode mode);
void expand_word(struct expander *e, const struct ast_word *w, struct words *out);
struct value *expand_value(struct expander *e, const struct ast_word *w);
/* One word, not split; a redirection's target. */
void expand_one(struct expander *e, const struct ast_word *w, struct shell_word *out);

/* The same for NAME=VALUE behind export and the like: a ~ that begins VALUE is a home. */
void expand_declared(struct expander *e, const struct ast_word *w, struct shell_word *out);

/* ---- glob.c: patterns ---- */

/* @v without what @pattern, of ${x#p}, ${x%p} and the like, matches at its start or end. */
struct value *glob_trim(struct expander *e, const struct value *v, const struct ast_param *p,
			const struct chars *pattern);
/* ${x/p/w}: @v with @by for what @pattern matches. */
struct value *glob_replace(struct expander *e, const struct value *v, const struct ast_param *p,
			   const struct chars *pattern, const struct chars *by);

/* ---- param.c ---- */

void expand_param(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
		  struct chars *out);

/* Is it $@ or x[@], with or without an operator? */
bool param_is_list(const struct ast_param *p);

/* ---- array.c ---- */

/* name=(words); name+=(words) with @append. */
void array_assign(struct expander *e, const char *name, const struct words *words, bool append);
/* Make @items the elements of @name from the place @from on, or make them unknown. @keeps: what it
 * has elsewhere stays. */
#define ARRAY_UNKNOWN UINT32_MAX
void array_fill(struct expander *e, const char *name, struct value **items, uint32_t count,
		bool keeps, uint32_t from);
/* Make @name the array @items; with !@known it may have others. */
void array_bind(struct expander *e, const char *name, struct value **items, uint32_t count,
		bool known);
/* name[key]=v; name[key]+=v with @append. */
void array_set_element(struct expander *e, const char *name, const struct chars *key,
		       struct value *v, bool append);
/* unset name[key] */
void array_unset_element(struct expander *e, const char *name, const struct chars *key);
/* ${name[key]}; NULL: not known. */
struct value *array_element(struct expander *e, const char *name, const struct chars *key,
			    uint32_t at);

/* ---- eval.c: the walk ---- */

/* What a command finds besides variables. */
struct place {
	struct streams io;
	struct jumps jumps;
	const struct shell_word *last_word;
	unsigned context;
	uint32_t parent;
	bool errexit, nounset;
};
struct place eval_save_place(const struct expander *e);
void eval_restore_place(struct expander *e, const struct place *p);

enum status eval_walk(struct expander *e, const struct ast_node *n);
/* Walk a compound command without its redirections. The caller puts back the place. */
enum status eval_compound(struct expander *e, const struct ast_node *n);
/* Walk a condition: set -e ignores its failure. */
enum status eval_condition(struct expander *e, const struct ast_node *n);
enum status eval_negate(enum status s);
/* Append the output of @list to @out, without the newlines at its end. */
void eval_substitution(struct expander *e, const struct ast_node *list, struct chars *out);
void eval_process(struct expander *e, const struct ast_part *p, struct chars *out);

/* ---- record.c: commands ---- */

/* The script or subshell ends that the commands from @first on run in. */
void record_end(struct expander *e, size_t first);

enum status record_simple(struct expander *e, const struct ast_node *n);
/* [[ ]] */
enum status record_test(struct expander *e, const struct ast_node *n);
/* A compound command that has redirections: these, before the commands in it. */
enum status record_redirected(struct expander *e, const struct ast_node *n);

/* ---- redirect.c ---- */

/* Expand the redirections of command @index, and set e->io as they do. */
void redirect_all(struct expander *e, const struct ast_redirect *list, uint32_t index);
void redirect_set_input(struct expander *e, struct value *v);
/* The known standard input; or NULL. */
const struct shell_word *redirect_input_word(struct expander *e);
/* What descriptor @fd is, if a redirection opened it; or NULL. */
const struct descriptor *redirect_descriptor(const struct expander *e, long fd);

/* ---- assign.c ---- */

/* The assignments of command @index; those before a name hold for this command only. */
void assign_all(struct expander *e, const struct ast_node *n, uint32_t index);
/* The assignment x=$(...) or x="$(...)" whose status is that of the command @n; or NULL. */
const struct ast_assign *assign_of_output(const struct ast_node *n);
/* @n has not failed: what it assigned of an output is not missing. */
void assign_succeeded(struct expander *e, const struct ast_node *n);
/* Length of the name that @w begins with; 0: none. */
size_t assign_name_length(const struct shell_word *w);
/* Assign @v to the variable, or the element of an array, that @w names. */
void assign_word(struct expander *e, const struct shell_word *w, struct value *v, bool append);

/* ---- branch.c, loops.c ---- */

enum status branch_list(struct expander *e, const struct ast_node *list);
enum status branch_if(struct expander *e, const struct ast_node *n);
enum status branch_case(struct expander *e, const struct ast_node *n);
/* Note what holds at @c, if it is break, continue or return. */
void branch_note_jump(struct expander *e, const struct call *c);
/* Behind the @body that @j surrounds: by its end, if that is reached, or by the jumps in it. */
void branch_end_jumps(struct expander *e, struct join *j, const struct ast_node *body);
/* What is captured from @from on may not be written. */
void branch_may_be_missing(struct expander *e, size_t from);
/* Walk the body of a function, which return ends. */
enum status branch_body(struct expander *e, const struct ast_node *body);
/* while, until, for ((...)) */
enum status loops_while(struct expander *e, const struct ast_node *n);
enum status loops_for(struct expander *e, const struct ast_node *n);

/* ---- call.c: functions, aliases, eval ---- */

/* Forget all functions and aliases. */
void call_forget(struct expander *e);
void call_define(struct expander *e, const struct ast_node *n);
struct function *call_find_function(struct expander *e, const char *name);
enum status call_function(struct expander *e, struct function *f, const struct call *c);
/* The function of the same name that was defined before @f, or NULL. */
struct function *call_older(const struct function *f);
/* unset -f at @at: a call may run the body or not. */
void call_unset(struct expander *e, const char *name, uint32_t at);
/* The same for those defined after @since, in a branch or a subshell that ends at @at. */
void call_leave(struct expander *e, const struct function *since, uint32_t at);
/* The parameters: the elements of the variable PARAMS are $0, $1, ... */
#define PARAMS "@"
/* The arguments of @c become the parameters. */
void call_set_params(struct expander *e, const struct call *c);
/* Walk functions that were not called, with unknown parameters. */
void call_uncalled(struct expander *e);
enum status call_eval(struct expander *e, const struct call *c);
/* Run the substitutions in the key of an element, "x[$(y)]", which @v from @from on names. */
void call_key(struct expander *e, const struct value *v, size_t from);
/* What a prompt makes of @v, ${x@P}: it runs the substitutions. NULL: not known. */
struct value *call_prompt(struct expander *e, const struct value *v);
struct alias *call_find_alias(struct expander *e, const char *name);
void call_set_alias(struct expander *e, const char *name, struct value *value);
enum status call_alias(struct expander *e, struct alias *a, const struct call *c);

/* ---- builtin.c ---- */

/* Run the builtin. False: it is none that changes variables, parameters or aliases. */
bool builtin_run(struct expander *e, const struct call *c, enum status *status);
/*
 * What declare or the like, @c, makes of the array @name that it is about to assign. Returns the
 * attributes that it has afterwards.
 */
unsigned builtin_declare_array(struct expander *e, const struct call *c, const char *name);
/* Is it declare or the like, whose words NAME=VALUE are not split? */
bool builtin_declares(const char *name);

/* ---- read.c ---- */

enum status read_run(struct expander *e, const struct call *c);
/* mapfile */
enum status read_lines(struct expander *e, const struct call *c);

#endif
