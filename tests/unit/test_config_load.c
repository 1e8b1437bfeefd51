#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/config_load.h"
#include "scratch.h"

static struct scratch tmp;
static struct config config;
static struct config_files files;

static int load(const char *content, size_t len, struct err *e)
{
	FILE *f = fopen(scratch_path(&tmp, "c.json"), "w");

	assert_int_equal(fwrite(content, 1, len, f), len);
	fclose(f);
	config_files_release(&files);
	config_release(&config);
	config_init(&config);
	return config_load(&config, scratch_path(&tmp, "c.json"), &files, e);
}

static void expect_loaded(const char *content)
{
	ERR_LOCAL(e);

	if (load(content, strlen(content), &e))
		fail_msg("%s: %s", content, e.message);
}

/* @part: of the message, behind the path. */
static void expect_refused(const char *content, size_t len, const char *part)
{
	ERR_LOCAL(e);

	assert_int_equal(load(content, len, &e), -1);
	if (!strstr(e.message, part) || !e.hint[0])
		fail_msg("%.80s: %s; %s", content, e.message, e.hint);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	err_release(&e);
}

#define EXPECT_REFUSED(content, part) expect_refused(content, sizeof(content) - 1, part)

static void expect_option(enum config_key key, const char *text, const char *origin)
{
	AUTO_FREE char *value = config_text(&config, key);

	assert_string_equal(value, text);
	if (!strstr(config_origin(&config, key), origin))
		fail_msg("%s: %s", text, config_origin(&config, key));
}

