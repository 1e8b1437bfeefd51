/*
 * procpen-gen SCHEMA_DIR BUILD_DIR: reads schema/, checks it, and writes
 * BUILD_DIR/include/gen/{errors,config,caps,cli}.h, and in BUILD_DIR/gen:
 * {errors,config,caps,cli,blocklist,blocklist_examples,packs,openrpc,strtab}.c, openrpc.json,
 * reference.md, packs.md, complete.{bash,zsh,fish} and the man pages in man/.
 *
 * Every file in schema/ is a capability, except errors, config, audit, blocklist, messages
 * and cli. Every file in schema/packs is a set of rules.
 */
#include "gen/gen.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define OUTPUT_MAX (4u << 20)

static const struct output {
	const char *path;
	void (*emit)(const struct gen *g, struct buf *out);
} outputs[] = {
	{ "include/gen/errors.h", gen_errors_h },
	{ "include/gen/config.h", gen_config_h },
	{ "include/gen/caps.h", gen_caps_h },
	{ "include/gen/cli.h", gen_cli_h },
	{ "gen/errors.c", gen_errors_c },
	{ "gen/config.c", gen_config_c },
	{ "gen/caps.c", gen_caps_c },
	{ "gen/cli.c", gen_cli_c },
	{ "gen/blocklist.c", gen_blocklist_c },
	{ "gen/blocklist_examples.c", gen_blocklist_examples_c },
	{ "gen/packs.c", gen_packs_c },
	{ "gen/openrpc.c", gen_openrpc_c },
	{ "gen/strtab.c", gen_strtab_c },
	{ "gen/openrpc.json", gen_openrpc_json },
	{ "gen/reference.md", gen_reference },
	{ "gen/packs.md", gen_packs_page },
	{ "gen/complete.bash", gen_complete_bash },
	{ "gen/complete.zsh", gen_complete_zsh },
	{ "gen/complete.fish", gen_complete_fish },
	{ "gen/man/procpen.1", gen_man_overview },
	{ "gen/man/procpen.json.5", gen_man_configuration },
	{ "gen/man/procpen-options.7", gen_man_options },
};

static json_t *gen_load(const struct gen *g, const char *file)
{
	struct gen_at at = { .file = file };
	char path[GEN_PATH_MAX * 2];
	json_error_t error;
	json_t *value;

	snprintf(path, sizeof(path), "%s/%s", g->schema_dir, file);
	value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!value)
		gen_fail(&at, "line %d: %s", error.line, error.text);
	return value;
}

static int gen_is_pack_file(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && !strcmp(entry->d_name + len - 5, ".json");
}

static int gen_is_cap_file(const struct dirent *entry)
{
	static const char *const others[] = { "errors.json", "config.json", "audit.json",
						"blocklist.json", "messages.json", "cli.json" };

	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (!strcmp(entry->d_name, others[i]))
			return 0;
	return gen_is_pack_file(entry);
}

static json_int_t gen_cap_order(const json_t *cap)
{
	return json_integer_value(json_object_get(cap, "order"));
}

/* Read and check every capability, and keep them in the order of tools/list. */
static void gen_load_caps(struct gen *g)
{
	struct gen_at at = { .file = g->schema_dir };
	struct dirent **entries;
	int n = scandir(g->schema_dir, &entries, gen_is_cap_file, alphasort);

	if (n < 0)
		gen_fail(&at, "%s", strerror(errno));
	if (n > GEN_FILES_MAX)
		gen_fail(&at, "more than %d capabilities", GEN_FILES_MAX);
	for (int i = 0; i < n; i++) {
		json_t *cap = gen_load(g, entries[i]->d_name);
		int slot = g->cap_count;

		gen_check_cap(g, entries[i]->d_name, cap);
		at.file = entries[i]->d_name;
		for (; slot > 0 && gen_cap_order(g->caps[slot - 1]) >= gen_cap_order(cap); slot--) {
			if (gen_cap_order(g->caps[slot - 1]) == gen_cap_order(cap))
				gen_fail(&at, "order is taken by %s",
					 gen_str(&at, g->caps[slot - 1], "name"));
			g->caps[slot] = g->caps[slot - 1];
		}
		g->caps[slot] = cap;
		g->cap_count++;
		free(entries[i]);
	}
	free(entries);
}

static void gen_load_packs(struct gen *g)
{
	struct gen_at at = { .file = "packs" };
	char path[GEN_PATH_MAX];
	struct dirent **entries;
	int n;

	snprintf(path, sizeof(path), "%s/packs", g->schema_dir);
	n = scandir(path, &entries, gen_is_pack_file, alphasort);
	if (n < 0)
		gen_fail(&at, "%s", strerror(errno));
	g->packs = json_array();
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "packs/%.200s", entries[i]->d_name);
		json_array_append_new(g->packs, gen_load(g, path));
		free(entries[i]);
	}
	free(entries);
	gen_check_packs(g);
}

