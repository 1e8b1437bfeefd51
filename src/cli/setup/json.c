/*
 * Inserts the entry as the first member, after the brace: that is right whether or not the object
 * has members, and whether or not a comma follows the last; or puts it into the place of the one
 * that an earlier setup wrote. A copy has spaces in place of comments and trailing commas, so its
 * offsets are those of the text.
 */
#include "cli/setup/json.h"

#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonc.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#define UNIT_MAX 16
#define SHOWN_MAX 300

/* Parse the text; NULL with @e. *@plain: the text as JSON, for offsets. */
static json_t *setup_json_parse(const struct setup_host *host, const char *text, size_t len,
				char **plain, struct err *e)
{
	bool has_nul = memchr(text, '\0', len); /* jansson accepts a NUL after a number */
	json_error_t why;
	json_t *root = NULL;

	*plain = host->format == SETUP_JSONC ? jsonc_blank(text, len, !host->no_last_comma)
					     : mem_strndup(text, len);
	memset(*plain, ' ', utf8_bom(text, len));
	if (!has_nul)
		root = json_loadb(*plain, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (root && json_is_object(root))
		return root;
	if (root)
		err_set(e, ERR_INVALID_PARAMS, "the file is not a JSON object");
	else if (has_nul)
		err_set(e, ERR_INVALID_PARAMS, "the file contains a NUL byte");
	else
		err_set(e, ERR_INVALID_PARAMS, "line %d of the file is not JSON: %s", why.line,
			why.text);
	err_hint(e, "Nothing was changed. Correct the file%s, or paste the snippet yourself: "
		    SETUP_PRINTS, host->no_last_comma ? ", which may have no comma after the last "
		    "member" : "", host->name);
	json_decref(root);
	return NULL;
}

/* The offset after the brace that opens the value of @parent, or the root if @parent is NULL. */
static size_t setup_json_after_brace(const char *plain, size_t len, const char *parent)
{
	size_t token_len;
	const char *token = parent ? json_raw_member(plain, len, parent, &token_len) : plain;
	const char *brace = memchr(token, '{', len - (size_t)(token - plain));

	return (size_t)(brace - plain) + 1;
}

/* The indentation of the file: the space before its first member. */
static void setup_json_find_unit(const char *plain, size_t len, char unit[UNIT_MAX])
{
	size_t at = setup_json_after_brace(plain, len, NULL), start;

	strcpy(unit, "  ");
	while (at < len && strchr(" \t\r\n", plain[at]) && plain[at])
		at++;
	for (start = at; start && (plain[start - 1] == ' ' || plain[start - 1] == '\t'); start--)
		;
	if (start && plain[start - 1] == '\n' && plain[at] == '"' && at > start &&
	    at - start < UNIT_MAX) {
		memcpy(unit, plain + start, at - start);
		unit[at - start] = '\0';
	}
}

static bool setup_json_is_empty_at(const char *plain, size_t at)
{
	return plain[at + strspn(plain + at, " \t\r\n")] == '}';
}

/* Behind the comments that follow the brace before @at and end its line; else @at. */
static size_t setup_json_after_comments(const struct setup_entry *job, size_t at)
{
	size_t to, end = at;

	do {
		for (to = end; to < job->len && strchr(" \t", job->text[to]); to++)
			;
		end = jsonc_skip_comment(job->text, job->len, to);
	} while (end > to);
	return to < job->len && strchr("\r\n", job->text[to]) ? to : at;
}

/* Write the members to insert at @at: the entry, inside its parent if that is new. */
static int setup_json_add_members(const struct setup_entry *job, const char *plain, bool has_parent,
				  size_t at, const char *unit, struct buf *out, struct err *e)
{
	int level = has_parent ? 2 : 1;
	bool last = setup_json_is_empty_at(plain, at);

	setup_host_new_line(out, level, unit);
	if (!has_parent) {
		buf_addf(out, "\"%s\": {", job->host->parent);
		setup_host_new_line(out, 2, unit);
	}
	buf_adds(out, "\"" SETUP_ENTRY_NAME "\": ");
	if (setup_host_entry(job->host, job->command, 2, unit, out, e))
		return -1;
	if (!has_parent) {
		setup_host_new_line(out, 1, unit);
		buf_addc(out, '}');
	}
	if (!last)
		buf_addc(out, ',');
	else if (!strchr("\r\n", plain[at]))
		setup_host_new_line(out, level - 1, unit);
	return 0;
}

/* The entry as a value, or NULL with @e. */
static json_t *setup_json_entry_value(const struct setup_entry *job, struct err *e)
{
	struct buf text;
	json_t *value = NULL;

	buf_init(&text, SETUP_TEXT_MAX);
	if (!setup_host_entry(job->host, job->command, 0, "", &text, e))
		value = json_loadb(text.data, text.len, 0, NULL);
	buf_release(&text);
	return value;
}

/* Is @out just @root with the entry? Adds the entry to @root. */
static bool setup_json_means(const struct setup_entry *job, const struct buf *out, json_t *root,
			     json_t *entry)
{
	AUTO_FREE char *plain = NULL;
	ERR_LOCAL(ignored);
	json_t *found = setup_json_parse(job->host, out->data, out->len, &plain, &ignored);
	bool same;

	if (!json_object_get(root, job->host->parent))
		json_object_set_new(root, job->host->parent, json_object());
	json_object_set(json_object_get(root, job->host->parent), SETUP_ENTRY_NAME, entry);
	same = found && json_equal(found, root);
	json_decref(found);
	err_release(&ignored);
	return same;
}

/* ---- an entry that is there ---- */

/* The word @i of the command line in @entry, or NULL. */
static const char *setup_json_word(const json_t *entry, size_t i)
{
	const json_t *command = json_object_get(entry, "command");

	if (json_is_string(command) && i)
		return json_string_value(json_array_get(json_object_get(entry, "args"), i - 1));
	return json_string_value(json_is_string(command) ? command : json_array_get(command, i));
}

/* Does @there differ from @entry in nothing but the folder of procpen and its arguments? */
static bool setup_json_is_written_by_us(const json_t *there, const json_t *entry)
{
	const char *program = setup_json_word(there, 0);
	json_t *args = json_object_get(there, "args"), *same, *word;
	bool serves = false, ours;
	size_t i;

	json_array_foreach(args ? args : json_object_get(there, "command"), i, word) {
		if (!json_is_string(word))
			return false;
		serves |= !strcmp(json_string_value(word), "serve");
	}
	if (!program || !serves || strcmp(str_base_name(program), "procpen"))
		return false;
	same = json_deep_copy(there);
	json_object_set(same, "command", json_object_get(entry, "command"));
	if (args)
		json_object_set(same, "args", json_object_get(entry, "args"));
	ours = json_equal(same, entry);
	json_decref(same);
	return ours;
}

static enum setup_merged setup_json_refuse_other(const struct setup_entry *job, const json_t *there,
						 struct err *e)
{
	struct buf starts;
	const char *word;

	buf_init(&starts, SHOWN_MAX);
	for (size_t i = 0; (word = setup_json_word(there, i)); i++)
		setup_entry_add_word(&starts, word);
	setup_entry_other(job, &starts, e);
	buf_release(&starts);
	return SETUP_REFUSED;
}

/* The offset of the value of our entry, which is there, and its length. */
static size_t setup_json_find_entry(const struct setup_entry *job, const char *plain, size_t *len)
{
	size_t parent_len;
	const char *parent = json_raw_member(plain, job->len, job->host->parent, &parent_len);

	return (size_t)(json_raw_member(parent, parent_len, SETUP_ENTRY_NAME, len) - plain);
}

/* Put our entry into the place of one that an earlier setup wrote, which has no comments. */
static enum setup_merged setup_json_replace(const struct setup_entry *job, const char *plain,
					    const json_t *there, struct buf *out, struct err *e)
{
	char unit[UNIT_MAX];
	size_t len, at = setup_json_find_entry(job, plain, &len);

	if (memcmp(plain + at, job->text + at, len))
		return setup_json_refuse_other(job, there, e);
	setup_json_find_unit(plain, job->len, unit);
	buf_add(out, job->text, at);
	if (setup_host_entry(job->host, job->command, 2, unit, out, e))
		return SETUP_REFUSED;
	buf_add(out, job->text + at + len, job->len - at - len);
	return SETUP_MERGED;
}

static enum setup_merged setup_json_insert(const struct setup_entry *job, const char *plain,
					   bool has_parent, struct buf *out, struct err *e)
{
	size_t at = setup_json_after_brace(plain, job->len, has_parent ? job->host->parent : NULL);
	char unit[UNIT_MAX];

	if (job->host->format == SETUP_JSONC)
		at = setup_json_after_comments(job, at);
	setup_json_find_unit(plain, job->len, unit);
	buf_add(out, job->text, at);
	if (setup_json_add_members(job, plain, has_parent, at, unit, out, e))
		return SETUP_REFUSED;
	buf_add(out, job->text + at, job->len - at);
	return SETUP_MERGED;
}

static enum setup_merged setup_json_merge_entry(const struct setup_entry *job, const char *plain,
						json_t *root, json_t *entry, struct buf *out,
						struct err *e)
{
	json_t *parent = json_object_get(root, job->host->parent);
	const json_t *there = json_object_get(parent, SETUP_ENTRY_NAME);
	enum setup_merged merged;

	if (parent && !json_is_object(parent)) {
		err_set(e, ERR_INVALID_PARAMS, "`%s` in the file is not an object",
			job->host->parent);
		return SETUP_REFUSED;
	}
	if (there && json_equal(there, entry))
		return SETUP_THERE;
	if (there && !setup_json_is_written_by_us(there, entry))
		return setup_json_refuse_other(job, there, e);
	merged = there ? setup_json_replace(job, plain, there, out, e)
		       : setup_json_insert(job, plain, parent, out, e);
	if (merged == SETUP_REFUSED)
		return merged;
	if (!out->full && setup_json_means(job, out, root, entry))
		return SETUP_MERGED;
	err_set(e, ERR_INVALID_PARAMS, "the file is written in a way that cannot be merged safely");
	err_hint(e, "Nothing was changed. Paste the snippet yourself: " SETUP_PRINTS,
		 job->host->name);
	return SETUP_REFUSED;
}

enum setup_merged setup_json_merge(const struct setup_entry *job, struct buf *out, struct err *e)
{
	AUTO_FREE char *plain = NULL;
	json_t *root = setup_json_parse(job->host, job->text, job->len, &plain, e);
	json_t *entry = root ? setup_json_entry_value(job, e) : NULL;
	enum setup_merged result = SETUP_REFUSED;

	if (entry)
		result = setup_json_merge_entry(job, plain, root, entry, out, e);
	json_decref(entry);
	json_decref(root);
	return result;
}