static int setup(void **state)
{
	(void)state;
	scratch_init(&tmp);
	config_init(&config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	config_files_release(&files);
	config_release(&config);
	scratch_release(&tmp);
	return 0;
}

static void test_config_load_types(void **state)
{
	(void)state;
	expect_loaded("{\"$schema\": \"x\", \"limits.memory_bytes\": \"64M\", // c\r\n"
		      "\"limits.requests\": 9,\r\n \"sandbox.network\": false, /* d */\n"
		      "\"sandbox.profile\": \"strict\", \"env.allow\": [\"A\", \"B*\"],\n"
		      "\"process.umask\": \"077\", \"process.shell\": \"/bin/sh\", \"env.protect\": [],}");
	expect_option(CONFIG_LIMITS_MEMORY_BYTES, "67108864", "c.json:1");
	expect_option(CONFIG_LIMITS_REQUESTS, "9", "c.json:2");
	expect_option(CONFIG_SANDBOX_NETWORK, "false", "c.json:3");
	expect_option(CONFIG_SANDBOX_PROFILE, "strict", "c.json:4");
	expect_option(CONFIG_ENV_ALLOW, "A,B*", "c.json:4");
	expect_option(CONFIG_PROCESS_UMASK, "077", "c.json:5");
	expect_option(CONFIG_PROCESS_SHELL, "/bin/sh", "c.json:5");
	expect_option(CONFIG_ENV_PROTECT, "", "c.json:5");
	expect_option(CONFIG_LOG_HEAD_BYTES, "262144", "default");
	expect_loaded("{}");
	expect_loaded("\xef\xbb\xbf{\"limits\\u002erequests\": 9}");
	expect_option(CONFIG_LIMITS_REQUESTS, "9", "c.json:1");
	expect_loaded("{\"process.umask\": 18}"); /* a number of JSON has no octal */
	expect_option(CONFIG_PROCESS_UMASK, "022", "c.json:1");
}

/* What a hint says to write would be accepted, and is not the opposite of what was written. */
static void test_config_load_hints_for_types(void **state)
{
	static const struct {
		const char *content, *hint;
	} rows[] = {
		{ "{\"sandbox.ahead\": \"false\"}", "Write true or false without quotes." },
		{ "{\"sandbox.network\": \"false\"}",
		  "Write true, false or [53, 443] without quotes." },
		{ "{\"sandbox.network\": [65536]}",
		  "Write true, false, or ports: 53,443; in a file [53, 443]." },
		{ "{\"sandbox.hide\": 5}", "Write \"sandbox.hide\": [\"NAME\"]" },
		{ "{\"process.shell\": null}",
		  "Write \"process.shell\": \"NAME\", or leave it out." },
		{ "{\"process.umask\": true}", "The default is \"process.umask\": \"022\"" },
		{ "{\"limits.line_bytes\": []}", "The default is \"limits.line_bytes\": \"4194304\"" },
		{ "{\"sandbox.profile\": 5}",
		  "Write one of these, in quotes: none, default, strict." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ERR_LOCAL(e);

		assert_int_equal(load(rows[i].content, strlen(rows[i].content), &e), -1);
		assert_string_equal(e.hint, rows[i].hint);
		err_release(&e);
	}
}

static void test_config_load_mistakes_have_their_place(void **state)
{
	static char deep[1 << 20];

	(void)state;
	memset(deep, '[', sizeof(deep));
	EXPECT_REFUSED("{\n  \"sandbox.netwrok\": false}",
		       "c.json:2:3: unknown option \"sandbox.netwrok\"; the nearest is \"sandbox.network\"");
	EXPECT_REFUSED("{\"sandbox\": {\"network\": false}}", "c.json:1:2: unknown option \"sandbox\"");
	EXPECT_REFUSED("{\"rules\": {}}", "c.json:1:2: \"rules\" takes an array, not an object");
	EXPECT_REFUSED("{\"process.shell\": null}",
		       "c.json:1:2: option process.shell takes a string, not null");
	EXPECT_REFUSED("{\"sandbox.user\": [\"a\", \"b\"]}",
		       "c.json:1:2: option sandbox.user takes at most 1 name, not 2");
	EXPECT_REFUSED("{\"rules\": [\n{\"id\": \"a\", \"program\": \"b\", \"decision\": \"deny\"},\n"
		       " {\"id\": \"c\"}]}", "c.json:3:2: rule \"c\": decision is missing");
	EXPECT_REFUSED("{\"rules\": [\n{\"id\": \"a\", \"program\": \"b\", \"decision\": \"deny\","
		       "\"examples\": [\"c\"]}]}", "c.json:2:1: rule \"a\" does not match its example: c");
	EXPECT_REFUSED("{\"sandbox.ahead\": \"false\"}", "takes true or false, not a string");
	EXPECT_REFUSED("{\"sandbox.network\": \"443\"}", "true, false, or an array of ports, not a string");
	EXPECT_REFUSED("{\"sandbox.network\": [443, \"x\"]}", "element 2 is not valid");
	EXPECT_REFUSED("{\"sandbox.network\": null}", "not null");
	EXPECT_REFUSED("{\"limits.requests\": 1.5}", "not a number with a fraction");
	EXPECT_REFUSED("{\"limits.requests\": 0}", "from 1 to 4096 requests");
	EXPECT_REFUSED("{\"limits.requests\": 99999999999999999999}", "c.json:1:21: too big integer");
	EXPECT_REFUSED("{\"sandbox.profile\": \"x\"}", "is none of");
	EXPECT_REFUSED("{\"env.allow\": [\"A,B\"]}", "element 1 is not valid");
	EXPECT_REFUSED("{\"env.allow\": [\"A\", 1]}", "element 2 is not valid");
	EXPECT_REFUSED("{\"env.allow\": [\"\"]}", "element 1 is not valid");
	EXPECT_REFUSED("{\"limits.requests\": 1,\n\"limits.requests\": 2}", "c.json:2:1: duplicate");
	EXPECT_REFUSED("[]", "c.json:1:1: not a JSON object");
	EXPECT_REFUSED("", "c.json:1:1: ");
	EXPECT_REFUSED("{\"limits.requests\": 1\0}", "c.json:1:22: a NUL byte");
	EXPECT_REFUSED("{\"\\u0000\": 1}", "c.json:1:2: ");
	expect_refused(deep, sizeof(deep), "c.json:1:2049: nested too deep");
}

static void test_config_load_later_sources_win(void **state)
{
	static const char file[] = "{\"limits.requests\": 1, \"log.head_bytes\": 5000,"
				   "\"log.tail_bytes\": 70000}";
	ERR_LOCAL(e);

	(void)state;
	setenv("PROCPEN_SET_LOG__HEAD_BYTES", "6000", 1);
	assert_int_equal(load(file, strlen(file), &e), 0);
	expect_option(CONFIG_LOG_HEAD_BYTES, "6000", "PROCPEN_SET_LOG__HEAD_BYTES");
	expect_option(CONFIG_LOG_TAIL_BYTES, "70000", "c.json:1");
	assert_int_equal(config_set(&config, "limits.requests=3", &e), 0);
	assert_int_equal(config_load(&config, file, &files, &e), -1);
	err_release(&e);
	expect_option(CONFIG_LIMITS_REQUESTS, "3", "--set");
	config_files_release(&files);
	assert_int_equal(config_load(&config, scratch_path(&tmp, "c.json"), &files, &e), 0);
	expect_option(CONFIG_LIMITS_REQUESTS, "3", "--set");
	setenv("PROCPEN_SET_LOG__HEAD_BITES", "1", 1);
	EXPECT_REFUSED("{}", "PROCPEN_SET_LOG__HEAD_BITES: unknown option \"log.head_bites\"; the "
			     "nearest is \"log.head_bytes\"");
	unsetenv("PROCPEN_SET_LOG__HEAD_BITES");
	setenv("PROCPEN_SET_LOG__HEAD_BYTES", "", 1);
	EXPECT_REFUSED("{}", "PROCPEN_SET_LOG__HEAD_BYTES: option log.head_bytes: \"\" is not");
	unsetenv("PROCPEN_SET_LOG__HEAD_BYTES");
}

static void test_config_load_user_path(void **state)
{
	ERR_LOCAL(e);
	const char *home = getenv("HOME");
	AUTO_FREE char *saved = mem_strdup(home);

	(void)state;
	scratch_mkdir(&tmp, ".config");
	scratch_mkdir(&tmp, ".config/procpen");
	scratch_file(&tmp, ".config/procpen/config.json", "{\"limits.requests\": 7}", 0600);
	setenv("HOME", tmp.dir, 1);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	assert_int_equal(config_load(&config, NULL, &files, &e), 0);
	expect_option(CONFIG_LIMITS_REQUESTS, "7", ".config/procpen/config.json:1");
	config_files_release(&files);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	assert_int_equal(config_load(&config, NULL, &files, &e), 0);
	assert_string_equal(files.user_path, "/nonexistent/procpen/config.json");
	unsetenv("XDG_CONFIG_HOME");
	if (saved)
		setenv("HOME", saved, 1);
}

static void test_config_load_places_that_commands_write(void **state)
{
	ERR_LOCAL(e);
	char writable[SCRATCH_PATH + 32];
	struct scope *scope;

	(void)state;
	expect_loaded("{}");
	scope = scope_new(tmp.dir, NULL, &e);
	assert_int_equal(config_files_check(&files, &config, scope, &e), -1);
	assert_non_null(strstr(e.message, "where commands may write"));
	scope_free(scope);
	scope = scope_new("/proc", NULL, &e);
	assert_int_equal(config_files_check(&files, &config, scope, &e), 0);
	snprintf(writable, sizeof(writable), "sandbox.writable=/proc,%s", tmp.dir);
	assert_int_equal(config_set(&config, writable, &e), 0);
	assert_int_equal(config_files_check(&files, &config, scope, &e), -1);
	err_release(&e);
	scope_free(scope);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_config_load_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_load_hints_for_types, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_load_mistakes_have_their_place, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_load_later_sources_win, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_load_user_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_load_places_that_commands_write, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
