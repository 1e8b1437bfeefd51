/*
 * The generator, run as a program on copies of schema/ with one thing changed.
 * Runs from the top of the repository, like every test.
 */
#include "unit.h"

#include <dirent.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "scratch.h"

#define GENERATOR "build/host/procpen-gen"
#define TEXT_MAX 400000

static struct scratch scratch;
static char text[TEXT_MAX], output[TEXT_MAX];

static const char *read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t len;

	if (!f)
		fail_msg("cannot open %s", path);
	len = fread(text, 1, sizeof(text) - 1, f);
	assert_true(len < sizeof(text) - 1);
	text[len] = '\0';
	fclose(f);
	return text;
}

static void copy_folder(const char *folder)
{
	struct dirent *entry;
	char path[128];
	DIR *d = opendir(folder);

	assert_non_null(d);
	scratch_mkdir(&scratch, folder);
	while ((entry = readdir(d))) {
		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%.20s/%.100s", folder, entry->d_name);
		scratch_file(&scratch, path, read_text(path), 0600);
	}
	closedir(d);
}

/* A fresh copy of schema/. */
static int setup(void **state)
{
	(void)state;
	scratch_init(&scratch);
	copy_folder("schema");
	copy_folder("schema/packs");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_release(&scratch);
	return 0;
}

/* Replace the first @from in schema/@file by @to. */
static void change(const char *file, const char *from, const char *to)
{
	static char changed[TEXT_MAX];
	char path[128];
	char *at;

	snprintf(path, sizeof(path), "schema/%.100s", file);
	read_text(scratch_path(&scratch, path));
	at = strstr(text, from);
	if (!at)
		fail_msg("%s has no %s", file, from);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	scratch_file(&scratch, path, changed, 0600);
}

/* Run it on the copy; returns the exit status, and what it said in output[]. */
static int generate(const char *build)
{
	char command[512];
	size_t len;
	FILE *p;
	int status;

	snprintf(command, sizeof(command), GENERATOR " %s/schema %s/%s 2>&1", scratch.dir,
		 scratch.dir, build);
	p = popen(command, "r");
	assert_non_null(p);
	len = fread(output, 1, sizeof(output) - 1, p);
	output[len] = '\0';
	status = pclose(p);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_gen_takes_the_real_schemas(void **state)
{
	(void)state;
	assert_int_equal(generate("a"), 0);
	assert_string_equal(output, "");
}

static void test_gen_gives_the_same_bytes_every_time(void **state)
{
	static const char *const files[] = { "include/gen/errors.h", "include/gen/config.h",
					     "include/gen/caps.h",   "gen/errors.c",
					     "gen/config.c",	     "gen/caps.c",
					     "gen/blocklist.c",	     "gen/strtab.c",
					     "include/gen/cli.h",    "gen/cli.c",
					     "gen/reference.md",     "gen/man/procpen-run.1",
					     "gen/complete.bash",    "gen/complete.zsh",
					     "gen/complete.fish" };
	char path[128];

	(void)state;
	assert_int_equal(generate("a"), 0);
	assert_int_equal(generate("b"), 0);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		snprintf(path, sizeof(path), "a/%s", files[i]);
		strcpy(output, read_text(scratch_path(&scratch, path)));
		assert_true(strlen(output) > 100);
		path[0] = 'b';
		assert_string_equal(read_text(scratch_path(&scratch, path)), output);
	}
}

static void test_gen_keeps_private_keywords_out_of_tools_list(void **state)
{
	(void)state;
	assert_int_equal(generate("a"), 0);
	read_text(scratch_path(&scratch, "a/gen/caps.c"));
	assert_null(strstr(text, "x-"));
	assert_non_null(strstr(text, "SCHEMA_STRING | SCHEMA_INTEGER"));
	assert_null(strstr(text, "\\\"type\\\":[\\\"string\\\",\\\"integer\\\"]"));
}

/* With one change to a file. */
struct refusal {
	const char *file, *from, *to, *says;
};

/* @also is in each reason. */
static void assert_refusals(const struct refusal *rows, size_t count, const char *also)
{
	for (size_t i = 0; i < count; i++) {
		setup(NULL);
		change(rows[i].file, rows[i].from, rows[i].to);
		assert_int_equal(generate("a"), 1);
		if (!strstr(output, rows[i].says) || !strstr(output, also))
			fail_msg("%s: expected %s\ngot %s", rows[i].file, rows[i].says, output);
		scratch_release(&scratch);
	}
	setup(NULL);
}

