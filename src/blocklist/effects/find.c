#include "blocklist/effects/find.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "blocklist/command/word.h"

/* Steps of the budget for a command, and for each word. */
#define WORK_FIND 60u
#define WORK_WORD 12u
/* Nested parentheses; tests in deeper ones are ignored. */
#define GROUPS_MAX 16
/* Start directories times actions times names; a command with more is too complex. */
#define ACTIONS_MAX 4096

/* How much of a tree the tests so far leave in the worst case. */
enum choice {
	CHOICE_ALL,
	CHOICE_WEAK,   /* by age, size or mode */
	CHOICE_NARROW, /* by name, owner, ... */
};

/* The name tests in force: search.list[from..to). */
struct names {
	size_t from, to;
};

/* An expression in parentheses, or the whole. */
struct group {
	enum choice choice, least; /* before the group; the widest of its arms so far */
	struct names names;        /* before the group; those of its arms follow in the list */
	bool negated;
};

struct search {
	const struct shell_word *words;
	size_t count;
	struct shell_arena *arena;
	const struct shell_word **places; /* room for one per word */
	size_t place_count;
	enum choice choice;
	bool negated;
	struct group groups[GROUPS_MAX]; /* open ones; [0] is the whole expression */
	unsigned depth; /* open parentheses */
	const struct shell_word **list; /* values of -name and the like; room for one per word */
	size_t list_count;
	struct names names;
	const struct shell_word *name; /* set by find_next_name() */
	struct action_list *out;
	size_t first; /* number of actions in @out before */
};

static const uint8_t here_kind[] = { SHELL_LITERAL };
static const struct shell_word here = { .text = { .s = ".", .len = 1 }, .kind = here_kind };

/* A pattern of wildcards alone selects every name. */
static bool find_is_wildcards(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (!strchr("*.?[]!^$+()\\/", w->text.s[i]))
			return false;
	return true;
}

static bool find_has_wildcard(const struct shell_word *w)
{
	return strpbrk(w->text.s, "*?[") != NULL;
}

/* Below these directories a name pattern selects a few files. */
static bool find_is_system_place(const struct shell_word *place)
{
	static const char *const tops[] = { "/dev", "/boot", "/etc", "/lib", "/usr/lib", "/bin",
					    "/sbin", "/usr/bin", "/usr/sbin", "/sys", "/proc" };

	for (size_t i = 0; i < COUNT_OF(tops); i++)
		if (strncmp(place->text.s, tops[i], strlen(tops[i])) == 0)
			return true;
	return false;
}

/* Set s->name to name number *@k in force, and count *@k up; once to NULL if there is none. */
static bool find_next_name(struct search *s, size_t *k)
{
	size_t count = s->names.to - s->names.from;

	if (*k >= count + !count || shell_arena_spent(s->arena))
		return false;
	s->name = count ? s->list[s->names.from + *k] : NULL;
	++*k;
	return true;
}

/* The word that {} stands for, with files found below @place. */
static struct shell_word find_subject(struct search *s, const struct shell_word *place)
{
	if (s->choice == CHOICE_NARROW && s->name && place &&
	    (find_is_system_place(place) || !find_has_wildcard(s->name))) {
		struct shell_word name =
			word_fixed(s->name->text.s, SHELL_LITERAL, s->name, s->arena);
		uint8_t *kinds = shell_alloc(s->arena, name.text.len + 1);

		for (size_t i = 0; i < name.text.len; i++)
			kinds[i] = strchr("*?[]", name.text.s[i]) ? SHELL_GLOB : SHELL_LITERAL;
		name.kind = kinds;
		return word_path(place, &name, s->arena);
	}
	return word_below(s->choice == CHOICE_NARROW ? NULL : place, s->arena);
}

/* An action whose place is the whole command, so that a report quotes all of it. */
static void find_add(struct search *s, struct action action)
{
	if (s->out->count - s->first == ACTIONS_MAX) {
		shell_arena_exhaust(s->arena);
		return;
	}
	action.start = s->words[0].start;
	action.end = s->words[s->count - 1].end;
	*action_add(s->out, action.kind, 0) = action;
}

