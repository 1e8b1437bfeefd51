/* schema/blocklist.json: checks it, and writes the rule tables of the blocklist. */
#include "gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define HEADER "/* Generated from schema/ by src/gen. */\n"
#define FILE_NAME "blocklist.json"
#define NAMES_MAX 4096
#define TARGETS_MAX 64

/* One name of a program, and what is said of it. -1: nothing. */
struct name {
	char text[64];
	int program, wrapper;
	char flows[GEN_PATH_MAX]; /* "FLOW_KIND_A | FLOW_KIND_B" */
};

static struct gen_at at_row(const char *list, size_t i)
{
	struct gen_at top = { .file = FILE_NAME }, row;
	char name[48];

	snprintf(name, sizeof(name), "%s[%zu]", list, i);
	row = gen_below(&top, name);
	return row;
}

static const char *member(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name));
}

/* ---- checks ---- */

/* Strings of single words with single spaces between them. */
static void check_words(const struct gen_at *at, const json_t *row, const char *name)
{
	const char *text = gen_str_or(at, row, name, NULL);

	if (!text)
		return;
	if (text[0] == ' ' || text[strlen(text) - 1] == ' ' || strstr(text, "  "))
		gen_fail(at, "\"%s\" must be words with single spaces between them", name);
}

static void check_strings(const struct gen_at *at, const json_t *row, const char *name)
{
	const json_t *list = json_object_get(row, name);
	json_t *text;
	size_t i;

	if (list && !json_is_array(list))
		gen_fail(at, "\"%s\" must be a list of strings", name);
	json_array_foreach(list, i, text)
		if (!json_is_string(text))
			gen_fail(at, "\"%s\" must be a list of strings", name);
}

static void check_boolean(const struct gen_at *at, const json_t *row, const char *name)
{
	const json_t *value = json_object_get(row, name);

	if (value && !json_is_boolean(value))
		gen_fail(at, "\"%s\" must be true or false", name);
}

/* A set of positions in a component is kept in 64 bits. */
static void check_paths(const struct gen_at *at, const json_t *row, const char *name)
{
	json_t *text;
	size_t i;

	check_strings(at, row, name);
	json_array_foreach(json_object_get(row, name), i, text)
		if (json_string_length(text) >= 60)
			gen_fail(at, "\"%s\" is too long", json_string_value(text));
}

static void check_text(const struct gen_at *at, const json_t *row, const char *name)
{
	gen_str(at, row, name);
}

static void check_names(const struct gen_at *at, const json_t *row, const char *name)
{
	check_text(at, row, name);
	check_words(at, row, name);
}

static void check_kind(const struct gen_at *at, const json_t *row, const char *name)
{
	static const char *const known[] = { "run", "shell", "text", "option", "scan", "code",
					     NULL };
	const char *const *kind = known;
	const char *text = gen_str(at, row, name);

	while (*kind && strcmp(*kind, text))
		kind++;
	if (!*kind)
		gen_fail(at, "%s \"%s\" is not known", name, text);
}

/* What a row may have, and how that is checked (NULL: where it is used). */
struct field {
	const char *name;
	void (*check)(const struct gen_at *at, const json_t *row, const char *name);
};
#define FIELDS_MAX 20

static void check_row(const struct gen_at *at, json_t *row, const struct field *fields)
{
	const char *known[FIELDS_MAX + 1] = { NULL };

	for (size_t i = 0; i < FIELDS_MAX && fields[i].name; i++)
		known[i] = fields[i].name;
	gen_only(at, row, known);
	for (size_t i = 0; i < FIELDS_MAX && fields[i].name; i++)
		if (fields[i].check)
			fields[i].check(at, row, fields[i].name);
}

static void check_effects(const struct gen_at *at, const json_t *row, const char *name)
{
	static const struct field fields[FIELDS_MAX] = {
		{ "effect", check_text },
		{ "operands", check_text },
		{ "need", check_words },
		{ "unless", check_words },
	};
	json_t *effect;
	size_t i;

	json_array_foreach(json_object_get(row, name), i, effect)
		check_row(at, effect, fields);
}

