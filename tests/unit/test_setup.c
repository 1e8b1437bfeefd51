/* setup_merge and setup_host: entries in texts. Files and the command: tests/system/setup.py. */
#include "unit.h"

#include <string.h>

#include "cli/setup/merge.h"

#define PROGRAM "/opt/procpen"

static enum setup_merged merge(const char *host, const char *text, size_t len, struct buf *out)
{
	struct err e = ERR_INIT;
	enum setup_merged result;

	buf_init(out, 1u << 20);
	result = setup_merge(setup_host_find(host), text, len, PROGRAM, "/w", out, &e);
	assert_int_equal(e.type != ERR_NONE, result == SETUP_REFUSED);
	err_release(&e);
	return result;
}

/* The new text of a merge that must work. */
static void merged(const char *host, const char *text, const char *wanted)
{
	struct buf out, again;

	assert_int_equal(merge(host, text, strlen(text), &out), SETUP_MERGED);
	assert_string_equal(out.data, wanted);
	assert_int_equal(merge(host, out.data, out.len, &again), SETUP_THERE);
	buf_release(&again);
	buf_release(&out);
}

static void refused(const char *host, const char *text)
{
	struct buf out;

	assert_int_equal(merge(host, text, strlen(text), &out), SETUP_REFUSED);
	buf_release(&out);
}

static void test_setup_json_new(void **state)
{
	(void)state;
	merged("cursor", "",
	       "{\n  \"mcpServers\": {\n    \"procpen\": {\n      \"command\": \"" PROGRAM "\",\n"
	       "      \"args\": [\"serve\", \"--workspace\", \"/w\"]\n    }\n  }\n}\n");
}

static void test_setup_json_keeps_the_rest(void **state)
{
	(void)state;
	merged("zed", "{ // mine\n\t\"a\": [1,],\n\t\"context_servers\": {\n\t\t\"x\": {}, /* x */\n\t},\n}",
	       "{ // mine\n\t\"a\": [1,],\n\t\"context_servers\": {\n\t\t\"procpen\": {\n"
	       "\t\t\t\"command\": \"" PROGRAM "\",\n"
	       "\t\t\t\"args\": [\"serve\", \"--workspace\", \"/w\"]\n\t\t},\n"
	       "\t\t\"x\": {}, /* x */\n\t},\n}");
}

static void test_setup_json_nested_names_are_not_ours(void **state)
{
	struct buf out;
	static const char text[] = "{\"a\":{\"mcpServers\":{\"procpen\":1}},\"b\":\"mcpServers\"}";

	(void)state;
	assert_int_equal(merge("cursor", text, strlen(text), &out), SETUP_MERGED);
	assert_memory_equal(out.data, "{\n  \"mcpServers\": {", 19);
	assert_non_null(strstr(out.data, text + 1));
	buf_release(&out);
}