/* ACTION_TOUCH, which removes @subject, or ACTION_PRINT of it. */
static void find_add_subject(struct search *s, enum action_kind kind, struct shell_word subject,
			     bool narrow)
{
	struct shell_word *copy = shell_alloc(s->arena, sizeof(*copy));

	*copy = subject;
	find_add(s, (struct action){ .kind = kind, .word = copy,
				     .effect = narrow ? "remove" : "remove_tree" });
}

/*
 * chmod and the like on files selected by mode, age or size: a common clean-up, not judged as
 * done to the whole tree.
 */
static bool find_only_changes_mode(const struct shell_word *words, size_t count)
{
	static const char changers[] =
		" chmod chown chgrp setfacl restorecon chcon gzip bzip2 xz mv cp ";

	for (size_t i = 0; i < count && i < 2; i++) {
		const char *name = str_base_name(words[i].text.s);

		if (list_has(changers, name, strlen(name)))
			return true;
	}
	return false;
}

/* The command of -exec, run on what is found below @place. */
static void find_add_run_on(struct search *s, const struct shell_word *words, size_t count,
			    bool append, const struct shell_word *place)
{
	struct shell_word stand_in = find_subject(s, place);
	struct shell_word *list = shell_alloc(s->arena, (count + 1) * sizeof(*list));
	bool placed = false;

	for (size_t i = 0; i < count; i++) {
		list[i] = words[i];
		if (!strstr(words[i].text.s, "{}"))
			continue;
		list[i] = word_is(&words[i], "{}") ? stand_in
			: word_replace(&words[i], "{}", 2, &stand_in, s->out->budget,
				       s->arena);
		placed = true;
	}
	list[count] = stand_in;
	find_add(s, (struct action){ .kind = ACTION_WORDS, .words = list,
				     .count = count + (append && !placed),
				     .flags = ACTION_EACH });
}

/*
 * find / -name PATTERN, find /usr -name PATTERN: system directories that may hold such a name,
 * besides / or /usr itself. For what is run on them, by -exec or a pipe, only those below /: the
 * files that it picks in /usr/lib are few, and a glob of them as an operand counts as most of it.
 * Returns how many of @tops; the last, /boot, only if the pattern names a file of it.
 */
static size_t find_below_root(const struct search *s, bool runs, const char *const **tops)
{
	static const char *const places[] = { "/etc", "/lib", "/bin", "/boot" };
	static const char *const below_usr[] = { "/usr/lib" };
	static const char *const kernels[] = { "vmlinu", "initr", "grub", "System.map" };
	bool root = false, usr = false;

	for (size_t p = 0; p < s->place_count; p++) {
		root |= word_in(s->places[p], " / // /. ");
		usr |= word_in(s->places[p], " /usr /usr/ ");
	}
	*tops = root ? places : below_usr;
	if (s->choice != CHOICE_NARROW || !s->name || !(root || usr))
		return 0;
	if (!root)
		return runs ? 0 : COUNT_OF(below_usr);
	for (size_t i = 0; i < COUNT_OF(kernels); i++)
		if (strncmp(s->name->text.s, kernels[i], strlen(kernels[i])) == 0)
			return COUNT_OF(places);
	return COUNT_OF(places) - 1;
}

static void find_add_below_root(struct search *s, enum action_kind kind)
{
	const char *const *tops;

	for (size_t i = find_below_root(s, kind == ACTION_PRINT, &tops); i-- > 0;) {
		struct shell_word top = word_fixed(tops[i], SHELL_LITERAL, s->places[0], s->arena);

		find_add_subject(s, kind, find_subject(s, &top), true);
	}
}

static void find_add_run(struct search *s, const struct shell_word *words, size_t count,
			 bool append)
{
	enum choice choice = s->choice;
	const char *const *tops;

	if (choice == CHOICE_WEAK && find_only_changes_mode(words, count))
		s->choice = CHOICE_NARROW;
	for (size_t k = 0; count && find_next_name(s, &k);) {
		for (size_t p = 0; p < s->place_count && !shell_arena_spent(s->arena); p++)
			find_add_run_on(s, words, count, append, s->places[p]);
		if (word_in(words, " rm unlink "))
			find_add_below_root(s, ACTION_TOUCH);
		for (size_t i = find_below_root(s, true, &tops);
		     i-- > 0 && !shell_arena_spent(s->arena);) {
			struct shell_word top = word_fixed(tops[i], SHELL_LITERAL, words, s->arena);

			find_add_run_on(s, words, count, append, &top);
		}
	}
	s->choice = choice;
}