/* A flow's kind is a constant of the table's header: a wrong one does not compile. */
static const struct section {
	const char *name;
	struct field fields[FIELDS_MAX];
} sections[] = {
	{ "targets", {
		{ "name", check_text }, { "text", check_text },
		{ "paths", check_paths }, { "except", check_paths },
		{ "tree", check_boolean }, { "empty", check_boolean }, { "guess", check_boolean },
	} },
	{ "programs", {
		{ "names", check_names }, { "values", check_words }, { "inert", check_words },
		{ "effects", check_effects },
	} },
	{ "wrappers", {
		{ "names", check_names }, { "kind", check_kind },
		{ "values", check_words }, { "text", check_words },
		{ "inert", NULL }, { "skip", NULL }, { "directory", NULL }, { "assigns", NULL },
		{ "remote", NULL }, { "feeds", NULL }, { "lenient", NULL }, { "login", NULL },
		{ "multicall", NULL },
	} },
	{ "flows", {
		{ "kind", check_text }, { "names", check_names },
	} },
	{ "rules", {
		{ "id", check_text }, { "protects", check_text },
		{ "reason", check_text }, { "suggestion", check_text },
		{ "commands", check_words }, { "effects", check_words },
		{ "need", check_strings }, { "words", check_strings },
		{ "examples", check_strings }, { "counterexamples", check_strings },
		{ "forbid", NULL }, { "targets", NULL }, { "operands", NULL }, { "guess", NULL },
		{ "operandless", NULL },
	} },
};

static bool known_target(const struct gen *g, const char *name, size_t len)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(g->blocklist, "targets"), i, row)
		if (strlen(member(row, "name")) == len && !memcmp(member(row, "name"), name, len))
			return true;
	return false;
}

static void check_rule_targets(const struct gen *g, const struct gen_at *at, const json_t *row)
{
	const char *text = gen_str_or(at, row, "targets", "");

	for (size_t len; *text; text += len + (text[len] == ' ')) {
		len = strcspn(text, " ");
		if (!known_target(g, text, len))
			gen_fail(at, "target \"%.*s\" is not known", (int)len, text);
	}
}

/* Beyond its fields. */
static void check_rule(const struct gen *g, const struct gen_at *at, const json_t *row)
{
	if (!member(row, "commands") == !member(row, "effects"))
		gen_fail(at, "needs either \"commands\" or \"effects\"");
	check_rule_targets(g, at, row);
}

static void check_unique_ids(const json_t *rules)
{
	json_t *row, *other;
	size_t i, k;

	json_array_foreach(rules, i, row) {
		struct gen_at at = at_row("rules", i);

		json_array_foreach(rules, k, other)
			if (k < i && !strcmp(member(row, "id"), member(other, "id")))
				gen_fail(&at, "the id \"%s\" is taken", member(row, "id"));
	}
}

static void check_section(const struct gen *g, const struct section *section)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(g->blocklist, section->name), i, row) {
		struct gen_at at = at_row(section->name, i);

		check_row(&at, row, section->fields);
		if (!strcmp(section->name, "targets") && i >= TARGETS_MAX)
			gen_fail(&at, "more than %d classes", TARGETS_MAX);
		if (!strcmp(section->name, "rules"))
			check_rule(g, &at, row);
	}
}

void gen_check_blocklist(const struct gen *g)
{
	const char *known[COUNT_OF(sections) + 1] = { NULL };
	struct gen_at top = { .file = FILE_NAME };

	for (size_t i = 0; i < COUNT_OF(sections); i++)
		known[i] = sections[i].name;
	gen_only(&top, g->blocklist, known);
	for (size_t i = 0; i < COUNT_OF(sections); i++)
		check_section(g, &sections[i]);
	check_unique_ids(json_object_get(g->blocklist, "rules"));
}

/* ---- the tables ---- */

static void literal_or_null(struct buf *out, const char *text)
{
	if (text)
		gen_literal(out, text, 2);
	else
		buf_adds(out, "NULL");
}

/* A list of words with a space at both ends, so that " word " is found in it. */
static void spaced(struct buf *out, const char *name, const char *text)
{
	struct buf b;

	buf_addf(out, " .%s = ", name);
	if (!text) {
		buf_adds(out, "NULL,");
		return;
	}
	buf_init(&b, 1u << 16);
	buf_addf(&b, " %s ", text);
	gen_literal(out, b.data, 2);
	buf_addc(out, ',');
	buf_release(&b);
}

