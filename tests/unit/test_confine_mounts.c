#include "unit.h"

#include <stdbool.h>
#include <sys/sysmacros.h>

#include "os/sandbox/mounts.h"
#include "os/shim/proto.h"
#include "scratch.h"

#define MANY 200
#define WORD_SIZE 64

struct fixture {
	struct scratch tmp;
	struct confine_mounts m;
	char *lists[3][MANY + 1]; /* writable, hidden, read-only */
	size_t counts[3];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_init(&f->tmp);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	confine_mounts_release(&f->m);
	for (size_t i = 0; i < 3; i++)
		while (f->counts[i])
			free(f->lists[i][--f->counts[i]]);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

enum { WRITABLE, HIDDEN, READONLY };

/* An absolute path, or one below the scratch directory. */
static void add(struct fixture *f, int list, const char *name)
{
	f->lists[list][f->counts[list]++] =
		strdup(name[0] == '/' ? name : scratch_path(&f->tmp, name));
}

/* The next of the words with single spaces between them; false behind the last. */
static bool take_word(const char **words, char word[WORD_SIZE])
{
	size_t len = strcspn(*words, " ");

	assert_true(len < WORD_SIZE);
	memcpy(word, *words, len);
	word[len] = '\0';
	*words += len + ((*words)[len] == ' ');
	return len > 0;
}

static void make_directories(struct fixture *f, const char *names)
{
	char name[WORD_SIZE];

	while (take_word(&names, name))
		scratch_mkdir(&f->tmp, name);
}

static void build(struct fixture *f)
{
	const struct confine_mounts_wish wish = {
		.writable = (const char *const *)f->lists[WRITABLE],
		.hidden = (const char *const *)f->lists[HIDDEN],
		.readonly = (const char *const *)f->lists[READONLY],
	};

	confine_mounts_release(&f->m);
	confine_mounts_build(&f->m, &wish);
	assert_true(f->m.size <= SHIM_PATHS_MAX);
	assert_int_equal(f->m.size % 8, 0);
}

/* The next entry from *@at on, or NULL. */
static const struct shim_mount *next(const struct fixture *f, size_t *at)
{
	const struct shim_mount *entry = (const void *)(f->m.entries + *at);

	if (*at >= f->m.size)
		return NULL;
	assert_int_equal(entry->size % 8, 0);
	assert_true(entry->size >= sizeof(*entry) + strlen(entry->path) + 1);
	*at += entry->size;
	assert_true(*at <= f->m.size);
	return entry;
}

/* All entries as "+path -path =path !path" (writable, hidden, pinned, read-only); those below the
 * scratch directory without it. */
static const char *shown(const struct fixture *f)
{
	static const char *const signs[] = {
		[SHIM_MOUNT_WRITABLE] = "+", [SHIM_MOUNT_HIDE] = "-", [SHIM_MOUNT_PIN] = "=",
		[SHIM_MOUNT_READONLY] = "!",
	};
	static char text[8192];
	const struct shim_mount *entry;
	size_t at = 0, len = strlen(f->tmp.dir);

	text[0] = '\0';
	while ((entry = next(f, &at))) {
		const char *path = entry->path;

		if (!strncmp(path, f->tmp.dir, len) && (path[len] == '/' || !path[len]))
			path += len + (path[len] == '/');
		strcat(text, *text ? " " : "");
		assert_non_null(signs[entry->kind]);
		strcat(text, signs[entry->kind]);
		strcat(text, *path ? path : ".");
	}
	return text;
}

/* Compare the table built from these lists of words with shown(). */
static const char *built(struct fixture *f, const char *writable, const char *hidden)
{
	char name[WORD_SIZE];

	while (take_word(&writable, name))
		add(f, WRITABLE, name);
	while (take_word(&hidden, name))
		add(f, HIDDEN, name);
	build(f);
	return shown(f);
}

static void test_confine_mounts_of_nothing(void **state)
{
	struct fixture *f = *state;

	confine_mounts_build(&f->m, &(struct confine_mounts_wish){ 0 });
	assert_int_equal(f->m.size, 0);
	assert_int_equal(f->m.left_out, 0);
	confine_mounts_release(&f->m);
	confine_mounts_release(&f->m); /* empty again */
	build(f);
	assert_string_equal(shown(f), "");
}

static void test_confine_mounts_know_their_file(void **state)
{
	struct fixture *f = *state;
	const struct shim_mount *entry;
	struct stat st;
	size_t at = 0;

	make_directories(f, "ws");
	assert_string_equal(built(f, "ws", "secret"), "+ws -secret");
	entry = next(f, &at);
	assert_int_equal(stat(scratch_path(&f->tmp, "ws"), &st), 0);
	assert_int_equal(entry->ino, st.st_ino);
	assert_int_equal(entry->dev, (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev));
	entry = next(f, &at);
	assert_int_equal(entry->ino, 0); /* any file that appears there */
	assert_int_equal(entry->dev, 0);
}

static void test_confine_mounts_nesting(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "a a/b a/b/c d");
	assert_string_equal(built(f, "a/b/c a a/b d a", ""), "+a +d");
	assert_int_equal(f->m.left_out, 0);
}

