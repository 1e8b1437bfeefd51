#include "blocklist/path_tree.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/command/list.h"
#include "blocklist/command/table.h"

/* ---- the patterns as a tree ---- */

struct node {
	const char *text; /* component; not ended by NUL */
	size_t len;
	bool glob;
	uint64_t here, below;    /* classes of exactly this; of this and all below */
	uint64_t except, sweeps; /* classes that exclude it; that exclude it as a glob */
	struct node *children, *next;
	struct node **lists; /* the same children by their first character; the last one: any */
	struct node *same;   /* the next one in such a list */
};

#define LISTS 16u

static struct node top;
static struct path_classes classes;

static struct node *path_tree_child_of(struct node *parent, const char *text, size_t len)
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

/* The node of @pattern without a trailing double star. *@all: it had one. */
static struct node *path_tree_node_of(const char *pattern, bool *all)
{
	struct node *n = &top;

	*all = false;
	while (*pattern) {
		size_t len;

		pattern += strspn(pattern, "/");
		len = strcspn(pattern, "/");
		if (len == 2 && memcmp(pattern, "**", 2) == 0) {
			*all = true;
			return n;
		}
		if (len)
			n = path_tree_child_of(n, pattern, len);
		pattern += len;
	}
	return n;
}

static void path_tree_add_target(const struct blocklist_target *t, uint64_t bit)
{
	bool all;

	for (const char *p = strtab_first(t->paths); p; p = strtab_next(p)) {
		struct node *n = path_tree_node_of(p, &all);

		*(all ? &n->below : &n->here) |= bit;
	}
	for (const char *p = strtab_first(t->except); p; p = strtab_next(p))
		path_tree_node_of(p, &all)->except |= bit;
	for (const char *p = strtab_first(t->sweeps); p; p = strtab_next(p))
		path_tree_node_of(p, &all)->sweeps |= bit;
}

/* The bit of the class called @name; 0 if there is none. */
static uint64_t path_tree_class(const char *name)
{
	for (unsigned i = 0; i < blocklist_target_count; i++)
		if (strcmp(strtab_get(blocklist_targets[i].name), name) == 0)
			return 1ull << i;
	return 0;
}

static void path_tree_build(void)
{
	for (unsigned i = 0; i < blocklist_target_count; i++) {
		const struct blocklist_target *t = &blocklist_targets[i];
		uint64_t bit = 1ull << i;

		path_tree_add_target(t, bit);
		classes.tree |= t->tree ? bit : 0;
		classes.empty |= t->empty ? bit : 0;
		classes.guess |= t->guess ? bit : 0;
	}
	classes.root = path_tree_class("root");
	classes.unknown = path_tree_class("unknown");
}

const struct path_classes *path_classes(void)
{
	if (!classes.root)
		path_tree_build();
	return &classes;
}

/* ---- comparing ---- */

static bool path_tree_is_run(uint16_t c)
{
	return c == MARK_STAR || c == MARK_MAYBE || c == MARK_SET;
}

/* @set, positions in @pattern as bits, and the positions after stars at them. */
static uint64_t path_tree_pass_stars(const char *pattern, size_t len, uint64_t set)
{
	for (size_t j = 0; j < len; j++)
		if (pattern[j] == '*' && (set >> j & 1))
			set |= 2ull << j;
	return set;
}

static bool path_tree_fits(char pattern, uint16_t c)
{
	if (pattern == '?' || pattern == '*' || c == MARK_ANY)
		return true;
	return c == (pattern == '~' ? MARK_HOME : (unsigned char)pattern);
}

/* Is there a name that matches both? A pattern is shorter than 64 bytes (see src/gen). */
static bool path_tree_intersect(const char *pattern, size_t len, struct path_part p)
{
	uint64_t set = path_tree_pass_stars(pattern, len, 1);

	for (size_t i = 0; i < p.len && set; i++) {
		uint64_t next = 0;

		if (path_tree_is_run(p.s[i])) /* any text reaches every later position */
			next = ~0ull << __builtin_ctzll(set);
		for (size_t j = 0; j < len && !path_tree_is_run(p.s[i]); j++)
			if ((set >> j & 1) && path_tree_fits(pattern[j], p.s[i]))
				next |= pattern[j] == '*' ? 1ull << j : 2ull << j;
		set = path_tree_pass_stars(pattern, len, next);
	}
	return set >> len & 1;
}

static bool path_tree_plain(struct path_part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] > 0xff && p.s[i] != MARK_HOME)
			return false;
	return true;
}

bool path_wholly_unknown(struct path_part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] != MARK_MAYBE && p.s[i] != MARK_SET)
			return false;
	return p.len > 0;
}

static bool path_tree_begins_unknown(struct path_part p)
{
	return p.len && (p.s[0] == MARK_MAYBE || p.s[0] == MARK_SET);
}

uint64_t path_steps;

static bool path_tree_differ(char pattern, uint16_t c)
{
	return c <= 0xff && pattern != '*' && pattern != '?' && pattern != '~' &&
	       c != (unsigned char)pattern;
}

/* The first or last character rules most nodes out. */
static bool path_tree_ends_differ(const struct node *n, struct path_part p)
{
	return n->len && p.len &&
	       (path_tree_differ(n->text[0], p.s[0]) ||
		path_tree_differ(n->text[n->len - 1], p.s[p.len - 1]));
}

