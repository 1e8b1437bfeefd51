/* The texts of the tables (base/strtab.h): each once, also where one ends another. */
#include "gen/gen.h"

#include <string.h>

#define STRTAB_MAX (1u << 20)

static struct buf texts; /* the table; its first byte is no text's */

/* Add the offset of the @len bytes of @text, which a NUL follows, to @out. */
static void gen_strtab_add(struct buf *out, const char *text, size_t len)
{
	const char *found;

	if (!texts.data) {
		buf_init(&texts, STRTAB_MAX);
		buf_addc(&texts, '\0');
	}
	found = memmem(texts.data + 1, texts.len - 1, text, len + 1);
	if (!found) {
		buf_add(&texts, text, len + 1);
		found = texts.data + texts.len - (len + 1);
	}
	buf_addf(out, "{ %zu }", (size_t)(found - texts.data));
}

void gen_strtab_text(struct buf *out, const char *text)
{
	if (text)
		gen_strtab_add(out, text, strlen(text));
	else
		buf_adds(out, "{ 0 }");
}

void gen_strtab_list(struct buf *out, const json_t *list, bool spaced)
{
	struct buf joined;
	json_t *text;
	size_t i;

	if (!json_array_size(list)) {
		buf_adds(out, "{ 0 }");
		return;
	}
	buf_init(&joined, STRTAB_MAX);
	json_array_foreach(list, i, text) {
		buf_addf(&joined, spaced ? " %s " : "%s", json_string_value(text));
		buf_addc(&joined, '\0');
	}
	gen_strtab_add(out, joined.data, joined.len);
	buf_release(&joined);
}

void gen_strtab_c(const struct gen *g, struct buf *out)
{
	const struct gen_at at = { .file = "strtab.c" };

	(void)g;
	if (texts.full)
		gen_fail(&at, "the texts take more than %u bytes", STRTAB_MAX);
	buf_adds(out, GEN_HEADER "#include \"base/strtab.h\"\n\nconst char strtab[] =\n");
	for (size_t i = 0; i < texts.len; i += strlen(texts.data + i) + 1) {
		buf_addc(out, '\t');
		gen_literal(out, texts.data + i, 1);
		buf_adds(out, " \"\\0\"\n");
	}
	buf_adds(out, "\t;\n");
}
