#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/config.h"

static int setup(void **state)
{
	static struct config c;

	config_init(&c);
	*state = &c;
	return 0;
}

static int teardown(void **state)
{
	config_release(*state);
	return 0;
}

static void assert_refused(struct config *c, const char *assignment, const char *part)
{
	ERR_LOCAL(e);

	assert_int_equal(config_set(c, assignment, &e), -1);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	if (!strstr(e.message, part))
		fail_msg("\"%s\" is not in \"%s\"", part, e.message);
	assert_true(e.hint[0]); /* the type's default is for clients */
	err_release(&e);
}

static void assert_accepted(struct config *c, const char *assignment)
{
	ERR_LOCAL(e);

	if (config_set(c, assignment, &e) != 0)
		fail_msg("%s: %s", assignment, e.message);
	assert_int_equal(e.type, ERR_NONE);
}

static void test_config_defaults(void **state)
{
	const struct config *c = *state;

	assert_int_equal(config_int(c, CONFIG_LIMITS_RUNNING_PROCESSES), 64);
	assert_int_equal(config_int(c, CONFIG_LIMITS_LINE_BYTES), 4 << 20);
	assert_int_equal(config_int(c, CONFIG_PROCESS_UMASK), 022);
	assert_true(config_bool(c, CONFIG_AUDIT_REQUIRED));
	assert_string_equal(config_choice(c, CONFIG_TIER_PROCESS_RUN), "default");
	assert_string_equal(config_choice(c, CONFIG_BLOCKLIST_LITERAL_MATCH), "command");
	assert_null(config_names(c, CONFIG_ENV_ALLOW)[0]);
}

static void test_config_every_row_is_complete(void **state)
{
	(void)state;
	for (int key = 0; key < CONFIG_COUNT; key++) {
		const struct config_row *row = &config_rows[key];

		assert_true(*row->name);
		assert_non_null(strtab_get(row->text));
		assert_non_null(strtab_get(row->default_text));
		assert_int_equal(config_find(row->name), key);
		if (row->type == CONFIG_ENUM)
			assert_non_null(strtab_first(row->choices));
		if (row->type == CONFIG_INTEGER)
			assert_true(row->min < row->max);
	}
	assert_int_equal(config_find("limits"), -1);
	assert_int_equal(config_find(""), -1);
}

static void test_config_integer_bounds_and_suffixes(void **state)
{
	struct config *c = *state;

	assert_accepted(c, "limits.line_bytes=64K");
	assert_int_equal(config_int(c, CONFIG_LIMITS_LINE_BYTES), 65536);
	assert_accepted(c, "limits.line_bytes=16M");
	assert_int_equal(config_int(c, CONFIG_LIMITS_LINE_BYTES), 16 << 20);
	assert_accepted(c, "log.budget_bytes=1g");
	assert_int_equal(config_int(c, CONFIG_LOG_BUDGET_BYTES), 1 << 30);
	assert_accepted(c, "process.drain_ms=0");
	assert_int_equal(config_int(c, CONFIG_PROCESS_DRAIN_MS), 0);
	assert_refused(c, "limits.line_bytes=65535", "65536");
	assert_refused(c, "limits.line_bytes=16777217", "16777216");
	assert_refused(c, "limits.requests=0", "from 1 to 4096");
	assert_refused(c, "limits.requests=4097", "requests");
	assert_int_equal(config_int(c, CONFIG_LIMITS_REQUESTS), 256);
}

static void test_config_units(void **state)
{
	struct config *c = *state;
	ERR_LOCAL(e);

	assert_accepted(c, "server.eof_seconds=5m");
	assert_int_equal(config_int(c, CONFIG_SERVER_EOF_SECONDS), 300);
	assert_accepted(c, "server.eof_seconds=90");
	assert_int_equal(config_int(c, CONFIG_SERVER_EOF_SECONDS), 90);
	assert_accepted(c, "confirm.timeout_ms=2s");
	assert_int_equal(config_int(c, CONFIG_CONFIRM_TIMEOUT_MS), 2000);
	assert_accepted(c, "limits.memory_bytes=64MiB");
	assert_int_equal(config_int(c, CONFIG_LIMITS_MEMORY_BYTES), 64 << 20);
	assert_refused(c, "server.eof_seconds=500ms", "seconds");
	assert_int_equal(config_set(c, "server.eof_seconds=500ms", &e), -1);
	assert_null(strstr(e.hint, "500ms"));
	err_release(&e);
	assert_refused(c, "server.eof_seconds=48h", "86400 seconds");
	assert_refused(c, "confirm.timeout_ms=60K", "milliseconds");
	assert_refused(c, "limits.memory_bytes=5m5", "bytes");
	assert_refused(c, "limits.memory_bytes=1152921504606846977", "bytes");
}

