/*
 * gen - the host tool that turns schema/ into C tables, man pages and the reference page.
 *
 * The program checks, advertises and documents the same thing, because all of it comes
 * from schema/. Refuses any keyword that base/schema does not implement, so that a schema
 * file never promises more than the program does. A refusal names the file and the path
 * inside it, and ends the build.
 *
 * Adds an option for the tier of each capability, and the names of all capabilities for
 * {capabilities} in a hint of errors.json; those of all packs for {packs} in the text of an option.
 *
 * The output depends on the files only. A file is written only if its content changes.
 */
#ifndef PROCPEN_GEN_GEN_H
#define PROCPEN_GEN_GEN_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

#define GEN_FILES_MAX 64
#define GEN_PATH_MAX 256
#define GEN_HEADER "/* Generated from schema/ by src/gen. */\n" /* begins a C file */

/* Everything read from schema/. */
struct gen {
	const char *schema_dir;
	json_t *errors;             /* array */
	json_t *config;             /* array */
	json_t *blocklist;          /* object */
	json_t *messages;           /* object */
	json_t *cli;                /* object */
	json_t *packs;              /* array: the files of schema/packs, by name */
	json_t *caps[GEN_FILES_MAX]; /* in the order of tools/list */
	int cap_count;
};

/* The place of a value: "process.run.json", "inputSchema.properties.args". */
struct gen_at {
	const char *file;
	char path[GEN_PATH_MAX];
};

/* Print "file: path: message" and end with status 1. */
_Noreturn void gen_fail(const struct gen_at *at, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The place of member or element @name below @at. */
struct gen_at gen_below(const struct gen_at *at, const char *name);

/* Typed members; a missing or wrong one ends the run. */
const char *gen_str(const struct gen_at *at, const json_t *object, const char *name);
const char *gen_str_or(const struct gen_at *at, const json_t *object, const char *name,
		       const char *fallback);
json_int_t gen_int(const struct gen_at *at, const json_t *object, const char *name);

/* The string @name of an object already checked, or NULL. */
const char *gen_member(const json_t *object, const char *name);

/* Does "required" of @schema name the member @name? */
bool gen_is_required(const json_t *schema, const char *name);

/* End the run if @object has a member that is not in @known (NULL-terminated). */
void gen_only(const struct gen_at *at, json_t *object, const char *const *known);

/* "process.run" -> "process_run"; "InvalidParams" -> "INVALID_PARAMS"; "a.b" -> "A_B". */
void gen_c_name(const char *name, char out[GEN_PATH_MAX]);
void gen_snake_upper(const char *camel, char out[GEN_PATH_MAX]);
void gen_upper(const char *name, char out[GEN_PATH_MAX]);

/* Add @text with the names of capabilities in place of the names of their tools: schema/ is written
 * for models, which know these. */
void gen_name_methods(const struct gen *g, const char *text, struct buf *out);

/* @text as a C string literal; a long one takes several lines, indented by @tabs. */
void gen_literal(struct buf *out, const char *text, int tabs);

/* @text or @list (strings, a space at both ends of each with @spaced) as base/strtab.h keeps them:
 * add it to that table, and its offset to @out. NULL: none. */
void gen_strtab_text(struct buf *out, const char *text);
void gen_strtab_list(struct buf *out, const json_t *list, bool spaced);

/* Have the compiler refuse a @member of @type, an array, that has no room for @len bytes and a NUL:
 * by itself it takes a text without its NUL. */
void gen_needs_room(struct buf *out, const char *type, const char *member, size_t len);

/* Is @name an error in schema/errors.json? */
bool gen_is_error(const struct gen *g, const char *name);

/* Row @i of the list @list in schema/blocklist.json. */
struct gen_at gen_blocklist_row(const char *list, size_t i);

/* The commands of schema/cli.json. */
extern const char *const gen_cli_kinds[]; /* what an option takes; NULL-terminated */
const json_t *gen_cli_commands(const struct gen *g);

/* Call @fn for each option of @command, those of its groups in their place. */
void gen_cli_each_option(const struct gen *g, const json_t *command,
			 void (*fn)(const struct gen *g, json_t *option, void *ctx), void *ctx);

/* What @option means, with its bounds; heap. */
char *gen_cli_option_text(const struct gen *g, const json_t *option);

/* Values of an option of schema/config.json, as people read them. */
void gen_docs_option_default(struct buf *out, const json_t *row);
void gen_docs_option_bounds(struct buf *out, const json_t *row);

/* End the run if a shell would not take @name as the word that it is. */
void gen_check_word(const struct gen_at *at, const char *name);

/* End the run if a string in @value has control characters, or a list there has one that is empty:
 * in base/strtab.h that would end the list. */
void gen_check_printable(const struct gen_at *at, const json_t *value);

/* check.c, blocklist_check.c, packs.c, cli.c: refuse what is not supported or does not fit
 * together. */
void gen_check_errors(const struct gen *g);
void gen_check_config(const struct gen *g);
void gen_check_blocklist(const struct gen *g);
void gen_check_messages(const struct gen *g);
void gen_check_cap(const struct gen *g, const char *file, json_t *cap);
void gen_check_packs(const struct gen *g);
void gen_check_cli(const struct gen *g); /* after the capabilities */

/* tables.c, blocklist.c, packs.c, caps.c, cli.c, openrpc.c, docs.c, man.c, complete.c, strtab.c:
 * the outputs. */
void gen_errors_h(const struct gen *g, struct buf *out);
void gen_errors_c(const struct gen *g, struct buf *out);
void gen_config_h(const struct gen *g, struct buf *out);
void gen_config_c(const struct gen *g, struct buf *out);
void gen_blocklist_c(const struct gen *g, struct buf *out);
void gen_blocklist_examples_c(const struct gen *g, struct buf *out);
void gen_packs_c(const struct gen *g, struct buf *out);
void gen_packs_page(const struct gen *g, struct buf *out);
void gen_caps_h(const struct gen *g, struct buf *out);
void gen_caps_c(const struct gen *g, struct buf *out);
void gen_openrpc_json(const struct gen *g, struct buf *out);
void gen_openrpc_c(const struct gen *g, struct buf *out);
void gen_cli_h(const struct gen *g, struct buf *out);
void gen_cli_c(const struct gen *g, struct buf *out);
void gen_cli_docs(const struct gen *g, struct buf *out); /* a part of the reference */
void gen_reference(const struct gen *g, struct buf *out);
void gen_man_overview(const struct gen *g, struct buf *out);                     /* procpen(1) */
void gen_man_command(const struct gen *g, const json_t *command, struct buf *out);
void gen_man_configuration(const struct gen *g, struct buf *out); /* procpen.json(5) */
void gen_man_options(const struct gen *g, struct buf *out); /* procpen-options(7) */
void gen_strtab_c(const struct gen *g, struct buf *out); /* after the tables */
void gen_complete_bash(const struct gen *g, struct buf *out);
void gen_complete_zsh(const struct gen *g, struct buf *out);
void gen_complete_fish(const struct gen *g, struct buf *out);

#endif
