/* setup_merge and setup_host: entries in texts. Files and the command: tests/system/setup.py. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "cli/setup/merge.h"

#define PROGRAM "/opt/procpen"

static char program_word[] = PROGRAM, serve[] = "serve", option[] = "--workspace", work[] = "/w";
static char *const command[] = { program_word, serve, option, work, NULL };

static enum setup_merged merge(const char *host, const char *text, size_t len, struct buf *out)
{
	ERR_LOCAL(e);
	enum setup_merged result;

	buf_init(out, 1u << 20);
	result = setup_merge(setup_host_find(host), text, len, command, out, &e);
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

/* An entry that an earlier setup wrote, for another place or other arguments. */
static void test_setup_json_replaces_its_own(void **state)
{
	(void)state;
	merged("zed", "{ // mine\n  \"context_servers\": {\"a\": {\"procpen\": 1},\n    \"procpen\" : "
	       "{\"command\": \"/old/procpen\", \"args\": [ \"serve\" ]} , // x\n    \"z\": {}}}",
	       "{ // mine\n  \"context_servers\": {\"a\": {\"procpen\": 1},\n    \"procpen\" : {\n"
	       "      \"command\": \"" PROGRAM "\",\n"
	       "      \"args\": [\"serve\", \"--workspace\", \"/w\"]\n    } , // x\n"
	       "    \"z\": {}}}");
	merged("opencode", "{\n  \"mcp\": {\"procpen\": {\"enabled\": true, \"type\": \"local\", "
	       "\"command\": [\"procpen\", \"serve\", \"--strict\"]}}\n}\n",
	       "{\n  \"mcp\": {\"procpen\": {\n      \"type\": \"local\",\n"
	       "      \"command\": [\"" PROGRAM "\", \"serve\", \"--workspace\", \"/w\"],\n"
	       "      \"enabled\": true\n    }}\n}\n");
}

/* An entry of our name that setup has not written so. */
static void test_setup_json_other_entry(void **state)
{
	static const char *const entries[] = {
		"{}", "1", "null", "{\"args\": [\"serve\"]}", "{\"url\": \"http://x/serve\"}",
		"{\"command\": \"/old/procpen\"}",
		"{\"command\": \"/old/procpen\", \"args\": [\"call\"]}",
		"{\"command\": \"/old/procpen\", \"args\": \"serve\"}",
		"{\"command\": \"/old/procpen\", \"args\": [\"serve\", 1]}",
		"{\"command\": \"/old/procpen2\", \"args\": [\"serve\"]}",
		"{\"command\": \"procpen/x\", \"args\": [\"serve\"]}",
		"{\"command\": [\"procpen\", \"serve\"], \"args\": []}",
		"{\"command\": \"/old/procpen\", \"args\": [\"serve\"], \"env\": {}}",
		"{\"command\": \"/old/procpen\", /* why */ \"args\": [\"serve\"]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		char text[256];

		snprintf(text, sizeof(text), "{\"context_servers\": {\"procpen\": %s}}", entries[i]);
		refused("zed", text);
	}
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

/* What setup wrote for other settings makes room for what it writes now. */
static void test_setup_toml_replaces_its_own_table(void **state)
{
	(void)state;
	merged("codex", "a = 1\n[mcp_servers.procpen]\ncommand = \"/old \\\" [\"\nargs = [\"serve\"] \n"
			"# mine\n[mcp_servers.x.procpen]\nb = 1\n",
	       "a = 1\n[mcp_servers.procpen]\ncommand = \"" PROGRAM "\"\n"
	       "args = [\"serve\", \"--workspace\", \"/w\"] \n"
	       "# mine\n[mcp_servers.x.procpen]\nb = 1\n");
	merged("codex", "[mcp_servers.procpen]\ncommand = \"/old\"\nargs = [\"serve\", \"--strict\"]",
	       "[mcp_servers.procpen]\ncommand = \"" PROGRAM "\"\n"
	       "args = [\"serve\", \"--workspace\", \"/w\"]");
}

/* Names that only resemble ours, and values that only the host can judge. */
static void test_setup_toml_leaves_the_rest_alone(void **state)
{
	static const char *const texts[] = {
		"[mcp_servers.\"my server\"]\n", "[mcp_servers.procpen2]\n", "[other.mcp_servers.procpen]\n",
		"[a]\nmcp_servers = 1\n", "[mcp_servers]\nprocpenx = {}\n", "procpen = 1\n",
		"a = foo\n", "a = {b = [1, '}'],\n c = 2} # {\n", "a = \"\"\"x\"\"\"\"\" # end\n",
		"'=' = 1\n", "a = 1\r\n", "a = 1979-05-27 07:32:00Z\n",
	};
	struct buf out;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(merge("codex", texts[i], strlen(texts[i]), &out), SETUP_MERGED);
		assert_memory_equal(out.data, texts[i], strlen(texts[i]));
		assert_memory_equal(out.data + strlen(texts[i]), "\n[mcp_servers.procpen]\n", 23);
		buf_release(&out);
	}
}