static bool path_tree_part_matches(const struct node *n, struct path_part p, bool is_plain)
{
	path_steps++;
	if (path_tree_ends_differ(n, p))
		return false;
	if (is_plain && !n->glob) {
		if (n->len != p.len)
			return false;
		for (size_t i = 0; i < p.len; i++)
			if (p.s[i] != (n->text[i] == '~' ? MARK_HOME : (unsigned char)n->text[i]))
				return false;
		return true;
	}
	path_steps += 4 + p.len * n->len / 4;
	return path_tree_intersect(n->text, n->len, p);
}

/* Is @p the glob @n itself, not another one that may match the same names? */
static bool path_tree_is_same_glob(const struct node *n, struct path_part p)
{
	if (n->len != p.len)
		return false;
	for (size_t i = 0; i < p.len; i++) {
		char c = n->text[i];

		if (p.s[i] != (c == '*' ? MARK_STAR : c == '?' ? MARK_ANY : (unsigned char)c))
			return false;
	}
	return true;
}

/* Endings and names of what projects make. Nothing that a system needs is named so. */
static const char work_endings[] =
	" .log .tmp .bak .orig .rej .o .pyc .deb .dsc .changes .buildinfo .rpm .whl .egg-info "
	".tar .tar.gz .tar.xz .tar.bz2 .tgz .zip .md .csv .html .php .js .ts .json .jar .war ";
static const char work_names[] = " node_modules __pycache__ .pytest_cache .mypy_cache .venv dist ";

/* Write the characters of @p from @from on as text; "" if it is too long or not plain. */
static void path_tree_text(struct path_part p, size_t from, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = from; i < p.len && n + 1 < size && p.s[i] <= 0xff; i++)
		out[n++] = (char)p.s[i];
	out[n == p.len - from ? n : 0] = '\0';
}

/*
 * Does @p mean what projects made, beside or below a workspace that lies in /: all *.log there,
 * or each node_modules? A home or boot file of that name would be an accident.
 */
static bool path_tree_is_work(const struct path *p)
{
	struct path_part last = p->parts[p->count ? p->count - 1 : 0];
	size_t from = last.len;
	char text[16];

	if (!p->count || path_tree_plain(p->parts[0]))
		return false;
	if (path_tree_plain(last)) {
		path_tree_text(last, 0, text, sizeof(text));
		return list_has(work_names, text, strlen(text));
	}
	while (last.s[from - 1] <= 0xff)
		from--;
	for (size_t i = 0; i < from; i++)
		if (last.s[i] > MARK_STAR)
			return false;
	path_tree_text(last, from, text, sizeof(text));
	return list_has(work_endings, text, strlen(text));
}

/* Would a name of work match @n only by the star at its end, as vmlinuz.log does vmlinuz*? */
static bool path_tree_is_vague(const struct node *n)
{
	return (n->glob || n->text[0] == '~') && !memchr(n->text, '.', n->len);
}

/* What a search finds out besides the classes: those that exclude the path, by name and by glob. */
struct search {
	bool work; /* path_tree_is_work() */
	uint64_t except, sweeps;
};

static uint64_t path_tree_match_below(const struct node *n, const struct path *p, size_t i,
				      struct search *search)
{
	uint64_t found = search->work && i < p->count ? 0 : n->below, mask = ~0ull;
	bool is_plain;

	if (i == p->count) {
		if (search->work && path_tree_is_vague(n))
			return 0;
		search->except |= n->except;
		if (n->sweeps && path_tree_is_same_glob(n, p->parts[i - 1]))
			search->sweeps |= n->sweeps;
		return found | n->here;
	}
	is_plain = path_tree_plain(p->parts[i]);
	/* "$DIR/$NAME.json" with an empty $DIR is a name in /, but which one is a guess. */
	if (path_wholly_unknown(p->parts[i]) || (i == 0 && path_tree_begins_unknown(p->parts[i])))
		mask = classes.guess | classes.empty;
	if (!n->lists)
		return found;
	if (p->parts[i].s[0] > 0xff) {
		for (const struct node *c = n->children; c; c = c->next)
			if (path_tree_part_matches(c, p->parts[i], is_plain))
				found |= path_tree_match_below(c, p, i + 1, search) & mask;
		return found;
	}
	const struct node *same[] = { n->lists[p->parts[i].s[0] % LISTS], n->lists[LISTS] };

	for (size_t k = 0; k < COUNT_OF(same); k++)
		for (const struct node *c = same[k]; c; c = c->same)
			if (path_tree_part_matches(c, p->parts[i], is_plain))
				found |= path_tree_match_below(c, p, i + 1, search) & mask;
	return found;
}

uint64_t path_match(const struct path *p)
{
	struct search search = { .work = path_tree_is_work(p) };
	uint64_t found = path_tree_match_below(&top, p, 0, &search);
	uint64_t except = search.except, sweeps = search.sweeps;

	for (size_t i = 0; (except || sweeps) && i < p->count; i++)
		if (!path_tree_plain(p->parts[i])) {
			except = 0;
			sweeps = i + 1 == p->count ? sweeps : 0;
		}
	return found & ~except & ~sweeps;
}
