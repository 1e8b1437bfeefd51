/* schema/blocklist.json as the rule tables of the blocklist; blocklist_check.c has checked it. */
#include "gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/command/table.h"

#define NAMES_MAX 4096

/* The name of a program, and the indexes of its rows. -1: none. */
struct name {
	char text[BLOCKLIST_NAME_BYTES];
	int program, wrapper, flow_words;
	size_t rules; /* where its list begins */
	char flows[GEN_PATH_MAX]; /* "FLOW_KIND_A | FLOW_KIND_B" */
	char flow_if[GEN_PATH_MAX];  /* the same, with one of these words */
};

/* ---- the tables ---- */

static void gen_blocklist_text(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, " .%s = ", name);
	gen_strtab_text(out, text);
	buf_addc(out, ',');
}

/* A list of words with a space at both ends, as blocklist/command/list reads it. */
static void gen_blocklist_words(struct buf *out, const char *text)
{
	struct buf b;

	buf_init(&b, 1u << 16);
	buf_addf(&b, " %s ", text ? text : "");
	gen_strtab_text(out, text ? b.data : NULL);
	buf_addc(out, ',');
	buf_release(&b);
}

static void gen_blocklist_spaced(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, " .%s = ", name);
	gen_blocklist_words(out, text);
}

/* The strings @name of @row. */
static void gen_blocklist_list(struct buf *out, const json_t *row, const char *name, bool spaced)
{
	buf_addf(out, " .%s = ", name);
	gen_strtab_list(out, json_object_get(row, name), spaced);
	buf_addc(out, ',');
}

static void gen_blocklist_flag(struct buf *out, const json_t *row, const char *name)
{
	if (json_is_true(json_object_get(row, name)))
		buf_addf(out, " .%s = true,", name);
}

static void gen_blocklist_emit_targets(const json_t *targets, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_adds(out, "const struct blocklist_target blocklist_targets[] = {\n");
	json_array_foreach(targets, i, row) {
		buf_addf(out, "\t{ /* %s */", gen_member(row, "name"));
		gen_blocklist_text(out, "name", gen_member(row, "name"));
		gen_blocklist_text(out, "text", gen_member(row, "text"));
		gen_blocklist_list(out, row, "paths", false);
		gen_blocklist_list(out, row, "except", false);
		gen_blocklist_list(out, row, "sweeps", false);
		gen_blocklist_flag(out, row, "tree");
		gen_blocklist_flag(out, row, "empty");
		gen_blocklist_flag(out, row, "guess");
		buf_adds(out, " },\n");
	}
	buf_addf(out, "};\nconst unsigned blocklist_target_count = %zu;\n\n", i);
}

static void gen_blocklist_emit_effects(const json_t *programs, struct buf *out)
{
	json_t *row, *effect;
	size_t i, k;

	buf_adds(out, "const struct blocklist_effect blocklist_effects[] = {\n");
	json_array_foreach(programs, i, row) {
		json_array_foreach(json_object_get(row, "effects"), k, effect) {
			buf_adds(out, "\t{");
			gen_blocklist_text(out, "name", gen_member(effect, "effect"));
			gen_blocklist_text(out, "operands", gen_member(effect, "operands"));
			gen_blocklist_spaced(out, "need", gen_member(effect, "need"));
			gen_blocklist_spaced(out, "unless", gen_member(effect, "unless"));
			buf_adds(out, " },\n");
		}
		buf_adds(out, "\t{ .name = { 0 } },\n");
	}
	buf_adds(out, "};\n\n");
}

static void gen_blocklist_emit_programs(const json_t *programs, struct buf *out)
{
	size_t i, effects = 0;
	json_t *row;

	gen_blocklist_emit_effects(programs, out);
	buf_adds(out, "const struct blocklist_program blocklist_programs[] = {\n");
	json_array_foreach(programs, i, row) {
		buf_adds(out, "\t{");
		gen_blocklist_spaced(out, "values", gen_member(row, "values"));
		gen_blocklist_spaced(out, "inert", gen_member(row, "inert"));
		buf_addf(out, " .effects = %zu },\n", effects);
		effects += json_array_size(json_object_get(row, "effects")) + 1;
	}
	buf_adds(out, "};\n\n");
}