static void test_gen_refuses_what_the_checks_do_not_implement(void **state)
{
	static const struct refusal rows[] = {
		{ "process.list.json", "\"minimum\": 1,", "\"multipleOf\": 1,",
		  "process.list.json: inputSchema.properties.limit: \"multipleOf\" is not supported" },
		{ "process.run.json", "\"items\": {\"type\": \"string\"}",
		  "\"items\": {\"type\": \"string\", \"pattern\": \"x\"}",
		  "process.run.json: inputSchema.properties.args.items: \"pattern\" is not supported" },
		{ "process.kill.json", "[\"string\", \"integer\"]", "[\"string\", \"null\"]",
		  "process.kill.json: inputSchema.properties.signal: type \"null\" is not supported" },
		{ "process.kill.json", "[\"string\", \"integer\"]", "\"string\"",
		  "process.kill.json: inputSchema.properties.signal: " },
		{ "is_blocked.json", "\"tier\"", "\"teir\"", "is_blocked.json: \"teir\" is not" },
		{ "is_blocked.json", "\"additionalProperties\": false", "\"additionalProperties\": true",
		  "is_blocked.json: inputSchema: \"additionalProperties\" must be false" },
		{ "agent.session.json", "\"openWorldHint\": false", "\"openWorld\": false",
		  "agent.session.json: annotations: \"openWorld\" is not supported" },
		{ "process.list.json", "\"total\": {\"type\": \"integer\",",
		  "\"total\": {\"type\": \"integer\", \"format\": \"x\",",
		  "process.list.json: outputSchema.total: \"format\" is not supported" },
	};

	(void)state;
	assert_refusals(rows, COUNT_OF(rows), "");
}

static void test_gen_refuses_what_does_not_fit_together(void **state)
{
	static const struct refusal rows[] = {
		{ "process.list.json", "\"default\": 50", "\"default\": 5000",
		  "process.list.json: inputSchema.properties.limit: the default does not fit" },
		{ "process.list.json", "\"default\": \"all\"", "\"default\": \"some\"",
		  "process.list.json: inputSchema.properties.state_filter: the default does not fit" },
		{ "process.run.json", "\"default\": false", "\"default\": \"no\"",
		  "process.run.json: inputSchema.properties.background: the default does not fit" },
		{ "process.run.json", "\"default\": \"utf8\"", "\"default\": \"a\\\\b\"",
		  "process.run.json: inputSchema.properties.stdin_encoding: the default does not fit" },
		{ "process.run.json", "\"maxItems\": 65536", "\"maximum\": 65536",
		  "process.run.json: inputSchema.properties.args: \"maximum\" does not go with" },
		{ "process.list.json", "\"x-error\": \"InvalidFilter\"", "\"x-error\": \"InvalidFilters\"",
		  "no error \"InvalidFilters\" in errors.json" },
		{ "process.logs.json", "\"ProcessNotFound\"", "\"ProcessNotFund\"",
		  "process.logs.json: \"errors\": no error \"ProcessNotFund\"" },
		{ "process.monitor.json", "[\"process_id\"]", "[\"process\"]",
		  "process.monitor.json: inputSchema: \"required\": no property \"process\"" },
		{ "process.monitor.json", "{\"process_id\": \"$process_id\"}", "{\"pid\": 1}",
		  "process.monitor.json: examples: no parameter \"pid\"" },
		{ "process.monitor.json", "\"order\": 2", "\"order\": 1", "order is taken by" },
		{ "process.monitor.json", "\"name\": \"process.monitor\"", "\"name\": \"process.watch\"",
		  "process.monitor.json: the file must be called process.watch.json" },
		{ "process.list.json", "\"version\": \"1.0\",", "",
		  "process.list.json: \"version\" is missing" },
		{ "config.json", "\"default\": 60000", "\"default\": 600",
		  "config.json: confirm.timeout_ms: default 600 is out of bounds" },
		{ "config.json", "\"default\": \"command\"", "\"default\": \"here\"",
		  "config.json: blocklist.literal_match: default \"here\"" },
		{ "config.json", "\"audit.required\"", "\"confirm.timeout_ms\"",
		  "\"confirm.timeout_ms\" is there twice" },
		{ "cli.json", "\"kind\": \"duration\"", "\"kind\": \"time\"",
		  "cli.json: run.--timeout: kind \"time\" is not supported" },
		{ "cli.json", "\"parameter\": \"timeout\"", "\"parameter\": \"time\"",
		  "cli.json: run.--timeout: process.run has no parameter \"time\"" },
		{ "cli.json", "\"value\": \"TIME\", ", "",
		  "cli.json: run.--timeout: a flag has no \"value\"" },
		{ "cli.json", "Show this.", "Show\\tthis.",
		  "cli.json: shared.help.text: a text has the control character 0x9" },
		{ "cli.json", "\"--lines\", \"kind\": \"flag\"", "\"--cpu\", \"kind\": \"flag\"",
		  "cli.json: --cpu is a number here and a flag there" },
		{ "cli.json", "\"kind\": \"choice\", \"value\"", "\"kind\": \"text\", \"value\"",
		  "cli.json: audit.--decision: a choice or an engine, and nothing else, has \"choices\"" },
		{ "cli.json", "\"asked\"", "\"as*ked\"", "the name as*ked needs quotes" },
		{ "cli.json", "\"asked\"", "\"\"", "choices: element 1 is an empty text" },
		{ "config.json", "\"strict\"]", "\"\"]", "choices: element 2 is an empty text" },
		{ "process.run.json", "\"base64\"]", "\"\"]",
		  "stdin_encoding: element 1 must be a string that is not empty" },
		{ "process.run.json", "[\"cmd\",", "[\"cmd\", \"\",",
		  "command: element 1 must be a string that is not empty" },
		{ "cli.json", "\"--lines\"", "\"--li;nes\"", "the name --li;nes needs quotes" },
		{ "config.json", "\"strict\"]", "\"str*ct\"]", "the name str*ct needs quotes" },
		{ "config.json", "\"narrow\": \"false\"", "\"narrow\": \"lower\"",
		  "\"narrow\": \"lower\" is nothing for type \"boolean\"" },
		{ "cli.json", "\"--cpu\"", "\"--memory\"", "cli.json: run: \"--memory\" is there twice" },
		{ "cli.json", "\"place\", \"set\", \"help\"", "\"places\"",
		  "cli.json: serve: an option must be an object" },
		{ "errors.json", "1001", "1002", "code 1002 is there twice" },
		{ "errors.json", "1001", "-32050", "code -32050 is reserved" },
		{ "errors.json", "\"name\": \"CommandBlocked\"", "\"name\": \"CommandNotFound\"",
		  "\"CommandNotFound\" is there twice" },
		{ "errors.json", "[", "{", "errors.json: line 2" },
	};

	(void)state;
	assert_refusals(rows, COUNT_OF(rows), "");
}