static void test_config_integer_malformed(void **state)
{
	static const char *const bad[] = {
		"limits.requests=", "limits.requests=-1", "limits.requests=+5",
		"limits.requests= 5", "limits.requests=5 ", "limits.requests=0x10",
		"limits.requests=1.5", "limits.requests=1e2", "limits.requests=5KK",
		"limits.requests=5T", "limits.requests=K", "limits.requests=-",
		"limits.requests=18446744073709551617", "log.budget_bytes=9223372036854775807G",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(*state, bad[i], "is not an integer");
}

static void test_config_umask_takes_octal(void **state)
{
	struct config *c = *state;

	assert_accepted(c, "process.umask=077");
	assert_int_equal(config_int(c, CONFIG_PROCESS_UMASK), 077);
	assert_accepted(c, "process.umask=7");
	assert_int_equal(config_int(c, CONFIG_PROCESS_UMASK), 7);
	assert_accepted(c, "process.umask=0");
	assert_int_equal(config_int(c, CONFIG_PROCESS_UMASK), 0);
	assert_accepted(c, "process.umask=0777");
	assert_int_equal(config_int(c, CONFIG_PROCESS_UMASK), 0777);
	assert_refused(c, "process.umask=01000", "from 0 to 0777");
	assert_refused(c, "process.umask=089", "from 0 to 0777");
	assert_refused(c, "process.umask=77", "begins with 0");
	assert_refused(c, "process.umask=8", "begins with 0");
	assert_refused(c, "process.umask=-1", "begins with 0");
	assert_refused(c, "process.umask=", "begins with 0");
}

static void test_config_boolean(void **state)
{
	struct config *c = *state;

	assert_accepted(c, "audit.required=false");
	assert_false(config_bool(c, CONFIG_AUDIT_REQUIRED));
	assert_accepted(c, "audit.required=on");
	assert_true(config_bool(c, CONFIG_AUDIT_REQUIRED));
	assert_accepted(c, "audit.required=0");
	assert_false(config_bool(c, CONFIG_AUDIT_REQUIRED));
	assert_refused(c, "audit.required=maybe", "neither true nor false");
	assert_refused(c, "audit.required=", "neither true nor false");
	assert_false(config_bool(c, CONFIG_AUDIT_REQUIRED));
}

static void test_config_ports(void **state)
{
	static const struct {
		const char *text, *shown; /* NULL: refused */
	} rows[] = {
		{ "true", "true" }, { "1", "true" }, { "off", "false" }, { "0", "false" },
		{ "443", "443" }, { "53,443,", "53,443" }, { "1,", "1," }, { "65535", "65535" },
		{ "", NULL }, { ",", NULL }, { "443,,53", NULL }, { "443,0", NULL }, { "065", NULL },
		{ "65536", NULL }, { "99999999999999999999", NULL }, { "443 ", NULL }, { "-1", NULL },
		{ "443,true", NULL }, { "4*", NULL },
	};
	struct config c;
	ERR_LOCAL(e);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		config_init(&c);
		if (config_assign(&c, CONFIG_SANDBOX_NETWORK, rows[i].text, CONFIG_BY_COMMAND_LINE, "--set",
				  &e)) {
			assert_null(rows[i].shown);
			assert_non_null(strstr(e.message, "nor a list of at most 64 ports"));
			err_release(&e);
		} else {
			char *text = config_text(&c, CONFIG_SANDBOX_NETWORK);

			assert_non_null(rows[i].shown);
			assert_string_equal(text, rows[i].shown);
			free(text);
		}
		config_release(&c);
	}
}

static void test_config_enum(void **state)
{
	struct config *c = *state;

	assert_accepted(c, "tier.process.kill=confirm");
	assert_string_equal(config_choice(c, CONFIG_TIER_PROCESS_KILL), "confirm");
	assert_refused(c, "tier.process.kill=allow", "default, autonomous, notify, confirm, deny");
	assert_refused(c, "tier.process.kill=Deny", "none of");
	assert_refused(c, "blocklist.literal_match=never", "anywhere");
	assert_string_equal(config_choice(c, CONFIG_TIER_PROCESS_KILL), "confirm");
}

