#include "blocklist/find.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/args.h"
#include "blocklist/wrap.h"

/* Places times actions are bounded: more places than this are one unknown. */
#define PLACES_MAX 64
/* Groups in groups; what is deeper chooses nothing. */
#define GROUPS_MAX 16
/* Names of one command that are told apart. */
#define NAMES_MAX 16
/* Places times actions times names: a command with more is too complex. */
#define ACTIONS_MAX 4096

/* What the tests before a place in the expression leave, for certain. */
enum choice {
	CHOICE_ALL,
	CHOICE_WEAK,   /* by age, size or mode */
	CHOICE_NARROW, /* by name, owner, ... */
};

/* Names that the tests leave: those of the list from @from up to @to. */
struct names {
	size_t from, to;
};

/* An expression in parentheses, or the whole. */
struct group {
	enum choice choice, least; /* before it; of its arms so far */
	struct names names;        /* before it; from their end on stand those of its arms */
	bool negated;
};

struct search {
	const struct shell_word *words;
	size_t count;
	struct shell_arena *arena;
	const struct shell_word *places[PLACES_MAX];
	size_t place_count;
	enum choice choice;
	bool negated;
	struct group groups[GROUPS_MAX]; /* those around the present place, the whole first */
	unsigned depth; /* parentheses that are open */
	const struct shell_word *list[NAMES_MAX]; /* of -name and the like */
	size_t list_count;
	struct names names;
	const struct shell_word *name; /* the one that is looked at */
	struct blocklist_found_actions out;
	size_t room;
};

static const uint8_t here_kind[] = { SHELL_LITERAL };
static const struct shell_word here = { .text = { .s = ".", .len = 1 }, .kind = here_kind };

static bool is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

static struct shell_word known_text(const char *text, uint8_t kind, const struct shell_word *near,
				    struct shell_arena *arena)
{
	size_t len = strlen(text);
	uint8_t *kinds = shell_alloc(arena, len + 1);
	uint32_t *at = shell_alloc(arena, (len + 1) * sizeof(*at));

	memset(kinds, kind, len);
	for (size_t i = 0; i < len; i++)
		at[i] = near ? near->start : 0;
	return (struct shell_word){ .text = { .s = text, .at = at, .len = len }, .kind = kinds,
				    .start = near ? near->start : 0, .end = near ? near->end : 0 };
}

/* @a and @b with a slash between them. */
static struct shell_word path_of(const struct shell_word *a, const struct shell_word *b,
				 struct shell_arena *arena)
{
	struct shell_word marker = known_text("\1/\2", SHELL_LITERAL, a, arena), joined;

	joined = shell_wrap_replace(&marker, "\1", 1, a, arena);
	joined = shell_wrap_replace(&joined, "\2", 1, b, arena);
	joined.unknowns = a->unknowns;
	joined.unknown_count = a->unknown_count;
	joined.gone_from = a->gone_from;
	joined.gone_to = a->gone_to;
	return joined;
}

struct shell_word blocklist_contents(const struct shell_word *place, struct shell_arena *arena)
{
	struct shell_word star;

	if (!place || !place->text.len ||
	    (place->text.len == 1 && place->kind[0] >= SHELL_UNKNOWN))
		return known_text("?", SHELL_UNKNOWN, place, arena);
	star = known_text("*", SHELL_GLOB, place, arena);
	return path_of(place, &star, arena);
}

/* A pattern of nothing but wildcards narrows nothing. */
static bool wildcards_only(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (!strchr("*.?[]!^$+()\\/", w->text.s[i]))
			return false;
	return true;
}

static bool has_wildcard(const struct shell_word *w)
{
	return strpbrk(w->text.s, "*?[") != NULL;
}

/* Below these a pattern of names says what is meant. */
static bool named_place(const struct shell_word *place)
{
	static const char *const tops[] = { "/dev", "/boot", "/etc", "/lib", "/usr/lib", "/bin",
					    "/sbin", "/usr/bin", "/usr/sbin", "/sys", "/proc" };

	for (size_t i = 0; i < COUNT_OF(tops); i++)
		if (strncmp(place->text.s, tops[i], strlen(tops[i])) == 0)
			return true;
	return false;
}

/* The next of the names that are left, or none if there are none; *@k counts them. */
static bool next_name(struct search *s, size_t *k)
{
	size_t count = s->names.to - s->names.from;

	if (*k >= count + !count)
		return false;
	s->name = count ? s->list[s->names.from + *k] : NULL;
	++*k;
	return true;
}

