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
		gen_literal(out, gen_member(pack, "text"), 2);
		buf_adds(out, ",\n\t\t");
		gen_literal(out, rules, 2);
		buf_adds(out, " },\n");
		free(rules);
	}
	buf_adds(out, "\t{ NULL, NULL, NULL },\n};\n");
}