/* An option for shell text takes a value, except the -c of a shell, which is a flag. */
static void gen_blocklist_wrapper_values(const json_t *row, struct buf *out)
{
	const char *values = gen_member(row, "values"), *text = gen_member(row, "text");
	struct buf b;

	buf_init(&b, 1u << 16);
	buf_addf(&b, "%s%s", values ? values : "", values && text ? " " : "");
	if (text && strcmp(gen_member(row, "kind"), "shell"))
		buf_adds(&b, text);
	gen_blocklist_spaced(out, "values", b.len ? b.data : NULL);
	buf_release(&b);
}

static void gen_blocklist_emit_wrappers(const json_t *wrappers, struct buf *out)
{
	static const char *const flags[] = { "assigns", "remote", "feeds", "lenient", "login",
					     "multicall" };
	char kind[GEN_PATH_MAX];
	json_t *row;
	size_t i;

	buf_adds(out, "const struct blocklist_wrapper blocklist_wrappers[] = {\n");
	json_array_foreach(wrappers, i, row) {
		gen_upper(gen_member(row, "kind"), kind);
		buf_addf(out, "\t{ .kind = WRAPPER_%s,", kind);
		gen_blocklist_wrapper_values(row, out);
		gen_blocklist_spaced(out, "text", gen_member(row, "text"));
		gen_blocklist_spaced(out, "inert", gen_member(row, "inert"));
		gen_blocklist_spaced(out, "directory", gen_member(row, "directory"));
		buf_addf(out, " .skip = %lld,",
			 (long long)json_integer_value(json_object_get(row, "skip")));
		for (size_t k = 0; k < COUNT_OF(flags); k++)
			gen_blocklist_flag(out, row, flags[k]);
		buf_adds(out, " },\n");
	}
	buf_adds(out, "};\n\n");
}

/* The set of classes that @text names, as bits. */
static unsigned long long gen_blocklist_target_bits(const json_t *targets, const char *text)
{
	unsigned long long bits = 0;
	json_t *row;
	size_t i;

	if (!text)
		return 0;
	json_array_foreach(targets, i, row) {
		char word[GEN_PATH_MAX], list[GEN_PATH_MAX];

		snprintf(word, sizeof(word), " %s ", gen_member(row, "name"));
		snprintf(list, sizeof(list), " %s ", text);
		if (strstr(list, word))
			bits |= 1ull << i;
	}
	return bits;
}

static void gen_blocklist_emit_rules(const struct gen *g, struct buf *out)
{
	const json_t *rules = json_object_get(g->blocklist, "rules"), *targets;
	json_t *row;
	size_t i;

	targets = json_object_get(g->blocklist, "targets");
	buf_adds(out, "const struct blocklist_rule blocklist_rules[] = {\n");
	json_array_foreach(rules, i, row) {
		buf_addf(out, "\t{ /* %s */", gen_member(row, "id"));
		gen_blocklist_text(out, "id", gen_member(row, "id"));
		gen_blocklist_spaced(out, "effects", gen_member(row, "effects"));
		gen_blocklist_list(out, row, "need", true);
		gen_blocklist_spaced(out, "forbid", gen_member(row, "forbid"));
		gen_blocklist_list(out, row, "words", true);
		buf_addf(out, " .targets = 0x%llx,",
			 gen_blocklist_target_bits(targets, gen_member(row, "targets")));
		gen_blocklist_text(out, "operands", gen_member(row, "operands"));
		gen_blocklist_flag(out, row, "guess");
		gen_blocklist_flag(out, row, "operandless");
		gen_blocklist_flag(out, row, "always");
		gen_blocklist_text(out, "reason", gen_member(row, "reason"));
		gen_blocklist_text(out, "suggestion", gen_member(row, "suggestion"));
		buf_adds(out, " },\n");
	}
	buf_addf(out, "};\nconst unsigned blocklist_rule_count = %zu;\n\n", i);
}