/* What {} stands for, found below @place. */
static struct shell_word subject(struct search *s, const struct shell_word *place)
{
	if (s->choice == CHOICE_NARROW && s->name && place &&
	    (named_place(place) || !has_wildcard(s->name))) {
		struct shell_word name =
			known_text(s->name->text.s, SHELL_LITERAL, s->name, s->arena);
		uint8_t *kinds = shell_alloc(s->arena, name.text.len + 1);

		for (size_t i = 0; i < name.text.len; i++)
			kinds[i] = strchr("*?[]", name.text.s[i]) ? SHELL_GLOB : SHELL_LITERAL;
		name.kind = kinds;
		return path_of(place, &name, s->arena);
	}
	return blocklist_contents(s->choice == CHOICE_NARROW ? NULL : place, s->arena);
}

static void add_action(struct search *s, struct blocklist_found_action action)
{
	struct blocklist_found_action *list = s->out.list;

	if (s->out.count == ACTIONS_MAX) {
		shell_arena_exhaust(s->arena);
		return;
	}
	if (s->out.count == s->room) {
		s->room = s->room ? s->room * 2 : 8;
		s->out.list = shell_alloc(s->arena, s->room * sizeof(*list));
		if (s->out.count)
			memcpy(s->out.list, list, s->out.count * sizeof(*list));
	}
	s->out.list[s->out.count++] = action;
}

/* For -exec: changing modes of what is chosen by its mode, age or size is no whole tree. */
static bool only_changes_mode(const struct shell_word *words, size_t count)
{
	static const char changers[] =
		" chmod chown chgrp setfacl restorecon chcon gzip bzip2 xz mv cp ";

	for (size_t i = 0; i < count && i < 2; i++) {
		const char *slash = strrchr(words[i].text.s, '/');
		const char *name = slash ? slash + 1 : words[i].text.s;

		if (blocklist_listed(changers, name, strlen(name)))
			return true;
	}
	return false;
}

/* The command of -exec for one of what is found. */
static void add_run_on(struct search *s, const struct shell_word *words, size_t count, bool append,
		       const struct shell_word *place)
{
	struct shell_word stand_in = subject(s, place);
	struct shell_word *list = shell_alloc(s->arena, (count + 1) * sizeof(*list));
	bool placed = false;

	for (size_t i = 0; i < count; i++) {
		list[i] = words[i];
		if (!strstr(words[i].text.s, "{}"))
			continue;
		list[i] = is(&words[i], "{}") ? stand_in
			: shell_wrap_replace(&words[i], "{}", 2, &stand_in, s->arena);
		placed = true;
	}
	list[count] = stand_in;
	add_action(s, (struct blocklist_found_action){ FIND_RUN, stand_in, list,
						       count + (append && !placed),
						       s->choice == CHOICE_NARROW });
}

/*
 * Where else a name below / may be found: with a pattern it is not said. Returns how
 * many of @tops; /boot only if the pattern names what is there.
 */
static size_t below_root(const struct search *s, const char *const **tops)
{
	static const char *const places[] = { "/etc", "/lib", "/bin", "/boot" };
	static const char *const kernels[] = { "vmlinu", "initr", "grub", "System.map" };
	bool root = false;

	*tops = places;
	for (size_t p = 0; p < s->place_count; p++)
		root |= is(s->places[p], "/");
	if (!root || s->choice != CHOICE_NARROW || !s->name)
		return 0;
	for (size_t i = 0; i < COUNT_OF(kernels); i++)
		if (strncmp(s->name->text.s, kernels[i], strlen(kernels[i])) == 0)
			return COUNT_OF(places);
	return COUNT_OF(places) - 1;
}

static void add_run(struct search *s, const struct shell_word *words, size_t count, bool append)
{
	enum choice choice = s->choice;
	const char *const *tops;

	if (choice == CHOICE_WEAK && only_changes_mode(words, count))
		s->choice = CHOICE_NARROW;
	for (size_t k = 0; count && next_name(s, &k);) {
		for (size_t p = 0; p < s->place_count && !shell_arena_spent(s->arena); p++)
			add_run_on(s, words, count, append, s->places[p]);
		for (size_t i = below_root(s, &tops); i-- > 0 && !shell_arena_spent(s->arena);) {
			struct shell_word top = known_text(tops[i], SHELL_LITERAL, words, s->arena);

			add_run_on(s, words, count, append, &top);
		}
	}
	s->choice = choice;
}