/* /ws does not stand for /ws_evil, nor the other way round. */
static void test_confine_mounts_prefixes(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws ws_evil w");
	assert_string_equal(built(f, "ws ws_evil w", "ws_hidden"), "+ws +ws_evil +w -ws_hidden");
}

static void test_confine_mounts_prefix_does_not_cover(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws_evil");
	assert_string_equal(built(f, "ws_evil", "ws"), "+ws_evil -ws");
}

static void test_confine_mounts_links(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "real real/in");
	scratch_link(&f->tmp, "real", "link");
	scratch_link(&f->tmp, "link/in", "far");
	scratch_link(&f->tmp, "loop", "loop");
	scratch_link(&f->tmp, "nowhere", "broken");
	/* link/secret is not there yet. */
	assert_string_equal(built(f, "real/in far link/../link/in link/in loop broken",
				  "link/secret link/in/deep/er/secret /nowhere/at/all"),
			    "+real/in -real/secret =real/in/deep =real/in/deep/er "
			    "-real/in/deep/er/secret -/nowhere/at/all");
	assert_int_equal(f->m.left_out, 5); /* writable ones are canonical or left out */
}

static void test_confine_mounts_hidden_links(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "real");
	scratch_file(&f->tmp, "real/key", "", 0600);
	scratch_link(&f->tmp, "real", "link");
	assert_string_equal(built(f, "", "link/key"), "-real/key");
}

/* A hidden path lies inside a writable one, or beside it, but never covers one: compared by real
 * names. */
static void test_confine_mounts_hidden_and_writable(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "top top/ws top/ws/secret");
	scratch_link(&f->tmp, "top", "other");
	assert_string_equal(built(f, "top/ws", "top top/ws other / top/ws/secret top/other"),
			    "+top/ws -top/ws/secret -top/other");
	assert_int_equal(f->m.unhidden, 3); /* and that is reported, once for each place */
}

/* The directories above a hidden path in a writable one are pinned, from the top down, and no
 * others. */
static void test_confine_mounts_pins(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws ws/a ws/a/b out out/a");
	assert_string_equal(built(f, "ws", "ws/direct ws/a/b/c out/a/b ws_evil/a/b /proc/kcore"),
			    "+ws -ws/direct =ws/a =ws/a/b -ws/a/b/c -out/a/b -ws_evil/a/b");
	assert_int_equal(f->m.unhidden, 1); /* /proc is the run's own */
}

/* One of two writable paths may lie in the other and be listed first: commands can rename it
 * too. */
static void test_confine_mounts_pins_nested(void **state)
{
	struct fixture *f = *state;

	scratch_mkdir(&f->tmp, "ws");
	scratch_mkdir(&f->tmp, "ws/a");
	scratch_mkdir(&f->tmp, "ws/a/b");
	add(f, WRITABLE, "ws/a");
	add(f, WRITABLE, "ws");
	add(f, HIDDEN, "ws/a/b/c");
	build(f);
	assert_string_equal(shown(f), "+ws =ws/a =ws/a/b -ws/a/b/c");
}

static void test_confine_mounts_root_is_writable(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws");
	assert_string_equal(built(f, "ws /", "ws"), "+/");
}

static void test_confine_mounts_missing_paths(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws");
	assert_string_equal(built(f, "missing ws", "missing"), "+ws -missing");
	assert_int_equal(f->m.left_out, 1);
}