static void test_config_names(void **state)
{
	struct config *c = *state;

	assert_accepted(c, "env.allow=SSH_AUTH_SOCK,CARGO_*,A");
	char *const *names = config_names(c, CONFIG_ENV_ALLOW);

	assert_string_equal(names[0], "SSH_AUTH_SOCK");
	assert_string_equal(names[1], "CARGO_*");
	assert_string_equal(names[2], "A");
	assert_null(names[3]);
	assert_refused(c, "env.allow=A,,B", "is not valid");
	assert_refused(c, "env.allow=A,", "is not valid");
	assert_refused(c, "env.allow=,", "is not valid");
	assert_refused(c, "env.allow=A B", "\"A B\"");
	assert_refused(c, "env.allow=A=B", "is not valid");
	assert_refused(c, "env.allow=A*B", "'*' at the end only");
	/* What was refused has changed nothing; a later value replaces the earlier one. */
	assert_string_equal(config_names(c, CONFIG_ENV_ALLOW)[2], "A");
	assert_accepted(c, "env.allow=X");
	assert_string_equal(config_names(c, CONFIG_ENV_ALLOW)[0], "X");
	assert_null(config_names(c, CONFIG_ENV_ALLOW)[1]);
	assert_accepted(c, "env.allow=");
	assert_null(config_names(c, CONFIG_ENV_ALLOW)[0]);
}

static void test_config_paths(void **state)
{
	struct config *c = *state;

	assert_accepted(c, "sandbox.hide=/home/ann/My Documents,/srv/a=b,/srv/\xc3\xa9");
	assert_string_equal(config_names(c, CONFIG_SANDBOX_HIDE)[0], "/home/ann/My Documents");
	assert_string_equal(config_names(c, CONFIG_SANDBOX_HIDE)[1], "/srv/a=b");
	assert_refused(c, "sandbox.hide=/a, /b", "\" /b\" is not valid: no blanks at its ends");
	assert_refused(c, "sandbox.readonly=a ", "no blanks at its ends");
	assert_refused(c, "sandbox.hide=/home/*", "no '*'");
	assert_refused(c, "sandbox.writable=/a\tb", "is not valid");
	assert_refused(c, "sandbox.writable=/a,", "is not valid");
}

static void test_config_names_have_a_maximum(void **state)
{
	struct config *c = *state;

	assert_null(config_names(c, CONFIG_SANDBOX_USER)[0]);
	assert_accepted(c, "sandbox.user=nobody");
	assert_refused(c, "sandbox.user=a,b", "at most 1 name, not 2");
	assert_string_equal(config_names(c, CONFIG_SANDBOX_USER)[0], "nobody");
	assert_accepted(c, "sandbox.user=");
	assert_null(config_names(c, CONFIG_SANDBOX_USER)[0]);
	assert_accepted(c, "sandbox.users=a,b,c,d,e");
}

static void test_config_unknown_key_names_the_nearest(void **state)
{
	assert_refused(*state, "limits.requets=5", "limits.requests");
	assert_refused(*state, "tier.process.runn=deny", "tier.process.run");
	assert_refused(*state, "network=false", "the nearest is \"sandbox.network\"");
	assert_refused(*state, "process.timeout=5", "the nearest is \"process.timeout_seconds\"");
	assert_refused(*state, "timeout=5", "the nearest is \"confirm.timeout_ms\" or "
					    "\"process.timeout_seconds\" or \"limits.timeout_seconds\"");
	assert_refused(*state, "qqqqqqqqqqqqqqq=1", "unknown option");
	assert_refused(*state, "=1", "unknown option");
	assert_refused(*state, "limits.requests", "no '='");
	assert_refused(*state, "", "no '='");
}

static void test_config_remedy_names_who_set_it(void **state)
{
	static const struct {
		enum config_rank rank;
		const char *origin, *remedy;
	} rows[] = {
		{ CONFIG_BY_USER_FILE, "/home/me/c.json:3",
		  "with --set tier.process.kill=... (set by /home/me/c.json:3)" },
		{ CONFIG_BY_COMMAND_LINE, "--set",
		  "with --set tier.process.kill=... (set by --set)" },
		{ CONFIG_BY_PROJECT, ".procpen.json:7",
		  "in .procpen.json:7 (tier.process.kill), or with --set config.project=off" },
	};
	char text[CONFIG_REMEDY_SIZE];
	ERR_LOCAL(e);

	config_remedy(*state, CONFIG_TIER_PROCESS_KILL, "notify", text);
	assert_string_equal(text, "with --set tier.process.kill=notify (now at its default)");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(config_assign(*state, config_find("tier.process.kill"), "deny",
					       rows[i].rank, rows[i].origin, &e), 0);
		config_remedy(*state, CONFIG_TIER_PROCESS_KILL, "...", text);
		assert_string_equal(text, rows[i].remedy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_config_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_every_row_is_complete, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_integer_bounds_and_suffixes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_units, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_integer_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_umask_takes_octal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_boolean, setup, teardown),
		cmocka_unit_test(test_config_ports),
		cmocka_unit_test_setup_teardown(test_config_enum, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_names_have_a_maximum, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_remedy_names_who_set_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_unknown_key_names_the_nearest, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
