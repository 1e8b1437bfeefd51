/*
 * Paths are arrays of tokens: a byte, or one of the marks below. The patterns of
 * the table are a tree by components, so that a path is compared with the few
 * patterns that share its beginning.
 */
#include "guard/blocklist_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "guard/blocklist_args.h"
#include "guard/blocklist_table.h"
#include "guard/shell_parse.h"

#define COMPONENTS_MAX 1024
/* So many ".." lead out of any workspace to the root. */
#define CLIMB_TO_ROOT 4

enum mark {
	MARK_ANY = 0x100, /* one character */
	MARK_STAR,        /* a glob: any characters but a slash */
	MARK_MAYBE,       /* unknown, may be empty */
	MARK_SET,         /* unknown, not empty */
	MARK_HOME,        /* ~ */
};

struct part {
	const uint16_t *s;
	size_t len;
};

/* A path as components. */
struct path {
	enum { PATH_NOWHERE, PATH_ABSOLUTE, PATH_FLOATING } kind; /* FLOATING: begins unknown */
	size_t count;
	struct part parts[COMPONENTS_MAX];
};

struct tokens {
	size_t len;
	uint16_t s[BLOCKLIST_PATH_MAX];
};

/* ---- the patterns as a tree ---- */

struct node {
	const char *text; /* component; not ended by NUL */
	size_t len;
	bool glob;
	uint64_t here, below, except; /* classes of exactly this; of this and all below */
	struct node *children, *next;
	struct node **lists; /* the same children by their first character; the last one: any */
	struct node *same;   /* the next one in such a list */
};

#define LISTS 16u

static struct node top;
static uint64_t tree_classes, empty_classes, guess_classes, root_class, unknown_class;

static struct node *child_of(struct node *parent, const char *text, size_t len)
{
	struct node *n;

	for (n = parent->children; n; n = n->next)
		if (n->len == len && memcmp(n->text, text, len) == 0)
			return n;
	n = mem_zalloc(sizeof(*n));
	n->text = text;
	n->len = len;
	n->glob = memchr(text, '*', len) || memchr(text, '?', len);
	n->next = parent->children;
	parent->children = n;
	if (!parent->lists)
		parent->lists = mem_zalloc((LISTS + 1) * sizeof(struct node *));
	struct node **list = &parent->lists[strchr("*?~", text[0]) ? LISTS
						: (unsigned char)text[0] % LISTS];

	n->same = *list;
	*list = n;
	return n;
}

static void add_pattern(const char *pattern, uint64_t bit, bool except)
{
	struct node *n = &top;

	while (*pattern) {
		size_t len;

		pattern += strspn(pattern, "/");
		len = strcspn(pattern, "/");
		if (len == 2 && memcmp(pattern, "**", 2) == 0) {
			n->below |= bit;
			return;
		}
		if (len)
			n = child_of(n, pattern, len);
		pattern += len;
	}
	if (except)
		n->except |= bit;
	else
		n->here |= bit;
}

static void build_tree(void)
{
	for (unsigned i = 0; i < blocklist_target_count; i++) {
		const struct blocklist_target *t = &blocklist_targets[i];
		uint64_t bit = 1ull << i;

		for (const char *const *p = t->paths; *p; p++)
			add_pattern(*p, bit, false);
		for (const char *const *p = t->except; *p; p++)
			add_pattern(*p, bit, true);
		tree_classes |= t->tree ? bit : 0;
		empty_classes |= t->empty ? bit : 0;
		guess_classes |= t->guess ? bit : 0;
	}
	root_class = blocklist_class("root");
	unknown_class = blocklist_class("unknown");
}

static void need_tree(void)
{
	if (!root_class)
		build_tree();
}

uint64_t blocklist_class(const char *name)
{
	for (unsigned i = 0; i < blocklist_target_count; i++)
		if (strcmp(blocklist_targets[i].name, name) == 0)
			return 1ull << i;
	return 0;
}

/* ---- words to tokens ---- */