static void find_add_each(struct search *s, enum action_kind kind)
{
	for (size_t k = 0; find_next_name(s, &k);) {
		find_add_below_root(s, kind);
		for (size_t p = 0; p < s->place_count && !shell_arena_spent(s->arena); p++)
			find_add_subject(s, kind, find_subject(s, s->places[p]),
					 s->choice == CHOICE_NARROW);
	}
}

static void find_add_place(struct search *s, const struct shell_word *place)
{
	s->places[s->place_count++] = place;
}

/* ---- find ---- */

static const char names_tests[] =
	" -name -iname -path -ipath -wholename -iwholename -regex -iregex "
	"-lname -ilname ";
static const char strong_tests[] = " -group -inum -samefile -gid -fstype -uid -user -links ";
static const char strong_flags[] = " -empty -nouser -nogroup ";
static const char weak_tests[] = " -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer "
				 "-newermt -newerat -newerct -size -perm -used -context ";
static const char other_values[] = " -maxdepth -mindepth -type -xtype -printf -D -O -regextype ";

/* -perm -4000: setuid programs are not a few files like any other. */
static bool find_is_special_mode(const struct shell_word *value)
{
	const char *s = value->text.s;

	return (s[0] == '-' || s[0] == '/') && strchr("2467", s[1]) && strlen(s) == 5;
}

/* A test that leaves @choice; a negated one leaves nearly all files. */
static void find_narrow(struct search *s, enum choice choice)
{
	if (!s->negated && s->depth < GROUPS_MAX && choice > s->choice)
		s->choice = choice;
}

static void find_narrow_by_name(struct search *s, const struct shell_word *value)
{
	if (s->negated || s->depth >= GROUPS_MAX || find_is_wildcards(value))
		return;
	find_narrow(s, CHOICE_NARROW);
	s->list[s->list_count++] = value;
	s->names = (struct names){ s->list_count - 1, s->list_count };
}

/* The test at @i; returns how many words it takes. */
static size_t find_read_test(struct search *s, size_t i)
{
	const struct shell_word *w = &s->words[i], *value = i + 1 < s->count ? w + 1 : NULL;
	const char *text = w->text.s;
	size_t len = w->text.len;

	if (value && list_has(names_tests, text, len))
		find_narrow_by_name(s, value);
	else if (value && list_has(strong_tests, text, len))
		find_narrow(s, word_in(value, " root 0 ") ? CHOICE_ALL : CHOICE_NARROW);
	else if (list_has(strong_flags, text, len)) {
		find_narrow(s, CHOICE_NARROW);
		return 1;
	} else if (value && list_has(weak_tests, text, len))
		find_narrow(s, find_is_special_mode(value) ? CHOICE_ALL : CHOICE_WEAK);
	else if (!value || !list_has(other_values, text, len))
		return 1;
	return 2;
}

/* -exec and its relatives: the command ends at ; or at +. Returns how many words. */
static size_t find_read_exec(struct search *s, size_t i)
{
	size_t end = i + 1;

	while (end < s->count && !word_is(&s->words[end], ";") &&
	       !(word_is(&s->words[end], "+") && word_is(&s->words[end - 1], "{}")))
		end++;
	find_add_run(s, s->words + i + 1, end - i - 1, false);
	return end - i + 1;
}

/* ---- groups ---- */

static void find_open_group(struct search *s)
{
	if (++s->depth >= GROUPS_MAX)
		return;
	s->groups[s->depth] = (struct group){ s->choice, CHOICE_NARROW, s->names, s->negated };
}

/* After -o the tests before it need not hold; after a comma they do not matter at all. */
static void find_next_arm(struct search *s, bool comma)
{
	struct group *g;

	if (s->depth >= GROUPS_MAX)
		return;
	g = &s->groups[s->depth];
	if (comma)
		g->least = CHOICE_NARROW;
	else if (s->choice < g->least)
		g->least = s->choice;
	s->choice = g->choice;
	s->names = g->names;
}