static void add_below_root(struct search *s, enum blocklist_find_kind kind)
{
	const char *const *tops;

	for (size_t i = below_root(s, &tops); i-- > 0;) {
		struct shell_word top = known_text(tops[i], SHELL_LITERAL, s->places[0], s->arena);

		add_action(s, (struct blocklist_found_action){ kind, subject(s, &top), NULL, 0,
							       true });
	}
}

static void add_each(struct search *s, enum blocklist_find_kind kind)
{
	for (size_t k = 0; next_name(s, &k);) {
		if (kind == FIND_DELETE)
			add_below_root(s, kind);
		for (size_t p = 0; p < s->place_count; p++)
			add_action(s, (struct blocklist_found_action){
					      kind, subject(s, s->places[p]), NULL, 0,
					      s->choice == CHOICE_NARROW });
	}
}

static void add_place(struct search *s, const struct shell_word *place)
{
	if (s->place_count < PLACES_MAX)
		s->places[s->place_count++] = place;
}

/* ---- find ---- */

static const char names_tests[] =
	" -name -iname -path -ipath -wholename -iwholename -regex -iregex "
	"-lname -ilname ";
static const char strong_tests[] = " -group -inum -samefile -gid -fstype -uid -user -newer -anewer "
				   "-cnewer -newermt -links ";
static const char strong_flags[] = " -empty -nouser -nogroup ";
static const char weak_tests[] = " -mtime -mmin -atime -amin -ctime -cmin -size -perm -used "
				 "-context ";
static const char other_values[] = " -maxdepth -mindepth -type -xtype -printf -D -O -regextype ";

/* -perm -4000: setuid programs are no few files like any other. */
static bool special_mode(const struct shell_word *value)
{
	const char *s = value->text.s;

	return (s[0] == '-' || s[0] == '/') && strchr("2467", s[1]) && strlen(s) == 5;
}

/* A test that must hold from here on; a negated one leaves nearly all. */
static void narrow(struct search *s, enum choice choice)
{
	if (!s->negated && s->depth < GROUPS_MAX && choice > s->choice)
		s->choice = choice;
}

static void test_name(struct search *s, const struct shell_word *value)
{
	if (s->negated || s->depth >= GROUPS_MAX || wildcards_only(value))
		return;
	narrow(s, CHOICE_NARROW);
	if (s->list_count == NAMES_MAX)
		s->list_count--;
	s->list[s->list_count++] = value;
	s->names = (struct names){ s->list_count - 1, s->list_count };
}

/* The test or action at @i; returns how many words it takes. */
static size_t read_test(struct search *s, size_t i)
{
	const struct shell_word *w = &s->words[i], *value = i + 1 < s->count ? w + 1 : NULL;
	const char *text = w->text.s;
	size_t len = w->text.len;

	if (value && blocklist_listed(names_tests, text, len))
		test_name(s, value);
	else if (value && blocklist_listed(strong_tests, text, len))
		narrow(s, is(value, "root") || is(value, "0") ? CHOICE_ALL : CHOICE_NARROW);
	else if (blocklist_listed(strong_flags, text, len)) {
		narrow(s, CHOICE_NARROW);
		return 1;
	} else if (value && blocklist_listed(weak_tests, text, len))
		narrow(s, special_mode(value) ? CHOICE_ALL : CHOICE_WEAK);
	else if (!value || !blocklist_listed(other_values, text, len))
		return 1;
	return 2;
}

/* -exec and its relatives: the command ends at ; or at +. Returns how many words. */
static size_t read_exec(struct search *s, size_t i)
{
	size_t end = i + 1;

	while (end < s->count && !is(&s->words[end], ";") &&
	       !(is(&s->words[end], "+") && is(&s->words[end - 1], "{}")))
		end++;
	add_run(s, s->words + i + 1, end - i - 1, false);
	return end - i + 1;
}

/* ---- groups ---- */

static void open_group(struct search *s)
{
	if (++s->depth >= GROUPS_MAX)
		return;
	s->groups[s->depth] = (struct group){ s->choice, CHOICE_NARROW, s->names, s->negated };
}

