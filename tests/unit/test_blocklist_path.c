/* Paths in this file are text to classify. Nothing is looked up. */
#include "unit.h"

#include "base/mem.h"
#include "blocklist/command/table.h"
#include "blocklist/path.h"

/*
 * A word as a test writes it: ? is an unknown part, * ~ are what they are in a shell,
 * anything else stands for itself.
 */
static uint64_t classes(const char *text, const struct path_dir *dir, enum path_reach reach)
{
	static const struct path_dir nowhere;
	uint8_t kind[256];
	struct shell_word w = { .text = { .s = text, .len = strlen(text) }, .kind = kind };

	for (size_t i = 0; i < w.text.len; i++)
		kind[i] = text[i] == '?' ? SHELL_UNKNOWN
			  : text[i] == '*' || text[i] == '[' || text[i] == ']' ? SHELL_GLOB
			  : text[i] == '~' ? SHELL_TILDE : SHELL_LITERAL;
	return path_classify(&w, 0, dir ? dir : &nowhere, reach);
}

/* The bit of the class called @name. */
static uint64_t path_class(const char *name)
{
	for (unsigned i = 0; i < blocklist_target_count; i++)
		if (!strcmp(strtab_get(blocklist_targets[i].name), name))
			return UINT64_C(1) << i;
	fail_msg("no class %s", name);
	return 0;
}

static bool is(const char *text, const char *class)
{
	uint64_t bit = path_class(class);

	assert_true(bit != 0);
	return classes(text, NULL, REACH_TREE_OR_EMPTY) & bit;
}