/* Put an option for the tier of each capability before the other options. */
static void gen_add_tier_options(struct gen *g)
{
	for (int i = 0; i < g->cap_count; i++) {
		const char *name = gen_member(g->caps[i], "name");
		json_t *row = json_pack(
			"{s:s+, s:s, s:s, s:[s,s,s,s,s], s:s, s:s++++}", "name", "tier.", name,
			"type", "enum", "narrow", "later", "choices", "default", "autonomous",
			"notify", "confirm", "deny", "default", "default", "text",
			"Permission tier of ", name, "; default: ", gen_member(g->caps[i], "tier"),
			".");

		json_array_insert_new(g->config, (size_t)i, row);
	}
}

/* In the member @member of all @rows put @names for @mark. */
static void gen_name_all(json_t *rows, const char *member, const char *mark,
			 const struct buf *names)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *text = gen_member(row, member), *at = strstr(text, mark);

		if (at)
			json_object_set_new(row, member,
					    json_sprintf("%.*s%.*s%s", (int)(at - text), text,
							 (int)names->len, names->data,
							 at + strlen(mark)));
	}
}

static void gen_name_capabilities(struct gen *g)
{
	struct buf names;

	buf_init(&names, OUTPUT_MAX);
	for (int i = 0; i < g->cap_count; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", gen_member(g->caps[i], "name"));
	gen_name_all(g->errors, "hint", "{capabilities}", &names);
	buf_release(&names);
}

static void gen_name_packs(struct gen *g)
{
	struct buf names;
	json_t *pack;
	size_t i;

	buf_init(&names, OUTPUT_MAX);
	json_array_foreach(g->packs, i, pack)
		buf_addf(&names, "%s%s", i ? ", " : "", gen_member(pack, "name"));
	gen_name_all(g->config, "text", "{packs}", &names);
	buf_release(&names);
}

static bool gen_file_has(const char *path, const struct buf *content)
{
	FILE *f = fopen(path, "rb");
	char *have;
	size_t len;

	if (!f)
		return false;
	have = mem_zalloc(content->len + 1);
	len = fread(have, 1, content->len + 1, f);
	fclose(f);
	len = len == content->len && !memcmp(have, content->data, len);
	free(have);
	return len;
}

static void gen_make_folders(const char *path)
{
	char folder[GEN_PATH_MAX * 2];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		mkdir(folder, 0777);
	}
}

static void gen_write_output(const char *build_dir, const char *name, const struct buf *content)
{
	struct gen_at at = { .file = name };
	char path[GEN_PATH_MAX * 2];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", build_dir, name);
	if (content->full)
		gen_fail(&at, "larger than %u bytes", OUTPUT_MAX);
	if (gen_file_has(path, content))
		return;
	gen_make_folders(path);
	f = fopen(path, "wb");
	if (!f || fwrite(content->data, 1, content->len, f) != content->len || fclose(f))
		gen_fail(&at, "cannot write: %s", strerror(errno));
}

static void gen_write_outputs(const struct gen *g, const char *build_dir)
{
	for (size_t i = 0; i < COUNT_OF(outputs); i++) {
		struct buf content;

		buf_init(&content, OUTPUT_MAX);
		outputs[i].emit(g, &content);
		gen_write_output(build_dir, outputs[i].path, &content);
		buf_release(&content);
	}
}

/* A man page for each command. */
static void gen_write_pages(const struct gen *g, const char *build_dir)
{
	json_t *command;
	size_t i;

	json_array_foreach(gen_cli_commands(g), i, command) {
		char name[GEN_PATH_MAX];
		struct buf content;

		snprintf(name, sizeof(name), "gen/man/procpen-%s.1", gen_member(command, "name"));
		buf_init(&content, OUTPUT_MAX);
		gen_man_command(g, command, &content);
		gen_write_output(build_dir, name, &content);
		buf_release(&content);
	}
}

int main(int argc, char **argv)
{
	struct gen g = { 0 };

	if (argc != 3) {
		fprintf(stderr, "usage: procpen-gen SCHEMA_DIR BUILD_DIR\n");
		return 2;
	}
	g.schema_dir = argv[1];
	g.errors = gen_load(&g, "errors.json");
	gen_check_errors(&g);
	g.config = gen_load(&g, "config.json");
	gen_check_config(&g);
	g.blocklist = gen_load(&g, "blocklist.json");
	gen_check_blocklist(&g);
	g.messages = gen_load(&g, "messages.json");
	gen_check_messages(&g);
	gen_load_packs(&g);
	gen_load_caps(&g);
	g.cli = gen_load(&g, "cli.json");
	gen_check_cli(&g);
	gen_add_tier_options(&g);
	gen_name_capabilities(&g);
	gen_name_packs(&g);

	gen_write_outputs(&g, argv[2]);
	gen_write_pages(&g, argv[2]);
	json_decref(g.errors);
	json_decref(g.config);
	json_decref(g.blocklist);
	json_decref(g.messages);
	json_decref(g.cli);
	json_decref(g.packs);
	for (int i = 0; i < g.cap_count; i++)
		json_decref(g.caps[i]);
	return 0;
}
