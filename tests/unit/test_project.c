#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "policy/project.h"
#include "scratch.h"

static struct scratch tmp;
static struct config config;
static struct project project;
static struct scope *scope;

static enum tier own_tier(const char *capability)
{
	return strcmp(capability, "process.run") ? TIER_AUTONOMOUS : TIER_NOTIFY;
}

static void set(const char *assignment)
{
	ERR_LOCAL(e);

	if (config_set(&config, assignment, &e))
		fail_msg("%s", e.message);
}

static void read_project(void)
{
	project_release(&project);
	project_read(&project, &config, scope, own_tier);
}

/* The file says @assignment, "key": value. Is it taken, ignored with @part, or neither? */
static void expect(const char *before, const char *member, bool taken, const char *part)
{
	char text[256];

	config_release(&config);
	config_init(&config);
	set("config.project=narrow");
	if (before)
		set(before);
	snprintf(text, sizeof(text), "{%s}", member);
	scratch_file(&tmp, PROJECT_FILE, text, 0666);
	read_project();
	if (project.narrowed_count != taken || project.ignored_count != (part != NULL) ||
	    (part && !strstr(project.ignored[0], part)))
		fail_msg("%s: %zu narrowed, %s", member, project.narrowed_count,
			 project.ignored[0] ? project.ignored[0] : "");
}

static int setup(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	scratch_init(&tmp);
	config_init(&config);
	set("config.project=narrow");
	scope = scope_new(tmp.dir, NULL, &e);
	return scope ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	project_release(&project);
	config_release(&config);
	scope_free(scope);
	scratch_release(&tmp);
	return 0;
}

static void test_project_narrows(void **state)
{
	(void)state;
	expect(NULL, "\"limits.running_processes\": 63", true, NULL);
	expect(NULL, "\"limits.running_processes\": 64", false, NULL);
	expect(NULL, "\"limits.running_processes\": 65", false, "would loosen");
	expect(NULL, "\"limits.memory_bytes\": \"1G\"", true, NULL);
	expect("limits.memory_bytes=1G", "\"limits.memory_bytes\": \"2G\"", false, "would loosen");
	expect("limits.memory_bytes=1G", "\"limits.memory_bytes\": 0", false, "would loosen");
	expect(NULL, "\"limits.memory_bytes\": 0", false, NULL);
	expect(NULL, "\"sandbox.network\": false", true, NULL);
	expect("sandbox.network=false", "\"sandbox.network\": true", false, "would loosen");
	expect("sandbox.network=443", "\"sandbox.network\": true", false, "would loosen");
	expect("sandbox.network=443", "\"sandbox.network\": false", true, NULL);
	expect(NULL, "\"sandbox.profile\": \"strict\"", true, NULL);
	expect("sandbox.profile=none", "\"sandbox.profile\": \"default\"", true, NULL);
	expect("sandbox.profile=strict", "\"sandbox.profile\": \"default\"", false, "would loosen");
	expect(NULL, "\"blocklist.literal_match\": \"anywhere\"", true, NULL);
	expect(NULL, "\"tier.process.run\": \"autonomous\"", false, "would loosen");
	expect(NULL, "\"tier.process.run\": \"notify\"", false, NULL);
	expect(NULL, "\"tier.process.run\": \"confirm\"", true, NULL);
	expect("tier.process.run=autonomous", "\"tier.process.run\": \"default\"", true, NULL);
	expect("tier.process.run=deny", "\"tier.process.run\": \"default\"", false, "would loosen");
	expect(NULL, "\"tier.process.list\": \"notify\"", true, NULL);
}

static void test_project_cannot_set_the_rest(void **state)
{
	(void)state;
	for (int key = 0; key < CONFIG_COUNT; key++) {
		const struct config_row *row = &config_rows[key];
		char member[sizeof(row->name) + 8];

		if (row->narrow != CONFIG_NARROW_NEVER)
			continue;
		snprintf(member, sizeof(member), "\"%.*s\": 1", (int)sizeof(row->name), row->name);
		expect(NULL, member, false, "nothing that a project can set");
	}
	expect(NULL, "\"sandbox.netwrok\": false", false, "the nearest is \"sandbox.network\"");
	expect(NULL, "\"rules\": [{}]", false, "a rule has no id");
	expect(NULL, "\"limits.tasks_per_run\": -1", false, "is not an integer");
	expect(NULL, "\"sandbox.network\": \"no\"", false, "takes true, false, or an array of ports");
	expect(NULL, "\"sandbox.network\": [443]", false, "can only set it to false");
	expect(NULL, "\"sandbox.network\"", false, ".procpen.json:1:19: ");
}

static void test_project_is_what_a_command_made(void **state)
{
	char name[SCRATCH_PATH], text[8192] = "{";

	(void)state;
	scratch_copy(&tmp, PROJECT_FILE, name);
	read_project();
	assert_false(project.found);
	mkfifo(name, 0600);
	read_project();
	assert_true(project.found);
	assert_non_null(strstr(project.ignored[0], "not a regular file"));
	unlink(name);
	scratch_link(&tmp, "/etc/passwd", PROJECT_FILE);
	read_project();
	assert_non_null(strstr(project.ignored[0], "not a regular file"));
	unlink(name);
	scratch_file(&tmp, PROJECT_FILE, "{}", 0600);
	assert_int_equal(truncate(name, (off_t)1 << 40), 0);
	read_project();
	assert_non_null(strstr(project.ignored[0], "larger than 64 KiB"));
	unlink(name);
	for (int i = 0; i < 20; i++)
		snprintf(text + strlen(text), 64, "%s\"x\\u001b\\u202e%d\": 1", i ? "," : "", i);
	strcat(text, "}");
	scratch_file(&tmp, PROJECT_FILE, text, 0600);
	read_project();
	assert_int_equal(project.ignored_count, 20);
	assert_null(project.ignored[PROJECT_NOTES_MAX]);
	assert_null(strchr(project.ignored[0], '\x1b'));
	set("config.project=off");
	read_project();
	assert_false(project.found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_project_narrows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_project_cannot_set_the_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_project_is_what_a_command_made, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