/* Variables that a shell always sets, and programs that always print something. */
static bool never_empty(const char *name)
{
	static const char *const names[] = {
		"PWD", "OLDPWD", "RANDOM", "SECONDS", "UID", "EUID", "PPID", "HOSTNAME", "USER",
		"LOGNAME", "BASHPID", "LINENO", "$", "#", "?", "SHLVL", "$(mktemp)", "$(pwd)",
		"$(whoami)", "$(id)", "$(date)", "$(hostname)", "$(uname)", "$(basename)",
		"$(dirname)", "$(nproc)", "$(uuidgen)", "$(logname)", "<(", ">(", ":?",
	};

	for (size_t i = 0; name && i < COUNT_OF(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* A bracket expression or an extended glob that begins at @i: where it ends. */
static size_t glob_end(const struct shell_word *w, size_t i)
{
	size_t k = i + 1;

	if (k < w->text.len && (w->text.s[k] == '!' || w->text.s[k] == '^'))
		k++;
	if (k < w->text.len && w->text.s[k] == ']')
		k++;
	while (k < w->text.len && w->text.s[k] != ']' && w->text.s[k] != '/')
		k++;
	return k < w->text.len && w->text.s[k] == ']' ? k : i;
}

static uint16_t token_of(const struct shell_word *w, size_t *i)
{
	unsigned char c = (unsigned char)w->text.s[*i];

	switch (w->kind[*i]) {
	case SHELL_TILDE:
		return MARK_HOME;
	case SHELL_UNKNOWN:
	case SHELL_UNKNOWN_FIELDS:
		return never_empty(shell_word_unknown(w, *i)) ? MARK_SET : MARK_MAYBE;
	case SHELL_GLOB:
		if (c == '[') {
			size_t end = glob_end(w, *i);

			if (end == *i)
				return c;
			*i = end;
			return MARK_ANY;
		}
		return c == '?' ? MARK_ANY : c == ']' ? c : MARK_STAR;
	default:
		return c;
	}
}

static bool tokenize(const struct shell_word *w, size_t skip, struct tokens *out)
{
	out->len = 0;
	for (size_t i = skip; i < w->text.len; i++) {
		if (out->len == BLOCKLIST_PATH_MAX)
			return false;
		out->s[out->len++] = token_of(w, &i);
	}
	return true;
}

/* ---- resolving ---- */

static bool part_is(struct part p, const char *text)
{
	size_t len = strlen(text);

	if (p.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (p.s[i] != (unsigned char)text[i])
			return false;
	return true;
}

/* Add the components of @s to @p. Returns how often ".." went above the first. */
static unsigned add_parts(struct path *p, const uint16_t *s, size_t len)
{
	unsigned climbed = 0;

	for (size_t i = 0; i < len;) {
		struct part part = { s + i, 0 };

		while (i + part.len < len && s[i + part.len] != '/')
			part.len++;
		i += part.len + 1;
		if (!part.len || part_is(part, "."))
			continue;
		if (part_is(part, "..")) {
			climbed += p->count == 0;
			p->count -= p->count > 0;
		} else if (p->count < COMPONENTS_MAX) {
			p->parts[p->count++] = part;
		}
	}
	return climbed;
}

/* /proc/N/root is the root as another process sees it. */
static void leave_proc(struct path *p)
{
	while (p->count >= 3 && part_is(p->parts[0], "proc") &&
	       (part_is(p->parts[2], "root") || part_is(p->parts[2], "cwd"))) {
		memmove(p->parts, p->parts + 3, (p->count - 3) * sizeof(p->parts[0]));
		p->count -= 3;
	}
}

static void resolve_relative(struct path *p, const uint16_t *s, size_t len,
			     const struct blocklist_dir *dir)
{
	p->kind = PATH_ABSOLUTE;
	if (dir->known) {
		add_parts(p, dir->path, dir->len);
		add_parts(p, s, len);
	} else if (add_parts(p, s, len) < CLIMB_TO_ROOT) {
		p->kind = PATH_NOWHERE;
	}
}

/* @named: the unknown at the start is the working directory. */
static void resolve(struct path *p, const struct tokens *t, bool named,
		    const struct blocklist_dir *dir)
{
	static const uint16_t root_home[] = { '/', 'r', 'o', 'o', 't' };
	bool home = t->len && t->s[0] == MARK_HOME;
	bool plus = home && t->len > 1 && t->s[1] == '+' && (t->len == 2 || t->s[2] == '/');
	bool of_root = home && t->len >= 5 && part_is((struct part){ t->s + 1, 4 }, "root") &&
		       (t->len == 5 || t->s[5] == '/');

	p->count = 0;
	p->kind = PATH_ABSOLUTE;
	if (named || plus) {
		resolve_relative(p, t->s + 1 + plus, t->len - 1 - plus, dir);
	} else if (of_root) {
		add_parts(p, root_home, COUNT_OF(root_home));
		add_parts(p, t->s + 5, t->len - 5);
	} else if (home || (t->len && t->s[0] == '/')) {
		add_parts(p, t->s, t->len);
	} else if (t->len && (t->s[0] == MARK_MAYBE || t->s[0] == MARK_SET)) {
		p->kind = PATH_FLOATING;
	} else {
		resolve_relative(p, t->s, t->len, dir);
	}
	leave_proc(p);
}

/* ---- comparing ---- */

static bool is_run(uint16_t c)
{
	return c == MARK_STAR || c == MARK_MAYBE || c == MARK_SET;
}

/* Positions of a pattern, as bits: those behind a star are reached with it. */
static uint64_t pass_stars(const char *pattern, size_t len, uint64_t set)
{
	for (size_t j = 0; j < len; j++)
		if (pattern[j] == '*' && (set >> j & 1))
			set |= 2ull << j;
	return set;
}

static bool fits(char pattern, uint16_t c)
{
	if (pattern == '?' || pattern == '*' || c == MARK_ANY)
		return true;
	return c == (pattern == '~' ? MARK_HOME : (unsigned char)pattern);
}

/* Is there a name that fits both? A pattern is shorter than 64 (see the generator). */
static bool intersect(const char *pattern, size_t len, struct part p)
{
	uint64_t set = pass_stars(pattern, len, 1);

	for (size_t i = 0; i < p.len && set; i++) {
		uint64_t next = 0;

		if (is_run(p.s[i])) /* any text: every later position */
			next = ~0ull << __builtin_ctzll(set);
		for (size_t j = 0; j < len && !is_run(p.s[i]); j++)
			if ((set >> j & 1) && fits(pattern[j], p.s[i]))
				next |= pattern[j] == '*' ? 1ull << j : 2ull << j;
		set = pass_stars(pattern, len, next);
	}
	return set >> len & 1;
}

static bool plain(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] > 0xff && p.s[i] != MARK_HOME)
			return false;
	return true;
}

static bool wholly_unknown(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] != MARK_MAYBE && p.s[i] != MARK_SET)
			return false;
	return p.len > 0;
}