/* Behind -o the tests before it do not hold, and behind a comma what they chose is forgotten. */
static void next_arm(struct search *s, bool comma)
{
	struct group *g = &s->groups[s->depth];

	if (s->depth >= GROUPS_MAX)
		return;
	if (comma)
		g->least = CHOICE_NARROW;
	else if (s->choice < g->least)
		g->least = s->choice;
	s->choice = g->choice;
	s->names = g->names;
}

/* What is chosen for certain is what each arm has chosen. */
static void close_group(struct search *s)
{
	struct group *g = &s->groups[s->depth];

	if (s->depth < GROUPS_MAX) {
		next_arm(s, false);
		if (!g->negated && g->least > s->choice)
			s->choice = g->least;
		if (!g->negated && s->list_count > g->names.to)
			s->names = (struct names){ g->names.to, s->list_count };
	}
	s->depth -= s->depth > 0;
}

static size_t read_part(struct search *s, size_t i)
{
	static const char runs[] = " -exec -execdir -ok -okdir ";
	static const char files[] = " -fprint -fprint0 -fls -fprintf ";
	const struct shell_word *w = &s->words[i];
	size_t taken = 1;

	if (is(w, "!") || is(w, "-not")) {
		s->negated = !s->negated;
		return 1;
	}
	if (is(w, "(")) {
		open_group(s);
	} else if (is(w, ")")) {
		close_group(s);
	} else if (is(w, "-delete")) {
		add_each(s, FIND_DELETE);
	} else if (blocklist_listed(runs, w->text.s, w->text.len)) {
		taken = read_exec(s, i);
	} else if (blocklist_listed(files, w->text.s, w->text.len) && i + 1 < s->count) {
		add_action(s, (struct blocklist_found_action){ FIND_WRITE, s->words[i + 1], NULL, 0,
							       false });
		taken = 2;
	} else if (is(w, "-o") || is(w, "-or") || is(w, ",")) {
		next_arm(s, is(w, ","));
	} else {
		taken = read_test(s, i);
	}
	s->negated = false;
	return taken;
}

static void read_find(struct search *s)
{
	size_t i = 1;

	while (i < s->count && s->words[i].text.s[0] == '-' &&
	       (is(&s->words[i], "-H") || is(&s->words[i], "-L") || is(&s->words[i], "-P") ||
		strncmp(s->words[i].text.s, "-O", 2) == 0 || is(&s->words[i], "-D")))
		i += 1 + is(&s->words[i], "-D");
	for (; i < s->count && s->words[i].text.s[0] != '-' && !is(&s->words[i], "(") &&
	       !is(&s->words[i], "!"); i++)
		add_place(s, &s->words[i]);
	if (!s->place_count)
		add_place(s, &here);
	s->groups[0].least = CHOICE_NARROW;
	while (i < s->count)
		i += read_part(s, i);
	if (!s->out.count) { /* find / -name x -o -name y: -print stands behind the whole */
		s->depth = 0;
		close_group(s);
		add_each(s, FIND_PRINT);
	}
}

/* ---- fd ---- */

static void read_fd(struct search *s)
{
	static const char runs[] = " -x --exec -X --exec-batch ";
	static const char values[] =
		" -e --extension -t --type -E --exclude -d --max-depth --min-depth "
		"-S --size --changed-within --changed-before -o --owner -j -c ";
	bool pattern = false;
	size_t i = 1;

	for (; i < s->count; i++) {
		const struct shell_word *w = &s->words[i];

		if (blocklist_listed(runs, w->text.s, w->text.len))
			break;
		if (blocklist_listed(values, w->text.s, w->text.len)) {
			if (is(w, "-e") || is(w, "--extension"))
				narrow(s, CHOICE_NARROW);
			i++;
		} else if (w->text.s[0] != '-') {
			if (pattern)
				add_place(s, w);
			else
				narrow(s, wildcards_only(w) ? CHOICE_ALL : CHOICE_NARROW);
			pattern = true;
		}
	}
	if (!s->place_count)
		add_place(s, &here);
	if (i < s->count)
		add_run(s, s->words + i + 1, s->count - i - 1, true);
	else
		add_each(s, FIND_PRINT);
}

struct blocklist_found_actions blocklist_find_read(const struct shell_word *words, size_t count,
						   bool is_fd, struct shell_arena *arena)
{
	struct search s = { .words = words, .count = count, .arena = arena };

	if (is_fd)
		read_fd(&s);
	else
		read_find(&s);
	return s.out;
}
