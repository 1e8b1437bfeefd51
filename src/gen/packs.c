/* The packs of rules, one file of schema/packs each: their rules as JSON text, which policy/rule
 * reads and checks as it does the operator's. */
#include "gen/gen.h"

#include <stdlib.h>

static void gen_packs_check(const struct gen_at *at, json_t *pack)
{
	static const char *const known[] = { "name", "text", "rules", NULL };

	gen_only(at, pack, known);
	gen_check_word(at, gen_str(at, pack, "name"));
	gen_str(at, pack, "text");
	gen_check_printable(at, pack);
	if (!json_array_size(json_object_get(pack, "rules")))
		gen_fail(at, "has no rules");
}

void gen_check_packs(const struct gen *g)
{
	json_t *pack;
	size_t i;

	json_array_foreach(g->packs, i, pack) {
		struct gen_at at = { .file = "packs" };

		at = gen_below(&at, gen_str(&at, pack, "name"));
		gen_packs_check(&at, pack);
	}
}

void gen_packs_c(const struct gen *g, struct buf *out)
{
	json_t *pack;
	size_t i;

	buf_adds(out, "/* Generated from schema/packs by src/gen. */\n"
		 "#include \"policy/rulebook.h\"\n\n"
		 "const struct rulebook_file rulebook_files[] = {\n");
	json_array_foreach(g->packs, i, pack) {
		char *rules = json_dumps(json_object_get(pack, "rules"), JSON_COMPACT);

		buf_addf(out, "\t{ \"%s\",\n\t\t", gen_member(pack, "name"));
		gen_literal(out, rules, 2);
		buf_adds(out, " },\n");
		free(rules);
	}
	buf_adds(out, "\t{ NULL, NULL },\n};\n");
}

static void gen_packs_page_rule(const json_t *rule, struct buf *out)
{
	const json_t *examples = json_object_get(rule, "examples");
	const char *c = json_string_value(json_array_get(examples, 0));

	buf_addf(out, "| `%s` | %s | %s | `", gen_member(rule, "id"), gen_member(rule, "reason"),
		 gen_member(rule, "suggestion"));
	for (; c && *c; c++)
		buf_addf(out, *c == '|' ? "\\|" : "%c", *c);
	buf_adds(out, "` |\n");
}

static void gen_packs_page_section(const json_t *pack, struct buf *out)
{
	const json_t *rule;
	size_t i;

	buf_addf(out, "\n## %s\n\n%s.\n\n| rule | decides because | instead | such as |\n"
		 "|---|---|---|---|\n", gen_member(pack, "name"), gen_member(pack, "text"));
	json_array_foreach(json_object_get(pack, "rules"), i, rule)
		gen_packs_page_rule(rule, out);
}

void gen_packs_page(const struct gen *g, struct buf *out)
{
	const json_t *pack;
	size_t i;

	buf_adds(out,
		 "<!-- Generated from schema/packs; `make docs` writes it. -->\n\n# Packs\n\n"
		 "Built-in sets of [rules](rules.md), all off until the operator turns them on, "
		 "each with one decision:\n\n"
		 "    procpen serve --set packs=git:confirm,db:deny\n\n"
		 "They are there for mistakes, not against malice: a pack knows the usual "
		 "commands of the usual tools.\nWhat is not known before a command runs "
		 "(`git push $FLAGS`) is not decided.\n`procpen policy explain 'COMMAND'` shows "
		 "which rules it was compared with.\n");
	json_array_foreach(g->packs, i, pack)
		gen_packs_page_section(pack, out);
}