static void test_path_spellings_of_root(void **state)
{
	static const char *const roots[] = {
		"/", "//", "/.", "/..", "/../..", "/*", "/.*", "/usr/..", "/./", "/a/../",
		"/proc/self/root", "/proc/1/root/", "?/", "?/*", "/?", "/tmp/../*", "../../../../..",
	};
	static const char *const others[] = {
		"", "a", "./", ".", "..", "/tmp", "/tmp/*", "?", "?/lib", "a/?", "*", "./*", "?/?/",
		"../../..",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		if (!is(roots[i], "root"))
			fail_msg("not the root: %s", roots[i]);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (is(others[i], "root"))
			fail_msg("the root: %s", others[i]);
}

/* What may be empty, and what may be missing, is left out as well; what is set stays. */
static void test_path_without_a_part(void **state)
{
	static const struct path_dir nowhere;
	struct shell_unknown unknown = { .name = "x" };
	struct shell_word w = { .text = { .s = "/opt/x/*", .len = 8 } };
	uint64_t root = path_class("root");

	(void)state;
	w.kind = (const uint8_t[]){ 0, 0, 0, 0, 0, 0, 0, SHELL_GLOB };
	assert_false(path_classify(&w, 0, &nowhere, REACH_TREE_OR_EMPTY) & root);
	w.gone_to = 6;
	assert_true(path_classify(&w, 0, &nowhere, REACH_TREE_OR_EMPTY) & root);
	assert_false(path_classify(&w, 0, &nowhere, REACH_TREE) & root);
	w.gone_from = 5; /* "/opt//" */
	assert_false(path_classify(&w, 0, &nowhere, REACH_TREE_OR_EMPTY) & root);
	w = (struct shell_word){ .text = { .s = "?/", .len = 2 }, .unknowns = &unknown,
				 .unknown_count = 1,
				 .kind = (const uint8_t[]){ SHELL_UNKNOWN, 0 } };
	assert_true(path_classify(&w, 0, &nowhere, REACH_TREE_OR_EMPTY) & root);
	unknown.is_set = true;
	assert_false(path_classify(&w, 0, &nowhere, REACH_TREE_OR_EMPTY) & root);
}

static void test_path_classes(void **state)
{
	static const struct {
		const char *text, *class;
		bool in;
	} cases[] = {
		{ "/etc", "system", true }, { "/etc/*", "system", true }, { "/e*", "system", true },
		{ "/[a-z]tc", "system", true }, { "/etc/?", "system", true },
		{ "/usr/lib/x86_64-linux-gnu", "system", true }, { "/etc/nginx", "system", false },
		{ "/tmp/etc", "system", false }, { "etc", "system", false },
		{ "~", "home", true }, { "~/", "home", true }, { "~/*", "home", true },
		{ "~me", "home", true }, { "/home/me", "home", true }, { "/home/*/", "home", true },
		{ "~/x", "home", false }, { "/home/me/x", "home", false }, { "~root", "home", true },
		{ "/home/?", "home", true }, { "~/?", "home", true },
		{ "/opt", "app", true }, { "/opt/*", "app", true }, { "/opt/?", "app", false },
		{ "/opt/x", "app", false },
		{ "/dev/sda", "device", true }, { "/dev/./sda1", "device", true },
		{ "/dev/?", "device", true }, { "/dev/sd*", "device", true },
		{ "/dev/disk/by-id/x", "device", true }, { "/dev/null", "device", false },
		{ "/dev/shm/x", "device", false }, { "/dev/tcp/h/1", "device", false },
		{ "/dev/mapper/control", "device", false }, { "/dev/mapper/root", "device", true },
		{ "/boot/x/y", "boot", true }, { "/boot/config-6.1", "boot", false },
		{ "/etc/fstab", "boot", true }, { "/etc/passwd", "account", true },
		{ "/proc/sysrq-trigger", "power", true }, { "?", "unknown", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (is(cases[i].text, cases[i].class) != cases[i].in)
			fail_msg("%s and %s", cases[i].text, cases[i].class);
}

/* A file in a directory is not the directory; a glob in it is all of them. */
static void test_path_reach(void **state)
{
	uint64_t system = path_class("system");

	(void)state;
	assert_false(classes("/etc", NULL, REACH_FILE) & system);
	assert_true(classes("/etc/*", NULL, REACH_FILE) & system);
	assert_false(classes("/etc/*.bak", NULL, REACH_FILE) & system);
	assert_true(classes("/etc", NULL, REACH_TREE) & system);
	assert_false(classes("?/", NULL, REACH_TREE) & path_class("root"));
}

static struct path_dir dir_of(const char *text)
{
	struct path_dir dir = { 0 };
	uint8_t kind[256] = { SHELL_LITERAL };
	struct shell_word w = { .text = { .s = text, .len = strlen(text) }, .kind = kind };

	if (text[0] == '~')
		kind[0] = SHELL_TILDE;
	if (text[0] == '?')
		kind[0] = SHELL_UNKNOWN;
	path_chdir(&dir, &w);
	return dir;
}

static void test_path_working_directory(void **state)
{
	struct path_dir root = dir_of("/"), etc = dir_of("/usr/../etc"), home = dir_of("~"),
			     deep = dir_of("/a/b/c"), unknown = dir_of("?");
	uint64_t system = path_class("system");

	(void)state;
	assert_true(root.known && etc.known && home.known && deep.known);
	assert_false(unknown.known);
	assert_true(classes("*", &root, REACH_TREE) & path_class("root"));
	assert_true(classes("etc", &root, REACH_TREE) & system);
	assert_true(classes(".", &etc, REACH_TREE) & system);
	assert_true(classes("*", &home, REACH_TREE) & path_class("home"));
	assert_true(classes("../../../usr", &deep, REACH_TREE) & system);
	assert_false(classes("*", &deep, REACH_TREE) & system);
	assert_false(classes("*", &unknown, REACH_TREE));
}

/* Longer than any path: nothing. Many stars: no time. */
static void test_path_bounds(void **state)
{
	size_t len = 100000;
	char *text = malloc(len + 1);
	uint8_t *kind = calloc(len, 1);
	struct shell_word w = { .text = { .s = text, .len = len }, .kind = kind };
	static const struct path_dir nowhere;

	(void)state;
	memset(text, 'x', len);
	text[0] = '/';
	text[len] = '\0';
	assert_int_equal(path_classify(&w, 0, &nowhere, REACH_TREE), 0);
	w.text.len = PATH_TOKENS_MAX;
	for (size_t i = 1; i < w.text.len; i++) {
		text[i] = i % 2 ? '*' : 'a';
		kind[i] = i % 2 ? SHELL_GLOB : SHELL_LITERAL;
	}
	path_classify(&w, 0, &nowhere, REACH_TREE);
	for (size_t i = 1; i < w.text.len; i++)
		text[i] = '/';
	assert_true(path_classify(&w, 0, &nowhere, REACH_TREE) & path_class("root"));
	free(text);
	free(kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_spellings_of_root),
		cmocka_unit_test(test_path_without_a_part),
		cmocka_unit_test(test_path_classes),
		cmocka_unit_test(test_path_reach),
		cmocka_unit_test(test_path_working_directory),
		cmocka_unit_test(test_path_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