/* Work of the present classification. */
static uint64_t steps;

static bool differ(char pattern, uint16_t c)
{
	return c <= 0xff && pattern != '*' && pattern != '?' && pattern != '~' &&
	       c != (unsigned char)pattern;
}

/* Most nodes are told apart by their first character, or by their last one. */
static bool ends_differ(const struct node *n, struct part p)
{
	return n->len && p.len &&
	       (differ(n->text[0], p.s[0]) || differ(n->text[n->len - 1], p.s[p.len - 1]));
}

static bool part_matches(const struct node *n, struct part p, bool is_plain)
{
	steps++;
	if (ends_differ(n, p))
		return false;
	if (is_plain && !n->glob) {
		if (n->len != p.len)
			return false;
		for (size_t i = 0; i < p.len; i++)
			if (p.s[i] != (n->text[i] == '~' ? MARK_HOME : (unsigned char)n->text[i]))
				return false;
		return true;
	}
	steps += 4 + p.len * n->len / 4;
	return intersect(n->text, n->len, p);
}

static uint64_t match_below(const struct node *n, const struct path *p, size_t i, uint64_t *except)
{
	uint64_t found = n->below, mask = ~0ull;
	bool is_plain;

	if (i == p->count) {
		*except |= n->except;
		return found | n->here;
	}
	is_plain = plain(p->parts[i]);
	if (wholly_unknown(p->parts[i]))
		mask = guess_classes | empty_classes;
	if (!n->lists)
		return found;
	if (p->parts[i].s[0] > 0xff) {
		for (const struct node *c = n->children; c; c = c->next)
			if (part_matches(c, p->parts[i], is_plain))
				found |= match_below(c, p, i + 1, except) & mask;
		return found;
	}
	const struct node *same[] = { n->lists[p->parts[i].s[0] % LISTS], n->lists[LISTS] };

	for (size_t k = 0; k < COUNT_OF(same); k++)
		for (const struct node *c = same[k]; c; c = c->same)
			if (part_matches(c, p->parts[i], is_plain))
				found |= match_below(c, p, i + 1, except) & mask;
	return found;
}

static uint64_t match(const struct path *p)
{
	uint64_t except = 0, found = match_below(&top, p, 0, &except);

	for (size_t i = 0; except && i < p->count; i++)
		if (!plain(p->parts[i]))
			except = 0;
	return found & ~except;
}

/* A glob that takes everything: * .* ?* .[!.]* *.* */
static bool broad(struct part p)
{
	bool star = false;

	for (size_t i = 0; i < p.len; i++) {
		if (p.s[i] == MARK_STAR)
			star = true;
		else if (p.s[i] != MARK_ANY && p.s[i] != '.')
			return false;
	}
	return star;
}