/* static const char *const NAME[] = { ... }; with @space around each. */
static void string_list(struct buf *out, const char *name, size_t i, const json_t *list, bool space)
{
	json_t *text;
	size_t k;

	buf_addf(out, "static const char *const %s_%zu[] = {", name, i);
	json_array_foreach(list, k, text) {
		struct buf b;

		buf_init(&b, 1u << 16);
		buf_addf(&b, space ? " %s " : "%s", json_string_value(text));
		buf_adds(out, "\n\t");
		gen_literal(out, b.data, 2);
		buf_addc(out, ',');
		buf_release(&b);
	}
	buf_adds(out, "\n\tNULL };\n");
}

static void flag(struct buf *out, const json_t *row, const char *name)
{
	if (json_is_true(json_object_get(row, name)))
		buf_addf(out, " .%s = true,", name);
}

static void emit_targets(const json_t *targets, struct buf *out)
{
	json_t *row;
	size_t i;

	json_array_foreach(targets, i, row) {
		string_list(out, "paths", i, json_object_get(row, "paths"), false);
		string_list(out, "except", i, json_object_get(row, "except"), false);
	}
	buf_adds(out, "\nconst struct blocklist_target blocklist_targets[] = {\n");
	json_array_foreach(targets, i, row) {
		buf_addf(out, "\t{ .name = \"%s\", .text = ", member(row, "name"));
		gen_literal(out, member(row, "text"), 2);
		buf_addf(out, ", .paths = paths_%zu, .except = except_%zu,", i, i);
		flag(out, row, "tree");
		flag(out, row, "empty");
		flag(out, row, "guess");
		buf_adds(out, " },\n");
	}
	buf_addf(out, "};\nconst unsigned blocklist_target_count = %zu;\n\n", i);
}

static void emit_effects(const json_t *programs, struct buf *out)
{
	json_t *row, *effect;
	size_t i, k;

	json_array_foreach(programs, i, row) {
		buf_addf(out, "static const struct blocklist_effect effects_%zu[] = {\n", i);
		json_array_foreach(json_object_get(row, "effects"), k, effect) {
			buf_addf(out, "\t{ .name = \"%s\", .operands = \"%s\",",
				 member(effect, "effect"), member(effect, "operands"));
			spaced(out, "need", member(effect, "need"));
			spaced(out, "unless", member(effect, "unless"));
			buf_adds(out, " },\n");
		}
		buf_adds(out, "\t{ .name = NULL },\n};\n");
	}
}

static void emit_programs(const json_t *programs, struct buf *out)
{
	json_t *row;
	size_t i;

	emit_effects(programs, out);
	buf_adds(out, "static const struct blocklist_program programs[] = {\n");
	json_array_foreach(programs, i, row) {
		buf_adds(out, "\t{");
		spaced(out, "values", member(row, "values"));
		spaced(out, "inert", member(row, "inert"));
		buf_addf(out, " .effects = effects_%zu },\n", i);
	}
	buf_adds(out, "};\n\n");
}

/* An option that holds text takes a value; but a shell's -c is a flag. */
static void wrapper_values(const json_t *row, struct buf *out)
{
	const char *values = member(row, "values"), *text = member(row, "text");
	struct buf b;

	buf_init(&b, 1u << 16);
	buf_addf(&b, "%s%s", values ? values : "", values && text ? " " : "");
	if (text && strcmp(member(row, "kind"), "shell"))
		buf_adds(&b, text);
	spaced(out, "values", b.len ? b.data : NULL);
	buf_release(&b);
}