/* base/schema.c has a bit for each. */
static void test_gen_refuses_more_parameters_than_bits(void **state)
{
	char many[8000];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 63; i++) /* process.list has two */
		len += (size_t)sprintf(many + len, "\"p%d\": {\"type\": \"boolean\", "
				       "\"description\": \"x\"}, ", i);
	strcpy(many + len, "\"state_filter\": {");
	change("process.list.json", "\"state_filter\": {", many);
	assert_int_equal(generate("a"), 1);
	assert_non_null(strstr(output, "process.list.json: inputSchema.properties: more than 64"));
}

#define LIST "blocklist.json"

static void test_gen_refuses_a_wrong_blocklist(void **state)
{
	static const struct refusal rows[] = {
		{ LIST, "\"targets\": \"root system", "\"targets\": \"root sistem",
		  "target \"sistem\" is not known" },
		{ LIST, "\"protects\"", "\"protect\"", "\"protect\" is not supported here" },
		{ LIST, "\"paths\": [\"/\"]", "\"paths\": [\"/\", \"\"]",
		  "\"paths\" must be a list of strings that are not empty" },
		{ LIST, "\"kind\": \"shell\"", "\"kind\": \"shel\"", "kind \"shel\" is not known" },
		{ LIST, "\"names\": \"truncate\"", "\"names\": \"shred\"", "\"shred\" is there twice" },
		{ LIST, "\"id\": \"boot.files\"", "\"id\": \"boot.modules\"",
		  "the id \"boot.modules\" is taken" },
		{ LIST, "\"reason\"", "\"raison\"", "\"raison\" is not supported here" },
		{ LIST, "\"commands\": \"efibootmgr\"", "\"commands\": \"efibootmgr  x\"",
		  "single spaces" },
	};

	(void)state;
	assert_refusals(rows, COUNT_OF(rows), LIST ": ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_gen_takes_the_real_schemas, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gen_gives_the_same_bytes_every_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_gen_keeps_private_keywords_out_of_tools_list,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_gen_refuses_what_the_checks_do_not_implement,
						NULL, teardown),
		cmocka_unit_test_setup_teardown(test_gen_refuses_what_does_not_fit_together, NULL,
						teardown),
		cmocka_unit_test_setup_teardown(test_gen_refuses_more_parameters_than_bits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_gen_refuses_a_wrong_blocklist, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