/* ---- names ---- */

static struct name names[NAMES_MAX];
static size_t name_count;

static struct name *gen_blocklist_name_add(const struct gen_at *at, const char *text, size_t len)
{
	for (size_t i = 0; i < name_count; i++)
		if (strlen(names[i].text) == len && !memcmp(names[i].text, text, len))
			return &names[i];
	if (name_count == NAMES_MAX || len >= sizeof(names[0].text))
		gen_fail(at, "too many names, or one that is too long: %.*s", (int)len, text);
	names[name_count] = (struct name){ .program = -1, .wrapper = -1, .flow_words = -1 };
	memcpy(names[name_count].text, text, len);
	return &names[name_count++];
}

static void gen_blocklist_set_once(const struct gen_at *at, const char *name, int *slot, size_t row)
{
	if (*slot >= 0)
		gen_fail(at, "\"%s\" is there twice", name);
	*slot = (int)row;
}

static void gen_blocklist_add_flow(const struct gen_at *at, struct name *name, const json_t *row,
				   size_t i)
{
	const char *kind = gen_member(row, "kind"), *words = gen_member(row, "words");
	char upper[GEN_PATH_MAX];
	char *list = words ? name->flow_if : name->flows;
	size_t len = strlen(list);
	int added;

	gen_upper(kind, upper);
	added = snprintf(list + len, GEN_PATH_MAX - len, "%sFLOW_KIND_%s", len ? " | " : "", upper);
	if (added < 0 || (size_t)added >= GEN_PATH_MAX - len)
		gen_fail(at, "too many kinds for \"%s\"", name->text);
	if (words && name->flow_words >= 0)
		gen_fail(at, "\"%s\" has two kinds with words", name->text);
	if (words)
		name->flow_words = (int)i;
}

static void gen_blocklist_collect(const struct gen *g, const char *list, const char *key)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(g->blocklist, list), i, row) {
		struct gen_at at = gen_blocklist_row(list, i);
		const char *text = gen_member(row, key);

		for (size_t len; text && *text; text += len + (text[len] == ' ')) {
			struct name *name;

			len = strcspn(text, " ");
			name = gen_blocklist_name_add(&at, text, len);
			if (!strcmp(list, "programs"))
				gen_blocklist_set_once(&at, name->text, &name->program, i);
			if (!strcmp(list, "wrappers"))
				gen_blocklist_set_once(&at, name->text, &name->wrapper, i);
			if (!strcmp(list, "flows"))
				gen_blocklist_add_flow(&at, name, row, i);
		}
	}
}

static int gen_blocklist_by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Numbers of the rules with name @n among their commands. Returns how many, the end counted. */
static size_t gen_blocklist_emit_name_rules(const struct gen *g, size_t n, struct buf *out)
{
	size_t i, count = 1;
	json_t *row;

	buf_addc(out, '\t');
	json_array_foreach(json_object_get(g->blocklist, "rules"), i, row) {
		const char *text = gen_member(row, "commands");
		struct buf list, word;

		if (!text)
			continue;
		buf_init(&list, 1u << 16);
		buf_init(&word, 256);
		buf_addf(&list, " %s ", text);
		buf_addf(&word, " %s ", names[n].text);
		if (strstr(list.data, word.data)) {
			buf_addf(out, "%zu, ", i);
			count++;
		}
		buf_release(&list);
		buf_release(&word);
	}
	buf_adds(out, "BLOCKLIST_NONE,\n");
	return count;
}

static void gen_blocklist_emit_flow_words(const struct gen *g, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_adds(out, "const struct strtab_text blocklist_flow_words[] = {\n");
	json_array_foreach(json_object_get(g->blocklist, "flows"), i, row) {
		buf_addc(out, '\t');
		gen_blocklist_words(out, gen_member(row, "words"));
		buf_addc(out, '\n');
	}
	buf_adds(out, "};\n\n");
}