static void test_setup_toml_refused(void **state)
{
	static const char *const texts[][2] = {
		{ "a = 1\nb = \"x\n", "line 2: unterminated string" },
		{ "a = \"\\", "line 1: unterminated string" },
		{ "a = '\n'", "line 1: unterminated string" },
		{ "a = \"\"\"x\"\"\n\n", "line 1: unterminated string" },
		{ "a = [\n1,\n", "line 1: unterminated list or inline table" },
		{ "a = {", "line 1: unterminated list or inline table" },
		{ "a = 1 2 ]", "line 1: unmatched bracket" },
		{ "a =", "line 1: key without a value" },
		{ "a = # none", "line 1: key without a value" },
		{ "= 1", "line 1: missing key" },
		{ "[]", "line 1: missing key" },
		{ "a\nb = 1", "line 1: neither a table header nor a key with a value" },
		{ "{\"a\": 1}", "line 1: neither a table header nor a key with a value" },
		{ "[", "line 1: unterminated table header" },
		{ "[[a]", "line 1: unterminated table header" },
		{ "[a] b", "line 1: trailing data" },
		{ "a = 1\r[mcp_servers.procpen]\r\n", "line 1: control character" },
		{ "a = \"\001\"", "line 1: control character" },
		{ "# \177", "line 1: control character" },
		{ "a = \"\xff\"", "line 1: invalid UTF-8" },
		{ "\"\\u0061\" = 1", "line 1: escape in a key" },
		{ "mcp_servers = {}", "line 1: the servers are not written as tables" },
		{ "mcp_servers.x.command = 1", "line 1: the servers are not written as tables" },
		{ "'mcp_servers' . x = 1", "line 1: the servers are not written as tables" },
		{ "[[mcp_servers]]", "line 1: the servers are an array of tables" },
		{ "[[mcp_servers.x]]", "line 1: the servers are an array of tables" },
		{ "[mcp_servers]\nprocpen.x = 1", "line 2: an entry named procpen, but not as a table" },
		{ "[mcp_servers]\n\"procpen\" = {}", "line 2: an entry named procpen, but not as a table" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		ERR_LOCAL(e);
		struct buf out;

		buf_init(&out, 65536);
		assert_int_equal(setup_merge(setup_host_find("codex"), texts[i][0], strlen(texts[i][0]),
					     command, &out, &e), SETUP_REFUSED);
		assert_string_equal(e.message, texts[i][1]);
		err_release(&e);
		buf_release(&out);
	}
}

/* An entry of our name that setup has not written so. */
static void test_setup_toml_other_entry(void **state)
{
	static const char *const texts[] = {
		"[mcp_servers.procpen]\n", "[mcp_servers.procpen]\ncommand = \"x\"\n",
		"[\"mcp_servers\" . 'procpen' . env]\n",
		"[mcp_servers.\"procpen\"]\ncommand = \"/old\"\nargs = [\"serve\"]\n",
		"[mcp_servers.procpen]\r\ncommand = \"/old\"\r\nargs = [\"serve\"]\r\n",
		"[mcp_servers.procpen]\ncommand = \"/old\"\nargs = [\"serve\"]\nenabled = false\n",
		"[mcp_servers.procpen]\ncommand = \"/old\"\nargs = [\"serve\",\n\"--strict\"]\n",
		"[mcp_servers.procpen]\ncommand = \"/old\"\nargs = [\"serve\"]\n[mcp_servers.procpen.env]\n",
		"[mcp_servers.procpen]\ncommand = \"/old\"\nargs = [\"serve\"]\n[mcp_servers.procpen]\n",
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

static int snippet(const struct setup_host *host, const char *program, const char *workspace,
		   struct buf *out, struct err *e)
{
	AUTO_FREE char *first = mem_strdup(program), *last = mem_strdup(workspace);
	char *words[] = { first, serve, option, last, NULL };

	return setup_host_snippet(host, words, out, e);
}

static void test_setup_host_texts(void **state)
{
	const struct setup_host *host = setup_host_find("vscode");
	ERR_LOCAL(e);
	struct buf out;

	(void)state;
	assert_null(setup_host_find("nobody"));
	buf_init(&out, 65536);
	assert_int_equal(snippet(host, PROGRAM, host->workspace, &out, &e), 0);
	assert_int_equal(snippet(host, "/a\nb", "/w", &out, &e), -1);
	err_release(&e);
	assert_int_equal(snippet(host, "/a\xff", "/w", &out, &e), -1);
	err_release(&e);
	assert_int_equal(snippet(host, PROGRAM, "/${HOME}", &out, &e), -1);
	err_release(&e);
	assert_int_equal(snippet(host, PROGRAM, "/$HOME", &out, &e), 0);
	host = setup_host_find("gemini-cli");
	assert_int_equal(snippet(host, PROGRAM, "/$HOME", &out, &e), -1);
	err_release(&e);
	assert_int_equal(snippet(host, PROGRAM, "/a$/$-", &out, &e), 0);
	host = setup_host_find("opencode");
	assert_int_equal(snippet(host, PROGRAM, "/{env:HOME}", &out, &e), -1);
	err_release(&e);
	assert_int_equal(snippet(host, PROGRAM, "/{file:x}", &out, &e), -1);
	err_release(&e);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup_json_new),
		cmocka_unit_test(test_setup_json_keeps_the_rest),
		cmocka_unit_test(test_setup_json_nested_names_are_not_ours),
		cmocka_unit_test(test_setup_json_replaces_its_own),
		cmocka_unit_test(test_setup_json_other_entry),
		cmocka_unit_test(test_setup_json_refused),
		cmocka_unit_test(test_setup_json_with_nul_is_refused),
		cmocka_unit_test(test_setup_toml),
		cmocka_unit_test(test_setup_toml_replaces_its_own_table),
		cmocka_unit_test(test_setup_toml_leaves_the_rest_alone),
		cmocka_unit_test(test_setup_toml_refused),
		cmocka_unit_test(test_setup_toml_other_entry),
		cmocka_unit_test(test_setup_other_formats),
		cmocka_unit_test(test_setup_host_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