static void emit_wrappers(const json_t *wrappers, struct buf *out)
{
	static const char *const flags[] = { "assigns", "remote", "feeds", "lenient", "login",
					     "multicall" };
	char kind[GEN_PATH_MAX];
	json_t *row;
	size_t i;

	buf_adds(out, "static const struct blocklist_wrapper wrappers[] = {\n");
	json_array_foreach(wrappers, i, row) {
		gen_upper(member(row, "kind"), kind);
		buf_addf(out, "\t{ .kind = WRAPPER_%s,", kind);
		wrapper_values(row, out);
		spaced(out, "text", member(row, "text"));
		spaced(out, "inert", member(row, "inert"));
		spaced(out, "directory", member(row, "directory"));
		buf_addf(out, " .skip = %lld,",
			 (long long)json_integer_value(json_object_get(row, "skip")));
		for (size_t k = 0; k < COUNT_OF(flags); k++)
			flag(out, row, flags[k]);
		buf_adds(out, " },\n");
	}
	buf_adds(out, "};\n\n");
}

/* The set of classes that @text names, as bits. */
static unsigned long long target_bits(const json_t *targets, const char *text)
{
	unsigned long long bits = 0;
	json_t *row;
	size_t i;

	if (!text)
		return 0;
	json_array_foreach(targets, i, row) {
		char word[GEN_PATH_MAX], list[GEN_PATH_MAX];

		snprintf(word, sizeof(word), " %s ", member(row, "name"));
		snprintf(list, sizeof(list), " %s ", text);
		if (strstr(list, word))
			bits |= 1ull << i;
	}
	return bits;
}

static void emit_rules(const struct gen *g, struct buf *out)
{
	const json_t *rules = json_object_get(g->blocklist, "rules"), *targets;
	json_t *row;
	size_t i;

	targets = json_object_get(g->blocklist, "targets");
	json_array_foreach(rules, i, row) {
		string_list(out, "need", i, json_object_get(row, "need"), true);
		string_list(out, "words", i, json_object_get(row, "words"), true);
	}
	buf_adds(out, "\nconst struct blocklist_rule blocklist_rules[] = {\n");
	json_array_foreach(rules, i, row) {
		buf_addf(out, "\t{ .id = \"%s\",\n\t\t.protects = ", member(row, "id"));
		gen_literal(out, member(row, "protects"), 2);
		buf_addc(out, ',');
		spaced(out, "effects", member(row, "effects"));
		buf_addf(out, " .need = need_%zu,", i);
		spaced(out, "forbid", member(row, "forbid"));
		buf_addf(out, " .words = words_%zu, .targets = 0x%llx, .operands = ", i,
			 target_bits(targets, member(row, "targets")));
		literal_or_null(out, member(row, "operands"));
		buf_addc(out, ',');
		flag(out, row, "guess");
		flag(out, row, "operandless");
		buf_adds(out, "\n\t\t.reason = ");
		gen_literal(out, member(row, "reason"), 2);
		buf_adds(out, ",\n\t\t.suggestion = ");
		gen_literal(out, member(row, "suggestion"), 2);
		buf_adds(out, " },\n");
	}
	buf_addf(out, "};\nconst unsigned blocklist_rule_count = %zu;\n\n", i);
}

/* ---- names ---- */

static struct name names[NAMES_MAX];
static size_t name_count;

static struct name *name_add(const struct gen_at *at, const char *text, size_t len)
{
	for (size_t i = 0; i < name_count; i++)
		if (strlen(names[i].text) == len && !memcmp(names[i].text, text, len))
			return &names[i];
	if (name_count == NAMES_MAX || len >= sizeof(names[0].text))
		gen_fail(at, "too many names, or one that is too long: %.*s", (int)len, text);
	names[name_count] = (struct name){ .program = -1, .wrapper = -1 };
	memcpy(names[name_count].text, text, len);
	return &names[name_count++];
}

static void set_once(const struct gen_at *at, const char *name, int *slot, size_t row)
{
	if (*slot >= 0)
		gen_fail(at, "\"%s\" is there twice", name);
	*slot = (int)row;
}

static void add_flow(const struct gen_at *at, struct name *name, const char *kind)
{
	char upper[GEN_PATH_MAX];
	size_t len = strlen(name->flows);
	int added;

	gen_upper(kind, upper);
	added = snprintf(name->flows + len, sizeof(name->flows) - len, "%sFLOW_KIND_%s",
			     len ? " | " : "", upper);

	if (added < 0 || (size_t)added >= sizeof(name->flows) - len)
		gen_fail(at, "too many kinds for \"%s\"", name->text);
}