static void test_setup_json_refused(void **state)
{
	static const char *const texts[] = {
		"[]", "{", "{}}", "{\"mcpServers\":[]}", "{\"mcpServers\":{\"procpen\":{}}}",
		"{\"a\":1,\"a\":2}", "{} // comment", "{\"a\":1,}", "\"", "{\"", "/", "/*", "{\"a\\",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		refused("cursor", texts[i]);
	refused("zed", "// only\n");
	refused("zed", "{/* }");
	refused("zed", "{\"a\":1,,}");
}

/* The parser passes over a NUL behind a number, where our walk to the insertion's place ends. */
static void test_setup_json_with_nul_is_refused(void **state)
{
	static const char text[] = "{\"a\":1\0,\"mcpServers\":{}}";
	struct buf out;

	(void)state;
	assert_int_equal(merge("cursor", text, sizeof(text) - 1, &out), SETUP_REFUSED);
	buf_release(&out);
}

static void test_setup_toml(void **state)
{
	(void)state;
	merged("codex", "a = [\"#\", # ]\n '''\n[mcp_servers.procpen]''', ]\n[mcp_servers.x]\nb = 1",
	       "a = [\"#\", # ]\n '''\n[mcp_servers.procpen]''', ]\n[mcp_servers.x]\nb = 1\n\n"
	       "[mcp_servers.procpen]\ncommand = \"" PROGRAM "\"\n"
	       "args = [\"serve\", \"--workspace\", \"/w\"]\n");
}

static void test_setup_toml_refused(void **state)
{
	static const char *const texts[] = {
		"[mcp_servers.procpen]\n", "[\"mcp_servers\" . 'procpen' . env]\n", "mcp_servers = {}",
		"mcp_servers.x.command = 1", "[mcp_servers]\nprocpen.x = 1", "[[mcp_servers]]", "[",
		"[a", "a", "a =", "a = '", "a = \"\\", "a = \"\"\"x\"\"", "a = [", "a = ]", "a = 1 2 ]",
		"\"\\u0061\" = 1", "a.b.c.d.e.f.g.h.i = 1", "=", ".", "a..b = 1",
		"a = 1 b = 2", "a = foo", "a = 1foo", "a = \"\001\"", "a = \"\xff\"", "a = 1\r",
		"a = 1\r[mcp_servers.procpen]\r\n", "a = {b = 1,\n c = 2}", "a = \"\\q\"",
		"a = 1\na = 2", "[t]\n[t]", "a = {b = 1, b = 2}", "a = [1 2]", "a = [,]", "a = {b}",
		"a = 2024-01-01 x", "# \177",
		"[mcp_servers.procpen]\ncommand = \"" PROGRAM "\"\n"
		"args = [\"serve\", \"--workspace\", \"/w\"]\nenabled = false\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		refused("codex", texts[i]);
}

static void test_setup_other_formats(void **state)
{
	struct buf out;

	(void)state;
	refused("goose", "a: 1\n");
	refused("emacs", "");
	assert_int_equal(merge("goose", " \n", 2, &out), SETUP_MERGED);
	assert_non_null(strstr(out.data, "cmd: \"" PROGRAM "\""));
	buf_release(&out);
}

static void test_setup_host_texts(void **state)
{
	const struct setup_host *host = setup_host_find("vscode");
	struct err e = ERR_INIT;
	struct buf out;

	(void)state;
	assert_null(setup_host_find("nobody"));
	buf_init(&out, 65536);
	assert_int_equal(setup_host_snippet(host, PROGRAM, host->workspace, &out, &e), 0);
	assert_int_equal(setup_host_snippet(host, "/a\nb", "/w", &out, &e), -1);
	err_release(&e);
	assert_int_equal(setup_host_snippet(host, "/a\xff", "/w", &out, &e), -1);
	err_release(&e);
	assert_int_equal(setup_host_snippet(host, PROGRAM, "/${HOME}", &out, &e), -1);
	err_release(&e);
	assert_int_equal(setup_host_snippet(host, PROGRAM, "/$HOME", &out, &e), 0);
	host = setup_host_find("gemini-cli");
	assert_int_equal(setup_host_snippet(host, PROGRAM, "/$HOME", &out, &e), -1);
	err_release(&e);
	assert_int_equal(setup_host_snippet(host, PROGRAM, "/a$/$-", &out, &e), 0);
	host = setup_host_find("opencode");
	assert_int_equal(setup_host_snippet(host, PROGRAM, "/{env:HOME}", &out, &e), -1);
	err_release(&e);
	assert_int_equal(setup_host_snippet(host, PROGRAM, "/{file:x}", &out, &e), -1);
	err_release(&e);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup_json_new),
		cmocka_unit_test(test_setup_json_keeps_the_rest),
		cmocka_unit_test(test_setup_json_nested_names_are_not_ours),
		cmocka_unit_test(test_setup_json_refused),
		cmocka_unit_test(test_setup_json_with_nul_is_refused),
		cmocka_unit_test(test_setup_toml),
		cmocka_unit_test(test_setup_toml_refused),
		cmocka_unit_test(test_setup_other_formats),
		cmocka_unit_test(test_setup_host_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
