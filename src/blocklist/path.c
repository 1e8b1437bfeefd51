/*
 * Turns words into arrays of tokens (blocklist/path_tree.h), resolves them to components,
 * and looks up their classes in the tree of patterns.
 */
#include "blocklist/path.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "blocklist/command/list.h"
#include "blocklist/command/word.h"
#include "blocklist/path_tree.h"

/* This many ".." count as reaching the root from any workspace. */
#define CLIMB_TO_ROOT 4

struct tokens {
	size_t len;
	uint16_t s[PATH_TOKENS_MAX];
};

/* ---- words to tokens ---- */

static uint16_t path_unknown_token(const struct shell_word *w, size_t i)
{
	const struct shell_unknown *u = shell_word_unknown(w, i);

	return u && u->is_set ? MARK_SET : MARK_MAYBE;
}

/* The end of the bracket expression or extended glob at @i. */
static size_t path_glob_end(const struct shell_word *w, size_t i)
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

static uint16_t path_token_of(const struct shell_word *w, size_t *i)
{
	unsigned char c = (unsigned char)w->text.s[*i];

	switch (w->kind[*i]) {
	case SHELL_TILDE:
		return MARK_HOME;
	case SHELL_UNKNOWN:
	case SHELL_UNKNOWN_FIELDS:
		return path_unknown_token(w, *i);
	case SHELL_GLOB:
		if (c == '[') {
			size_t end = path_glob_end(w, *i);

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

static bool path_is_missing(const struct shell_word *w, size_t i)
{
	return i >= w->gone_from && i < w->gone_to;
}

/* @whole: keep characters that may be empty or missing. */
static bool path_tokenize(const struct shell_word *w, size_t skip, bool whole, struct tokens *out)
{
	out->len = 0;
	for (size_t i = skip; i < w->text.len; i++) {
		uint16_t token;

		if (!whole && path_is_missing(w, i))
			continue;
		if (out->len == PATH_TOKENS_MAX)
			return false;
		token = path_token_of(w, &i);
		if (whole || token != MARK_MAYBE)
			out->s[out->len++] = token;
	}
	return true;
}

/* ---- resolving ---- */

static bool path_part_is(struct path_part p, const char *text)
{
	size_t len = strlen(text);

	if (p.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (p.s[i] != (unsigned char)text[i])
			return false;
	return true;
}

static const uint16_t path_proc[] = { 'p', 'r', 'o', 'c' };
static const uint16_t path_self[] = { 's', 'e', 'l', 'f' };
static const uint16_t path_task[] = { 't', 'a', 's', 'k' };
static const uint16_t path_fd[] = { 'f', 'd' };

/* @p is somewhere unknown, or below that. */
static bool path_is_loose(const struct path *p)
{
	return p->loose && p->climbed < CLIMB_TO_ROOT;
}

/* /dev/fd is /proc/self/fd, /proc/net in /proc/self, and /proc/thread-self in /proc/self/task. */
static void path_enter_self(struct path *p)
{
	bool fd = path_part_is(p->parts[0], "dev") && path_part_is(p->parts[1], "fd");
	bool proc = path_part_is(p->parts[0], "proc");
	bool thread = proc && path_part_is(p->parts[1], "thread-self");
	struct path_part last = p->parts[1];

	if (!fd && !thread && !(proc && path_part_is(last, "net")))
		return;
	p->parts[0] = (struct path_part){ path_proc, COUNT_OF(path_proc) };
	p->parts[1] = (struct path_part){ path_self, COUNT_OF(path_self) };
	p->parts[2] = fd ? (struct path_part){ path_fd, COUNT_OF(path_fd) }
		    : thread ? (struct path_part){ path_task, COUNT_OF(path_task) } : last;
	p->parts[3] = last;
	p->count = 3 + thread;
}

static void path_leave(struct path *p, size_t climbed)
{
	p->count = 0;
	p->climbed = climbed;
	p->loose = true;
}

static void path_enter_parts(struct path *p, const uint16_t *s, size_t len,
			     const struct path_dir *dir);

/* /proc/self/cwd is the working directory; that of another process may be any. */
static void path_enter_cwd(struct path *p, const struct path_dir *dir)
{
	bool self = path_part_is(p->parts[1], "self");

	p->count = 0;
	p->guess |= !self && !path_part_is(p->parts[1], "1");
	if (self && dir->known) {
		path_enter_parts(p, dir->path, dir->len, dir);
	} else if (self) {
		path_leave(p, dir->climbed);
		while (p->count < dir->below)
			p->parts[p->count++] = (struct path_part){ dir->path, 0 };
	}
}

/*
 * Go where @p leads, if it is a link of /dev or /proc that only a process can follow: the root, the
 * working directory, what a descriptor has opened (unknown). @whole: nothing follows, so that a
 * descriptor is what it is.
 */
static void path_enter(struct path *p, bool whole, const struct path_dir *dir)
{
	size_t at = p->count > 4 && path_part_is(p->parts[2], "task") ? 4 : 2;

	if (p->count < 2 || p->count > 6 || path_is_loose(p) ||
	    !(path_part_is(p->parts[0], "proc") || path_part_is(p->parts[0], "dev")))
		return;
	if (p->count == 2 && !whole)
		path_enter_self(p);
	if (p->count == 2 && !whole && path_part_is(p->parts[0], "dev") &&
	    (path_part_is(p->parts[1], "stdin") || path_part_is(p->parts[1], "stdout") ||
	     path_part_is(p->parts[1], "stderr")))
		path_leave(p, 0);
	if (p->count <= at || !path_part_is(p->parts[0], "proc"))
		return;
	if (p->count == at + 1 && path_part_is(p->parts[at], "root"))
		p->count = 0;
	else if (p->count == at + 1 && path_part_is(p->parts[at], "cwd"))
		path_enter_cwd(p, dir);
	else if (p->count == at + 2 && path_part_is(p->parts[at], "fd") && !whole)
		path_leave(p, 0);
}

/* Add the components of @s to @p, below which links of /proc lead as for a process in @dir. */
static void path_enter_parts(struct path *p, const uint16_t *s, size_t len,
			     const struct path_dir *dir)
{
	for (size_t i = 0; i < len;) {
		struct path_part part = { s + i, 0 };

		while (i + part.len < len && s[i + part.len] != '/')
			part.len++;
		i += part.len + 1;
		if (!part.len || path_part_is(part, "."))
			continue;
		path_enter(p, false, dir);
		if (path_part_is(part, "..")) {
			p->climbed += p->count == 0;
			p->count -= p->count > 0;
		} else if (p->count < PATH_COMPONENTS_MAX) {
			p->parts[p->count++] = part;
		}
	}
}

static void path_resolve_relative(struct path *p, const uint16_t *s, size_t len,
				  const struct path_dir *dir)
{
	if (dir->known) {
		path_enter_parts(p, dir->path, dir->len, dir);
	} else {
		path_leave(p, dir->climbed);
		while (p->count < dir->below)
			p->parts[p->count++] = (struct path_part){ s, 0 };
	}
	path_enter_parts(p, s, len, dir);
}

/* @named: the unknown at the start is the working directory. */
static void path_resolve(struct path *p, const struct tokens *t, bool named,
			 const struct path_dir *dir)
{
	static const uint16_t root_home[] = { '/', 'r', 'o', 'o', 't' };
	bool home = t->len && t->s[0] == MARK_HOME;
	bool plus = home && t->len > 1 && t->s[1] == '+' && (t->len == 2 || t->s[2] == '/');
	bool of_root = home && t->len >= 5 &&
		       path_part_is((struct path_part){ t->s + 1, 4 }, "root") &&
		       (t->len == 5 || t->s[5] == '/');

	p->count = p->climbed = 0;
	p->loose = p->guess = false;
	p->kind = PATH_ABSOLUTE;
	if (named || plus) {
		path_resolve_relative(p, t->s + 1 + plus, t->len - 1 - plus, dir);
	} else if (of_root) {
		path_enter_parts(p, root_home, COUNT_OF(root_home), dir);
		path_enter_parts(p, t->s + 5, t->len - 5, dir);
	} else if (home || (t->len && t->s[0] == '/')) {
		path_enter_parts(p, t->s, t->len, dir);
	} else if (t->len && (t->s[0] == MARK_MAYBE || t->s[0] == MARK_SET)) {
		p->kind = PATH_FLOATING;
	} else {
		path_resolve_relative(p, t->s, t->len, dir);
	}
	path_enter(p, true, dir);
	if (path_is_loose(p))
		p->kind = PATH_NOWHERE;
}

/* ---- comparing ---- */

/* Does the glob match everything? * .* ?* .[!.]* *.* */
static bool path_broad(struct path_part p)
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

/* The classes of @p. A glob at its end that matches everything stands for the directory. */
static uint64_t path_match_tree(struct path *p, bool only_globs)
{
	uint64_t trees = path_classes()->tree, found = path_match(p);
	bool stripped = false;

	if (only_globs)
		found &= ~trees;
	while (p->count && path_broad(p->parts[p->count - 1])) {
		p->count--;
		stripped = true;
	}
	return stripped ? found | (path_match(p) & trees) : found;
}

/* Is @u a variable? Not a parameter of a function, nor the output of a program, which mostly prints
 * something. */
static bool path_is_variable(const struct shell_unknown *u)
{
	return u && (isalpha((unsigned char)u->name[0]) || u->name[0] == '_');
}

/* Is it one that nothing sets, so that it is empty in a new shell? */
static bool path_is_unset(const struct shell_unknown *u)
{
	static const char environment[] = " USER LOGNAME TMPDIR LANG TERM TZ ";

	return path_is_variable(u) && !u->is_given &&
	       !list_has(environment, u->name, strlen(u->name));
}

/* "$A/$B", where something may set one of them: both would have to be empty. */
static bool path_two_unknowns(const struct shell_word *word, size_t skip, const struct tokens *t)
{
	size_t parts = 0;
	bool unset = true;

	for (size_t i = 0; i < t->len; i++)
		parts += t->s[i] == MARK_MAYBE && (i == 0 || t->s[i - 1] == '/');
	for (size_t i = skip; i < word->text.len && unset && parts > 1; i++) {
		const struct shell_unknown *u = shell_word_unknown(word, i);

		if (word_unknown_at(word, i) && !(u && u->is_set))
			unset = path_is_unset(u);
	}
	return parts > 1 && !unset;
}

/* /home/$u/.cache: an empty $u leaves /home/.cache, which is no home. */
static bool path_below_some_home(const struct tokens *t)
{
	static const char home[] = "/home/";
	size_t len = sizeof(home) - 1;

	for (size_t i = 0; i < len; i++)
		if (i >= t->len || t->s[i] != (unsigned char)home[i])
			return false;
	return t->len > len + 2 && t->s[len] == MARK_MAYBE && t->s[len + 1] == '/' &&
	       t->s[len + 2] <= 0xff && t->s[len + 2] != '/';
}

static bool path_named_directory(const struct shell_word *w, size_t skip)
{
	const struct shell_unknown *u = shell_word_unknown(w, skip);

	return u && (strcmp(u->name, "PWD") == 0 || strcmp(u->name, "$(pwd)") == 0);
}

/* $(findmnt -no SOURCE /): the device of a mounted file system. */
static bool path_names_device(const struct shell_word *word)
{
	static const char programs[] = " $(findmnt) $(df) $(lsblk) $(blkid) ";

	return word->unknown_count == 1 &&
	       list_has(programs, word->unknowns[0].name, strlen(word->unknowns[0].name));
}

/* "${DISK}1", "${DISK}p1": a partition of an unknown disk is as unknown. */
static bool path_unknown_disk(const struct tokens *t)
{
	size_t len = t->len;

	while (len && t->s[len - 1] >= '0' && t->s[len - 1] <= '9')
		len--;
	len -= len && len < t->len && t->s[len - 1] == 'p';
	return len && path_wholly_unknown((struct path_part){ t->s, len });
}

/*
 * Does @word say "$X/etc", and @t, what it is without the variable, name one path, or by a star
 * all in it? X is empty unless something sets it.
 */
static bool path_is_one_after_variable(const struct shell_word *word, size_t skip,
				       const struct tokens *t)
{
	const struct shell_unknown *u = shell_word_unknown(word, skip);
	size_t len = t->len, last = t->len;

	if (!path_is_variable(u))
		return false;
	while (last > 0 && t->s[last - 1] != '/')
		last--;
	if (path_broad((struct path_part){ t->s + last, len - last }))
		len = last;
	for (size_t i = 0; i < len; i++)
		if (t->s[i] > UCHAR_MAX)
			return false;
	return true;
}

uint64_t path_classify(const struct shell_word *word, size_t skip,
		       const struct path_dir *dir, enum path_reach reach)
{
	static struct tokens t;
	static struct path p;
	const struct path_classes *classes = path_classes();
	uint64_t found = 0;
	bool named, floating, is_one;
	size_t len;

	path_steps = 0;
	if (skip >= word->text.len || !path_tokenize(word, skip, true, &t))
		return 0;
	named = path_named_directory(word, skip);
	if (!named && path_unknown_disk(&t))
		return classes->unknown | (path_names_device(word) ? classes->guess : 0);
	path_resolve(&p, &t, named, dir);
	floating = p.kind == PATH_FLOATING || t.s[0] == MARK_MAYBE || path_is_missing(word, skip);
	if (p.kind == PATH_ABSOLUTE)
		found = path_match_tree(&p, reach == REACH_FILE);
	len = t.len;
	if (reach < REACH_TREE_OR_EMPTY || path_below_some_home(&t) ||
	    path_two_unknowns(word, skip, &t) || !path_tokenize(word, skip, false, &t) ||
	    t.len == len || !t.len || (t.s[0] != '/' && t.s[0] != MARK_HOME))
		return found;
	path_resolve(&p, &t, false, dir);
	is_one = path_is_one_after_variable(word, skip, &t);
	if (reach == REACH_NAMED_OR_EMPTY && (!is_one || !p.count || path_broad(p.parts[0])))
		return found;
	floating = floating && !is_one;
	return found | (path_match_tree(&p, false) & (floating ? classes->root : classes->empty));
}

/* ---- describing a match ---- */

static void path_print_token(uint16_t token, struct buf *out)
{
	switch (token) {
	case MARK_ANY:
		buf_addc(out, '?');
		break;
	case MARK_STAR:
		buf_addc(out, '*');
		break;
	case MARK_MAYBE:
	case MARK_SET:
		buf_adds(out, "...");
		break;
	case MARK_HOME:
		buf_addc(out, '~');
		break;
	default:
		buf_addc(out, (char)token);
	}
}

static void path_print_path(const struct path *p, struct path_match_text *out)
{
	struct buf text;

	buf_init(&text, sizeof(out->path) - 1);
	for (size_t i = 0; i < p->count; i++) {
		if (i || p->parts[0].s[0] != MARK_HOME)
			buf_addc(&text, '/');
		for (size_t k = 0; k < p->parts[i].len; k++) {
			out->pattern |= p->parts[i].s[k] > 0xff && p->parts[i].s[k] != MARK_HOME;
			path_print_token(p->parts[i].s[k], &text);
		}
	}
	snprintf(out->path, sizeof(out->path), "%s", text.len ? text.data : "/");
	buf_release(&text);
}

/* As path_match_tree(), the directory before a glob first. False: @p is in none of @classes. */
static bool path_describe_tree(struct path *p, bool only_globs, uint64_t classes,
			       struct path_match_text *out)
{
	uint64_t trees = path_classes()->tree;
	size_t count = p->count;

	while (p->count && path_broad(p->parts[p->count - 1]))
		p->count--;
	if (p->count < count)
		out->classes = path_match(p) & trees & classes;
	out->everything = out->classes != 0;
	if (!out->everything) {
		p->count = count;
		out->classes = path_match(p) & classes & (only_globs ? ~trees : ~0ull);
	}
	if (out->classes)
		path_print_path(p, out);
	return out->classes != 0;
}

/* The name of the first part of @word that may be empty, or "". */
static const char *path_empty_name(const struct shell_word *word, size_t skip)
{
	for (size_t i = skip; i < word->text.len; i++) {
		const struct shell_unknown *u = shell_word_unknown(word, i);

		if (u && !u->is_set && word->kind[i] != SHELL_TILDE)
			return u->name;
	}
	return "";
}

void path_describe(const struct shell_word *word, size_t skip,
		   const struct path_dir *dir, enum path_reach reach,
		   uint64_t classes, struct path_match_text *out)
{
	static struct tokens t;
	static struct path p;

	*out = (struct path_match_text){ 0 };
	if (skip >= word->text.len || !path_tokenize(word, skip, true, &t) ||
	    path_wholly_unknown((struct path_part){ t.s, t.len }))
		return;
	path_resolve(&p, &t, path_named_directory(word, skip), dir);
	if (p.kind == PATH_ABSOLUTE &&
	    path_describe_tree(&p, reach == REACH_FILE, classes, out))
		return;
	if (!path_tokenize(word, skip, false, &t) || !t.len)
		return;
	path_resolve(&p, &t, false, dir);
	if (p.kind != PATH_ABSOLUTE || !path_describe_tree(&p, false, classes, out))
		return;
	out->if_empty = true;
	snprintf(out->name, sizeof(out->name), "%s", path_empty_name(word, skip));
}

uint64_t path_steps_taken(void)
{
	return path_steps;
}

/* ---- the working directory ---- */

static void path_store_dir(struct path_dir *dir, const struct path *p)
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

void path_chdir(struct path_dir *dir, const struct shell_word *word)
{
	static struct tokens t;
	static struct path p;
	struct path_dir before;

	path_dir_copy(&before, dir);
	path_dir_forget(dir);
	if (!path_tokenize(word, 0, true, &t))
		return;
	path_resolve(&p, &t, path_named_directory(word, 0), &before);
	if (p.kind == PATH_ABSOLUTE)
		path_enter(&p, false, &before);
	if (p.kind == PATH_ABSOLUTE && path_is_loose(&p))
		return;
	if (p.kind == PATH_ABSOLUTE && !p.guess) {
		path_store_dir(dir, &p);
	} else if (p.kind == PATH_NOWHERE && p.count <= UINT8_MAX) {
		dir->climbed = (uint8_t)p.climbed;
		dir->below = (uint8_t)p.count;
	}
}

bool path_dir_text(const struct path_dir *dir, char *out, size_t size)
{
	if (!dir->known || dir->len + 2 > size)
		return false;
	strcpy(out, "/");
	for (size_t i = 0; i < dir->len; i++) {
		if (dir->path[i] > 0xff)
			return false;
		out[i] = (char)dir->path[i];
		out[i + 1] = '\0';
	}
	return true;
}