/* Hidden paths follow files that appear, vanish and lead elsewhere; writable ones stay as built. */
static void test_confine_mounts_refresh(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws ws/a other top");
	scratch_file(&f->tmp, "other/key", "", 0600);
	assert_string_equal(built(f, "ws", "ws/a/key top/key/"), "+ws =ws/a -ws/a/key -top/key");
	assert_false(confine_mounts_refresh(&f->m));
	scratch_file(&f->tmp, "ws/a/key", "", 0600); /* the entry covers any file that appears
						      * there */
	assert_false(confine_mounts_refresh(&f->m));
	scratch_link(&f->tmp, "../other/key", "top/key");
	assert_true(confine_mounts_refresh(&f->m));
	assert_string_equal(shown(f), "+ws =ws/a -ws/a/key -other/key");
	assert_false(confine_mounts_refresh(&f->m));
	assert_int_equal(unlink(scratch_path(&f->tmp, "top/key")), 0);
	scratch_link(&f->tmp, "..", "top/key");
	assert_true(confine_mounts_refresh(&f->m));
	assert_string_equal(shown(f), "+ws =ws/a -ws/a/key");
	assert_int_equal(f->m.unhidden, 1);
	assert_non_null(strstr(f->m.visible, "top/key/, which is "));
	assert_non_null(strstr(f->m.visible, "/ws, which commands may write"));
	assert_int_equal(unlink(scratch_path(&f->tmp, "top/key")), 0);
	assert_true(confine_mounts_refresh(&f->m));
	assert_string_equal(shown(f), "+ws =ws/a -ws/a/key -top/key");
	assert_int_equal(f->m.unhidden, 0);
	assert_string_equal(f->m.visible, "");
}

/* A command may change the links that lead to a hidden path. */
static void test_confine_mounts_changed_link(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws keys other");
	scratch_file(&f->tmp, "keys/key", "", 0600);
	scratch_link(&f->tmp, "../keys", "ws/link");
	assert_string_equal(built(f, "ws", "ws/link/key ws/link/later"), "+ws -keys/key -keys/later");
	assert_int_equal(unlink(scratch_path(&f->tmp, "ws/link")), 0);
	assert_true(confine_mounts_refresh(&f->m));
	assert_string_equal(shown(f), "+ws =ws/link -ws/link/key =ws/link -ws/link/later "
				      "-keys/key -keys/later");
	scratch_link(&f->tmp, "../other", "ws/link");
	assert_true(confine_mounts_refresh(&f->m));
	assert_string_equal(shown(f), "+ws -other/key -other/later -keys/key -keys/later");
	assert_int_equal(f->m.unhidden, 0);
}

/* A hidden path in every spelling: a slash at its end would require a directory. */
static void test_confine_mounts_spelling(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "d");
	scratch_file(&f->tmp, "d/key", "", 0600);
	assert_string_equal(built(f, "", "d/key/ d//./later/ .//e/./f//"), "-d/key -d/later -e/f");
}

static int count_kind(const struct fixture *f, uint32_t kind)
{
	const struct shim_mount *entry;
	size_t at = 0;
	int count = 0;

	while ((entry = next(f, &at)))
		count += entry->kind == kind;
	return count;
}

/* The shim has room for 64 entries: the rest is counted. */
static void test_confine_mounts_too_many(void **state)
{
	struct fixture *f = *state;
	char name[16];
	int kept;

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		scratch_mkdir(&f->tmp, name);
		add(f, WRITABLE, name);
	}
	build(f);
	kept = count_kind(f, SHIM_MOUNT_WRITABLE);
	assert_true(kept >= 32 && kept <= 64);
	assert_int_equal(kept + f->m.left_out, MANY);
	assert_int_equal(f->m.unhidden, 0);
}

/* A table of fixed size: entries that do not fit are counted, the others are complete. */
static void test_confine_mounts_too_long(void **state)
{
	struct fixture *f = *state;
	char name[4000], end[16];
	int hidden;

	make_directories(f, "ws");
	add(f, WRITABLE, "ws");
	for (int i = 0; i < 20; i++) {
		memset(name, 'x', sizeof(name));
		snprintf(end, sizeof(end), "%d", i);
		strcpy(name + sizeof(name) - sizeof(end), end);
		name[0] = '/';
		add(f, HIDDEN, name);
	}
	build(f);
	hidden = count_kind(f, SHIM_MOUNT_HIDE);
	assert_int_equal(count_kind(f, SHIM_MOUNT_WRITABLE), 1);
	assert_true(hidden >= 3 && hidden < 20);
	assert_int_equal(hidden + f->m.left_out, 20);
	assert_int_equal(f->m.unhidden, f->m.left_out);
}