/* The classes of @p; what a glob at its end takes is the directory before it. */
static uint64_t match_tree(struct path *p, bool only_globs)
{
	uint64_t found = match(p);
	bool stripped = false;

	if (only_globs)
		found &= ~tree_classes;
	while (p->count && broad(p->parts[p->count - 1])) {
		p->count--;
		stripped = true;
	}
	return stripped ? found | (match(p) & tree_classes) : found;
}

/* "$A/$B": it takes two accidents to leave nothing. */
static bool two_unknowns(const struct tokens *t)
{
	size_t parts = 0;

	for (size_t i = 0; i < t->len; i++)
		parts += t->s[i] == MARK_MAYBE && (i == 0 || t->s[i - 1] == '/');
	return parts > 1;
}

/* Without what may be empty. */
static bool drop_maybe(struct tokens *t)
{
	size_t len = 0;

	if (two_unknowns(t))
		return false;
	for (size_t i = 0; i < t->len; i++)
		if (t->s[i] != MARK_MAYBE)
			t->s[len++] = t->s[i];
	if (len == t->len)
		return false;
	t->len = len;
	return true;
}

/* /home/$u/.cache: without the name it would be no home, but what is kept in one. */
static bool below_some_home(const struct tokens *t)
{
	static const char home[] = "/home/";
	size_t len = sizeof(home) - 1;

	for (size_t i = 0; i < len; i++)
		if (i >= t->len || t->s[i] != (unsigned char)home[i])
			return false;
	return t->len > len + 2 && t->s[len] == MARK_MAYBE && t->s[len + 1] == '/' &&
	       t->s[len + 2] <= 0xff && t->s[len + 2] != '/';
}

static bool named_directory(const struct shell_word *w, size_t skip)
{
	const char *name = shell_word_unknown(w, skip);

	return name && (strcmp(name, "PWD") == 0 || strcmp(name, "$(pwd)") == 0);
}

/* $(findmnt -no SOURCE /): the device of a mounted file system. */
static bool names_device(const struct shell_word *word)
{
	static const char programs[] = " $(findmnt) $(df) $(lsblk) $(blkid) ";

	return word->unknown_count == 1 &&
	       blocklist_listed(programs, word->unknowns[0].name, strlen(word->unknowns[0].name));
}

uint64_t blocklist_classify(const struct shell_word *word, size_t skip,
			    const struct blocklist_dir *dir, enum blocklist_reach reach)
{
	static struct tokens t;
	static struct path p;
	uint64_t found = 0;
	bool named, floating;

	steps = 0;
	need_tree();
	if (skip >= word->text.len || !tokenize(word, skip, &t))
		return 0;
	named = named_directory(word, skip);
	if (!named && wholly_unknown((struct part){ t.s, t.len }))
		return unknown_class | (names_device(word) ? guess_classes : 0);
	resolve(&p, &t, named, dir);
	floating = p.kind == PATH_FLOATING;
	if (p.kind == PATH_ABSOLUTE)
		found = match_tree(&p, reach == REACH_FILE);
	if (reach != REACH_TREE_OR_EMPTY || named || below_some_home(&t) || !drop_maybe(&t) ||
	    !t.len || (t.s[0] != '/' && t.s[0] != MARK_HOME))
		return found;
	resolve(&p, &t, false, dir);
	return found | (match_tree(&p, false) & (floating ? root_class : empty_classes));
}

uint64_t blocklist_path_steps(void)
{
	return steps;
}

/* ---- the working directory ---- */

static void store_dir(struct blocklist_dir *dir, const struct path *p)
{
	size_t len = 0;

	dir->known = false;
	for (size_t i = 0; i < p->count; i++) {
		if (len + p->parts[i].len + 1 > COUNT_OF(dir->path))
			return;
		dir->path[len++] = '/';
		memcpy(dir->path + len, p->parts[i].s, p->parts[i].len * sizeof(uint16_t));
		len += p->parts[i].len;
	}
	dir->len = len;
	dir->known = true;
}

void blocklist_chdir(struct blocklist_dir *dir, const struct shell_word *word)
{
	static struct tokens t;
	static struct path p;
	struct blocklist_dir before;

	need_tree();
	blocklist_dir_copy(&before, dir);
	dir->known = false;
	if (!tokenize(word, 0, &t))
		return;
	resolve(&p, &t, named_directory(word, 0), &before);
	if (p.kind == PATH_ABSOLUTE)
		store_dir(dir, &p);
}