static void gen_blocklist_emit_row_number(struct buf *out, int row)
{
	if (row >= 0)
		buf_addf(out, "%d, ", row);
	else
		buf_adds(out, "BLOCKLIST_NONE, ");
}

static void gen_blocklist_collect_names(const struct gen *g)
{
	name_count = 0;
	gen_blocklist_collect(g, "programs", "names");
	gen_blocklist_collect(g, "wrappers", "names");
	gen_blocklist_collect(g, "flows", "names");
	gen_blocklist_collect(g, "rules", "commands");
	qsort(names, name_count, sizeof(names[0]), gen_blocklist_by_text);
}

static void gen_blocklist_emit_rule_lists(const struct gen *g, struct buf *out)
{
	size_t at = 0;

	buf_adds(out, "const uint16_t blocklist_name_rules[] = {\n");
	for (size_t n = 0; n < name_count; n++) {
		names[n].rules = at;
		at += gen_blocklist_emit_name_rules(g, n, out);
	}
	buf_adds(out, "};\n\n");
}

static void gen_blocklist_emit_names(struct buf *out)
{
	buf_adds(out, "const struct blocklist_name blocklist_names[] = {\n");
	for (size_t n = 0; n < name_count; n++) {
		buf_addf(out, "\t{ \"%s\", ", names[n].text);
		gen_blocklist_emit_row_number(out, names[n].program);
		gen_blocklist_emit_row_number(out, names[n].wrapper);
		buf_addf(out, "%zu, ", names[n].rules);
		gen_blocklist_emit_row_number(out, names[n].flow_words);
		buf_addf(out, "%s, %s },\n", names[n].flows[0] ? names[n].flows : "0",
			 names[n].flow_if[0] ? names[n].flow_if : "0");
	}
	buf_addf(out, "};\nconst unsigned blocklist_name_count = %zu;\n\n", name_count);
}

static void gen_blocklist_emit_examples(const json_t *rules, struct buf *out)
{
	static const char *const lists[] = { "examples", "counterexamples" };
	json_t *row, *text;
	size_t i, k, count = 0;

	buf_adds(out, "const struct blocklist_example blocklist_examples[] = {\n");
	json_array_foreach(rules, i, row)
		for (size_t l = 0; l < COUNT_OF(lists); l++)
			json_array_foreach(json_object_get(row, lists[l]), k, text) {
				buf_addf(out, "\t{ \"%s\", ", gen_member(row, "id"));
				gen_literal(out, json_string_value(text), 2);
				buf_adds(out, l ? ", false },\n" : ", true },\n");
				count++;
			}
	buf_addf(out, "};\nconst unsigned blocklist_example_count = %zu;\n", count);
}

void gen_blocklist_c(const struct gen *g, struct buf *out)
{
	buf_adds(out, GEN_HEADER "#include \"blocklist/command/table.h\"\n\n");
	gen_blocklist_emit_targets(json_object_get(g->blocklist, "targets"), out);
	gen_blocklist_emit_programs(json_object_get(g->blocklist, "programs"), out);
	gen_blocklist_emit_wrappers(json_object_get(g->blocklist, "wrappers"), out);
	gen_blocklist_emit_rules(g, out);
	gen_blocklist_collect_names(g);
	gen_blocklist_emit_flow_words(g, out);
	gen_blocklist_emit_rule_lists(g, out);
	gen_blocklist_emit_names(out);
}

/* The examples, in a file that only src/gen/examples.c is linked with. */
void gen_blocklist_examples_c(const struct gen *g, struct buf *out)
{
	buf_adds(out, GEN_HEADER "#include <stdbool.h>\n\n"
		 "#include \"blocklist/command/table.h\"\n\n");
	gen_blocklist_emit_examples(json_object_get(g->blocklist, "rules"), out);
}