static void collect(const struct gen *g, const char *list, const char *key)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(g->blocklist, list), i, row) {
		struct gen_at at = at_row(list, i);
		const char *text = member(row, key);

		for (size_t len; text && *text; text += len + (text[len] == ' ')) {
			struct name *name;

			len = strcspn(text, " ");
			name = name_add(&at, text, len);
			if (!strcmp(list, "programs"))
				set_once(&at, name->text, &name->program, i);
			if (!strcmp(list, "wrappers"))
				set_once(&at, name->text, &name->wrapper, i);
			if (!strcmp(list, "flows"))
				add_flow(&at, name, member(row, "kind"));
		}
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Numbers of the rules that have @name among their commands. */
static void emit_name_rules(const struct gen *g, size_t n, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_addf(out, "static const uint16_t rules_%zu[] = {", n);
	json_array_foreach(json_object_get(g->blocklist, "rules"), i, row) {
		const char *text = member(row, "commands");
		struct buf list, word;

		if (!text)
			continue;
		buf_init(&list, 1u << 16);
		buf_init(&word, 256);
		buf_addf(&list, " %s ", text);
		buf_addf(&word, " %s ", names[n].text);
		if (strstr(list.data, word.data))
			buf_addf(out, " %zu,", i);
		buf_release(&list);
		buf_release(&word);
	}
	buf_adds(out, " UINT16_MAX };\n");
}

static void emit_names(const struct gen *g, struct buf *out)
{
	name_count = 0;
	collect(g, "programs", "names");
	collect(g, "wrappers", "names");
	collect(g, "flows", "names");
	collect(g, "rules", "commands");
	qsort(names, name_count, sizeof(names[0]), by_text);
	for (size_t n = 0; n < name_count; n++)
		emit_name_rules(g, n, out);
	buf_adds(out, "\nconst struct blocklist_name blocklist_names[] = {\n");
	for (size_t n = 0; n < name_count; n++) {
		buf_addf(out, "\t{ \"%s\", ", names[n].text);
		if (names[n].program >= 0)
			buf_addf(out, "&programs[%d], ", names[n].program);
		else
			buf_adds(out, "NULL, ");
		if (names[n].wrapper >= 0)
			buf_addf(out, "&wrappers[%d], ", names[n].wrapper);
		else
			buf_adds(out, "NULL, ");
		buf_addf(out, "%s, rules_%zu },\n", names[n].flows[0] ? names[n].flows : "0", n);
	}
	buf_addf(out, "};\nconst unsigned blocklist_name_count = %zu;\n\n", name_count);
}

static void emit_examples(const json_t *rules, struct buf *out)
{
	static const char *const lists[] = { "examples", "counterexamples" };
	json_t *row, *text;
	size_t i, k, count = 0;

	buf_adds(out, "const struct blocklist_example blocklist_examples[] = {\n");
	json_array_foreach(rules, i, row)
		for (size_t l = 0; l < COUNT_OF(lists); l++)
			json_array_foreach(json_object_get(row, lists[l]), k, text) {
				buf_addf(out, "\t{ \"%s\", ", member(row, "id"));
				gen_literal(out, json_string_value(text), 2);
				buf_adds(out, l ? ", false },\n" : ", true },\n");
				count++;
			}
	buf_addf(out, "};\nconst unsigned blocklist_example_count = %zu;\n", count);
}

void gen_blocklist_c(const struct gen *g, struct buf *out)
{
	buf_adds(out, HEADER "#include <stddef.h>\n\n#include \"guard/blocklist_table.h\"\n\n");
	emit_targets(json_object_get(g->blocklist, "targets"), out);
	emit_programs(json_object_get(g->blocklist, "programs"), out);
	emit_wrappers(json_object_get(g->blocklist, "wrappers"), out);
	emit_rules(g, out);
	emit_names(g, out);
}

/* In a file of their own, which only the check of the build is linked with. */
void gen_blocklist_examples_c(const struct gen *g, struct buf *out)
{
	buf_adds(out, HEADER "#include <stdbool.h>\n\n#include \"guard/blocklist_table.h\"\n\n");
	emit_examples(json_object_get(g->blocklist, "rules"), out);
}