/* The group narrows the choice as far as its widest arm does. */
static void find_close_group(struct search *s)
{
	if (s->depth < GROUPS_MAX) {
		struct group *g = &s->groups[s->depth];

		find_next_arm(s, false);
		if (!g->negated && g->least > s->choice)
			s->choice = g->least;
		if (!g->negated && s->list_count > g->names.to)
			s->names = (struct names){ g->names.to, s->list_count };
	}
	s->depth -= s->depth > 0;
}

static size_t find_read_part(struct search *s, size_t i)
{
	static const char runs[] = " -exec -execdir -ok -okdir ";
	static const char files[] = " -fprint -fprint0 -fls -fprintf ";
	const struct shell_word *w = &s->words[i];
	size_t taken = 1;

	if (word_is(w, "!") || word_is(w, "-not")) {
		s->negated = !s->negated;
		return 1;
	}
	if (word_is(w, "(")) {
		find_open_group(s);
	} else if (word_is(w, ")")) {
		find_close_group(s);
	} else if (word_is(w, "-delete")) {
		find_add_each(s, ACTION_TOUCH);
	} else if (word_in(w, runs)) {
		taken = find_read_exec(s, i);
	} else if (word_in(w, files) && i + 1 < s->count) {
		find_add(s, (struct action){ .kind = ACTION_TOUCH, .word = &s->words[i + 1],
					     .effect = "write" });
		taken = 2;
	} else if (word_is(w, "-o") || word_is(w, "-or") || word_is(w, ",")) {
		find_next_arm(s, word_is(w, ","));
	} else {
		taken = find_read_test(s, i);
	}
	s->negated = false;
	return taken;
}

static void find_read_find(struct search *s)
{
	size_t i = 1;

	while (i < s->count && s->words[i].text.s[0] == '-' &&
	       (word_in(&s->words[i], " -H -L -P -D ") || word_begins(&s->words[i], "-O")))
		i += 1 + word_is(&s->words[i], "-D");
	i += i < s->count && word_is(&s->words[i], "--");
	for (; i < s->count && s->words[i].text.s[0] != '-' && !word_is(&s->words[i], "(") &&
	     !word_is(&s->words[i], "!"); i++)
		find_add_place(s, &s->words[i]);
	if (!s->place_count)
		find_add_place(s, &here);
	s->groups[0].least = CHOICE_NARROW;
	while (i < s->count)
		i += find_read_part(s, i);
	/* Without an action, find prints what the whole expression leaves. */
	if (s->out->count == s->first) {
		s->depth = 0;
		find_close_group(s);
		find_add_each(s, ACTION_PRINT);
	}
}

/* ---- fd ---- */

static void find_read_fd(struct search *s)
{
	static const char runs[] = " -x --exec -X --exec-batch ";
	static const char values[] =
		" -e --extension -t --type -E --exclude -d --max-depth --min-depth "
		"-S --size --changed-within --changed-before -o --owner -j -c ";
	bool pattern = false;
	size_t i = 1;

	for (; i < s->count; i++) {
		const struct shell_word *w = &s->words[i];

		if (word_in(w, runs))
			break;
		if (word_in(w, values)) {
			if (word_is(w, "-e") || word_is(w, "--extension"))
				find_narrow(s, CHOICE_NARROW);
			i++;
		} else if (w->text.s[0] != '-') {
			if (pattern)
				find_add_place(s, w);
			else
				find_narrow(s, find_is_wildcards(w) ? CHOICE_ALL : CHOICE_NARROW);
			pattern = true;
		}
	}
	if (!s->place_count)
		find_add_place(s, &here);
	if (i < s->count)
		find_add_run(s, s->words + i + 1, s->count - i - 1, true);
	else
		find_add_each(s, ACTION_PRINT);
}

void find_read(const struct shell_word *words, size_t count, bool is_fd, struct action_list *out)
{
	struct search s = { .words = words, .count = count, .arena = out->arena, .out = out,
			    .first = out->count };

	if (!action_charge(out, WORK_FIND + WORK_WORD * count))
		return;
	s.places = shell_alloc(out->arena, count * sizeof(*s.places));
	s.list = shell_alloc(out->arena, count * sizeof(*s.list));
	if (is_fd)
		find_read_fd(&s);
	else
		find_read_find(&s);
}