static void test_confine_mounts_shared_memory(void **state)
{
	static const struct {
		const char *writable[3];
		bool can;
	} rows[] = {
		{ { NULL }, true },
		{ { "/tmp", "/dev/null" }, true },
		{ { "/tmp", "/dev/shm" }, false },
		{ { "/dev" }, false },
		{ { "/" }, false },
	};
	struct fixture *f = *state;
	const struct confine_mounts_wish wish = {
		.writable = (const char *const *)f->lists[WRITABLE],
		.shared_memory = scratch_path(&f->tmp, "shm"),
	};
	const struct shim_mount *entry;
	size_t at = 0;

	make_directories(f, "ws shm");
	add(f, WRITABLE, "ws");
	confine_mounts_build(&f->m, &wish);
	entry = next(f, &at);
	assert_int_equal(entry->kind, SHIM_MOUNT_SHARED_MEMORY);
	assert_true(entry->ino); /* no other directory may come in its place */
	assert_int_equal(next(f, &at)->kind, SHIM_MOUNT_WRITABLE);
	if (!confine_mounts_can_cover_shm(NULL))
		skip(); /* /dev/shm is missing, or a link */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(confine_mounts_can_cover_shm(rows[i].writable), rows[i].can);
}

static void note_open(void *ctx, const char *path, enum confine_mounts_hold hold)
{
	static const char *const reasons[] = {
		[CONFINE_MOUNTS_ABSENT] = "absent", [CONFINE_MOUNTS_LINK] = "link",
		[CONFINE_MOUNTS_WRITABLE] = "writable", [CONFINE_MOUNTS_NO_ROOM] = "full",
	};
	char *text = ctx;

	if (hold == CONFINE_MOUNTS_HELD)
		return;
	sprintf(text + strlen(text), "%s%s %s", *text ? ", " : "", strrchr(path, '/') + 1,
		reasons[hold]);
}

static const char *open_paths(const struct fixture *f)
{
	static char text[1024];

	text[0] = '\0';
	confine_mounts_each_readonly(&f->m, note_open, text);
	return text;
}

/* A read-only path needs an entry where it can be changed, and so does each directory on the way. */
static void test_confine_mounts_readonly(void **state)
{
	struct fixture *f = *state;

	make_directories(f, "ws ws/a ws/a/b ws/c real real/ws out");
	scratch_link(&f->tmp, "real", "link");
	scratch_link(&f->tmp, "a", "ws/l");
	scratch_file(&f->tmp, "ws/file", "", 0600);
	add(f, READONLY, "ws/a/b");
	add(f, READONLY, "ws/later/x");
	add(f, READONLY, "ws/l/b");       /* the link is never followed */
	add(f, READONLY, "link/ws//d/.");  /* no command can change this one */
	add(f, READONLY, "ws/file/x");     /* the file is held */
	add(f, READONLY, "out/x");         /* read-only in any case */
	add(f, READONLY, "ws/c");          /* the operator has opened it by its name */
	assert_string_equal(built(f, "ws real/ws ws/c", "ws/a/b/key"),
			    "+ws +real/ws =ws/a !ws/a/b =ws/later !ws/later/x =ws/l !ws/l/b "
			    "!real/ws/d =ws/file !ws/file/x =ws/a =ws/a/b -ws/a/b/key");
	assert_string_equal(open_paths(f), "x absent, b link, d absent, c writable");
	make_directories(f, "ws/later ws/later/x real/ws/d");
	assert_string_equal(open_paths(f), "b link, c writable");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_confine_mounts_of_nothing),
		TEST(test_confine_mounts_know_their_file),
		TEST(test_confine_mounts_nesting),
		TEST(test_confine_mounts_prefixes),
		TEST(test_confine_mounts_prefix_does_not_cover),
		TEST(test_confine_mounts_links),
		TEST(test_confine_mounts_hidden_links),
		TEST(test_confine_mounts_hidden_and_writable),
		TEST(test_confine_mounts_pins),
		TEST(test_confine_mounts_pins_nested),
		TEST(test_confine_mounts_root_is_writable),
		TEST(test_confine_mounts_missing_paths),
		TEST(test_confine_mounts_refresh),
		TEST(test_confine_mounts_changed_link),
		TEST(test_confine_mounts_spelling),
		TEST(test_confine_mounts_too_many),
		TEST(test_confine_mounts_too_long),
		TEST(test_confine_mounts_shared_memory),
		TEST(test_confine_mounts_readonly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
