#include "policy/git_config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "policy/audit.h"

#define FILE_MAX (256u * 1024)
#define NAMES_MAX (4u * 1024 * 1024) /* bytes: the name of a section counts with each key */
#define KEY_SHOWN 64  /* bytes of a name */
#define KEYS_SHOWN 5
#define CHANGES_KEPT 8 /* of a file */
#define FRESH_MS 100 /* too short for somebody else to edit a file between two runs */
#define LEADS "leads git elsewhere"

/* What git executes, or what makes it read such settings elsewhere; key "": all of the section. */
static const struct {
	const char *section, *key;
} executed[] = {
	{ "core", "hookspath" },  { "core", "fsmonitor" },  { "core", "sshcommand" },
	{ "core", "editor" },     { "core", "pager" },      { "core", "askpass" },
	{ "core", "gitproxy" },   { "filter", "" },         { "alias", "" },
	{ "include", "" },        { "includeif", "" },      { "pager", "" },
	{ "diff", "external" },   { "diff", "command" },    { "diff", "textconv" },
	{ "merge", "driver" },    { "credential", "helper" }, { "gpg", "program" },
	{ "sequence", "editor" }, { "interactive", "difffilter" }, { "submodule", "update" },
	{ "remote", "uploadpack" }, { "remote", "receivepack" }, { "remote", "vcs" },
	{ "mergetool", "cmd" },   { "difftool", "cmd" },    { "extensions", "worktreeconfig" },
};

/* What git reads in an accessible directory, or in .git there. */
static const struct {
	const char *name;
	bool in_git;
	enum { GIT_SETTINGS, GIT_LINK, GIT_MARK } kind; /* a mark leads by being there */
} looked_at[] = {
	{ "config", true, GIT_SETTINGS },
	{ "config.worktree", true, GIT_SETTINGS },
	{ "commondir", true, GIT_LINK },
	{ ".git", false, GIT_LINK },
	{ "HEAD", false, GIT_MARK }, /* of a repository that counts once .git is none any more */
};

/* "section.name.key=value" of each key that matters, sorted. */
struct settings {
	char **lines;
	size_t count;
};

/* What a file was at the last look. */
struct content {
	const char *flaw; /* why it is not read; the text says which file it is, and since when */
	char *text;       /* or NULL: not there */
	size_t len;
};

struct watched {
	char *path;
	struct content seen;
	struct settings now;
	struct change {
		int64_t found_us; /* clock_mono_us() */
		char *keys;
	} changes[CHANGES_KEPT]; /* a run that lasts may have made more than the last */
	size_t change_count;
};

struct place {
	char *git;   /* where the directory's .git may be */
	bool is_git; /* it is the directory itself */
	struct watched files[COUNT_OF(looked_at)];
};

struct git_config {
	bool begun;
	int64_t looked_ms; /* clock_mono_ms() of the last look */
	size_t count;
	struct place places[];
};

/* ---- reading, as git does ---- */

struct reader {
	const char *at, *end;
	bool over;
	struct buf name; /* "section.name." and the key */
	size_t names;    /* bytes of all of these */
	struct buf value;
	struct settings *into;
};

/* The end of the file is a line's end; so is CR LF. */
static int git_config_next(struct reader *r)
{
	if (r->at == r->end) {
		r->over = true;
		return '\n';
	}
	if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')
		r->at++;
	return (unsigned char)*r->at++;
}

static bool git_config_is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool git_config_is_key(int c)
{
	return isalnum(c) || c == '-';
}

/* "name"] behind [section and white space. */
static bool git_config_read_subsection(struct reader *r, int c)
{
	while (git_config_is_space(c) && c != '\n')
		c = git_config_next(r);
	if (c != '"')
		return false;
	buf_addc(&r->name, '.');
	for (c = git_config_next(r); c != '"'; c = git_config_next(r)) {
		if (c == '\\')
			c = git_config_next(r);
		if (c == '\n')
			return false;
		buf_addc(&r->name, (char)c);
	}
	return git_config_next(r) == ']';
}

static bool git_config_read_section(struct reader *r)
{
	buf_clear(&r->name);
	for (;;) {
		int c = git_config_next(r);

		if (r->over)
			return false;
		if (c == ']')
			break;
		if (git_config_is_space(c)) {
			if (!git_config_read_subsection(r, c))
				return false;
			break;
		}
		if (!git_config_is_key(c) && c != '.')
			return false;
		buf_addc(&r->name, (char)tolower(c));
	}
	buf_addc(&r->name, '.');
	return true;
}

/* The character that stands for backslash and @c; 0: none does. */
static int git_config_unescape(int c)
{
	static const char escapes[] = "t\tb\bn\n\\\\\"\"";

	for (const char *e = escapes; *e; e += 2)
		if (*e == c)
			return e[1];
	return 0;
}

/* Spaces at the end do not count, unless quoted. */
static bool git_config_read_value(struct reader *r)
{
	bool quoted = false, comment = false;
	size_t kept = 0;
	int c;

	while ((c = git_config_next(r)) != '\n') {
		if (comment || (!quoted && !r->value.len && git_config_is_space(c)))
			continue;
		if (!quoted && (c == ';' || c == '#')) {
			comment = true;
			continue;
		}
		if (c == '"') {
			quoted = !quoted;
			kept = r->value.len;
			continue;
		}
		if (c == '\\') {
			c = git_config_next(r);
			if (c == '\n' && !r->over)
				continue;
			c = git_config_unescape(c);
			if (!c)
				return false;
			buf_addc(&r->value, (char)c);
			kept = r->value.len;
			continue;
		}
		buf_addc(&r->value, (char)c);
		if (quoted || !git_config_is_space(c))
			kept = r->value.len;
	}
	buf_truncate(&r->value, kept);
	return !quoted;
}

static bool git_config_is_executed(const char *name)
{
	size_t section = strcspn(name, ".");
	const char *key = strrchr(name, '.');

	for (size_t i = 0; key && i < COUNT_OF(executed); i++)
		if (strlen(executed[i].section) == section &&
		    !memcmp(executed[i].section, name, section) &&
		    (!*executed[i].key || !strcmp(executed[i].key, key + 1)))
			return true;
	return false;
}

static void git_config_keep(struct settings *s, const char *name, const struct buf *value)
{
	s->lines = mem_realloc(s->lines, (s->count + 1) * sizeof(*s->lines));
	s->lines[s->count++] = mem_printf("%s=%.*s", name, (int)(value ? value->len : 0),
					  value && value->len ? value->data : "");
}

/* A key that begins with @c, and its value. */
static bool git_config_read_key(struct reader *r, int c)
{
	size_t section = r->name.len;
	bool fine = true;

	for (; git_config_is_key(c) && !r->over; c = git_config_next(r))
		buf_addc(&r->name, (char)tolower(c));
	while (c == ' ' || c == '\t')
		c = git_config_next(r);
	buf_clear(&r->value);
	if (c != '\n')
		fine = c == '=' && git_config_read_value(r);
	buf_addc(&r->name, '\0');
	r->names += r->name.len;
	fine &= r->names <= NAMES_MAX;
	if (fine && git_config_is_executed(r->name.data))
		git_config_keep(r->into, r->name.data, &r->value);
	buf_truncate(&r->name, section);
	return fine;
}

static bool git_config_read_all(struct reader *r)
{
	bool comment = false;

	r->at += utf8_bom(r->at, (size_t)(r->end - r->at));
	for (;;) {
		int c = git_config_next(r);

		if (r->over)
			return true;
		if (c == '\n')
			comment = false;
		else if (c == '#' || c == ';')
			comment = true;
		if (comment || git_config_is_space(c))
			continue;
		if (c == '[' ? !git_config_read_section(r)
			     : !isalpha(c) || !git_config_read_key(r, c))
			return false;
	}
}

static int git_config_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Git reads on where the names are too many for us, so that any change counts there. */
static void git_config_parse(const struct buf *text, struct settings *into)
{
	struct reader r = { .at = text->data, .end = text->data + text->len, .into = into };

	buf_init(&r.name, SIZE_MAX / 2);
	buf_init(&r.value, SIZE_MAX / 2);
	if (!git_config_read_all(&r)) {
		if (r.names > NAMES_MAX)
			git_config_keep(into, "names of more than 4 MiB", text);
		else
			git_config_keep(into, "a line that git refuses", NULL);
	}
	if (into->count)
		qsort(into->lines, into->count, sizeof(*into->lines), git_config_compare);
	buf_release(&r.name);
	buf_release(&r.value);
}

/* ---- the files ---- */

static const char no_file[] = "no regular file", too_large[] = "more than 256 KiB",
		  no_access[] = "cannot be read";

/* @st: of what is not read; NULL: not known. A later change of it has to show as well. */
static struct content git_config_unread(const char *flaw, const struct stat *st)
{
	struct content c = { .flaw = flaw };

	if (st) {
		c.text = mem_printf("%ju %ju %jd %jd.%09ld", (uintmax_t)st->st_dev,
				    (uintmax_t)st->st_ino, (intmax_t)st->st_size,
				    (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
		c.len = strlen(c.text);
	}
	return c;
}

/* The text of the regular file @fd, up to FILE_MAX bytes. */
static struct content git_config_read_text(int fd, const struct stat *st)
{
	struct content c = { .text = mem_zalloc((size_t)st->st_size + 1) };
	ssize_t len = read(fd, c.text, (size_t)st->st_size);

	if (len >= 0) {
		c.len = (size_t)len;
		return c;
	}
	free(c.text);
	return git_config_unread(no_access, st);
}

/* What is at @name in @dir, or at the absolute path @name, through no link. Not by its times, which
 * a mapping of the file need not touch. O_NONBLOCK: neither a FIFO nor a lease must stop the
 * server. Mostly nothing is there, which a look finds out sooner than an open. */
static struct content git_config_read(int dir, const char *name)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	AUTO_CLOSE int fd = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)
				    ? -1 : openat(dir, name, flags);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return (struct content){ 0 };
	if (fd < 0 ? fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(fd, &st))
		return git_config_unread(no_access, NULL);
	if (S_ISDIR(st.st_mode))
		return (struct content){ 0 };
	if (!S_ISREG(st.st_mode))
		return git_config_unread(no_file, &st);
	if (fd < 0)
		return git_config_unread(no_access, &st);
	if (st.st_size > (off_t)FILE_MAX)
		return git_config_unread(too_large, &st);
	return git_config_read_text(fd, &st);
}

static bool git_config_is_same(const struct content *a, const struct content *b)
{
	return a->flaw == b->flaw && !a->text == !b->text && a->len == b->len &&
	       (!a->len || !memcmp(a->text, b->text, a->len));
}

static void git_config_parse_content(const struct content *c, size_t which, struct settings *into)
{
	const struct buf text = { .data = c->text, .len = c->len };

	if (c->flaw)
		git_config_keep(into, c->flaw, &text);
	else if (!c->text)
		return;
	else if (looked_at[which].kind == GIT_SETTINGS)
		git_config_parse(&text, into);
	else
		git_config_keep(into, LEADS, looked_at[which].kind == GIT_LINK ? &text : NULL);
}

static void git_config_release_settings(struct settings *s)
{
	while (s->count)
		free(s->lines[--s->count]);
	free(s->lines);
	*s = (struct settings){ 0 };
}

struct difference {
	struct buf keys;
	size_t count;
	const char *last; /* line whose name was added */
};

/* Add the name in @line, once: lines come in order. */
static void git_config_add_key(struct difference *d, const char *line)
{
	char shown[6 * KEY_SHOWN + 1];
	size_t len = strcspn(line, "=");
	AUTO_FREE char *masked = NULL;

	if (d->last && strcspn(d->last, "=") == len && !memcmp(d->last, line, len))
		return;
	d->last = line;
	if (d->count++ >= KEYS_SHOWN)
		return;
	/* The value too, because the name may hold a "=" inside of a secret. */
	masked = audit_redact(line, NULL);
	len = strcspn(masked, "=");
	len = utf8_show(shown, sizeof(shown) - 1, masked, len < KEY_SHOWN ? len : KEY_SHOWN);
	shown[len] = '\0';
	buf_addf(&d->keys, "%s%s", d->count > 1 ? ", " : "", shown);
}

/* The names of the keys that @a and @b do not share, heap; NULL: they are the same. */
static char *git_config_difference(const struct settings *a, const struct settings *b)
{
	struct difference d = { .count = 0 };
	size_t i = 0, k = 0;

	buf_init(&d.keys, SIZE_MAX / 2);
	while (i < a->count || k < b->count) {
		int order = i == a->count ? 1 : k == b->count ? -1
						    : strcmp(a->lines[i], b->lines[k]);

		if (order)
			git_config_add_key(&d, order < 0 ? a->lines[i] : b->lines[k]);
		i += order <= 0;
		k += order >= 0;
	}
	if (d.count > KEYS_SHOWN)
		buf_addf(&d.keys, " and %zu more", d.count - KEYS_SHOWN);
	if (d.count)
		return buf_steal(&d.keys);
	buf_release(&d.keys);
	return NULL;
}

static void git_config_add_change(struct watched *w, char *keys)
{
	if (w->change_count == CHANGES_KEPT) {
		free(w->changes[0].keys);
		w->change_count--;
		memmove(w->changes, w->changes + 1, w->change_count * sizeof(w->changes[0]));
	}
	w->changes[w->change_count++] = (struct change){ clock_mono_us(), keys };
}

static void git_config_compare_file(struct watched *w, const struct content *is, size_t which,
				    bool first)
{
	struct settings next = { 0 };
	char *keys;

	if (git_config_is_same(&w->seen, is)) {
		free(is->text);
		return;
	}
	free(w->seen.text);
	w->seen = *is;
	git_config_parse_content(is, which, &next);
	keys = git_config_difference(&w->now, &next);
	git_config_release_settings(&w->now);
	w->now = next;
	if (keys && !first)
		git_config_add_change(w, keys);
	else
		free(keys);
}

/* After each run: where there is no repository, two calls tell. */
static void git_config_look_at(struct place *p, bool first)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (p->is_git ? 0 : O_NOFOLLOW);
	struct stat st;
	AUTO_CLOSE int git = lstat(p->git, &st) ? -1 : open(p->git, flags);
	const bool link = git < 0 && errno != ENOENT && !p->is_git, mark = !p->is_git;

	for (size_t i = 0; i < COUNT_OF(looked_at); i++) {
		struct content is = { 0 };

		if (looked_at[i].in_git && git >= 0)
			is = git_config_read(git, looked_at[i].name);
		else if (!looked_at[i].in_git && (looked_at[i].kind == GIT_LINK ? link : mark))
			is = git_config_read(AT_FDCWD, p->files[i].path);
		git_config_compare_file(&p->files[i], &is, i, first);
	}
}

/* ---- for others ---- */

struct git_config *git_config_new(const struct scope *scope)
{
	const char *const *directory = scope_directories(scope);
	struct git_config *g;
	size_t count = 0;

	while (directory[count])
		count++;
	g = mem_zalloc(sizeof(*g) + count * sizeof(g->places[0]));
	for (; g->count < count; g->count++) {
		struct place *p = &g->places[g->count];
		const char *top = directory[g->count];

		p->is_git = !strcmp(strrchr(top, '/'), "/.git");
		p->git = p->is_git ? mem_strdup(top)
				   : mem_printf("%s/.git", strcmp(top, "/") ? top : "");
		for (size_t i = 0; i < COUNT_OF(looked_at); i++)
			p->files[i].path =
				mem_printf("%s%s/%s", strcmp(top, "/") ? top : "",
					   looked_at[i].in_git && !p->is_git ? "/.git" : "",
					   looked_at[i].name);
	}
	return g;
}

static void git_config_release_place(struct place *p)
{
	for (struct watched *w = p->files; w < p->files + COUNT_OF(looked_at); w++) {
		git_config_release_settings(&w->now);
		free(w->seen.text);
		free(w->path);
		while (w->change_count)
			free(w->changes[--w->change_count].keys);
	}
	free(p->git);
}

void git_config_free(struct git_config *g)
{
	while (g && g->count)
		git_config_release_place(&g->places[--g->count]);
	free(g);
}

void git_config_look(struct git_config *g)
{
	for (size_t i = 0; i < g->count; i++)
		git_config_look_at(&g->places[i], !g->begun);
	g->begun = true;
	g->looked_ms = clock_mono_ms();
}

void git_config_begin(struct git_config *g)
{
	if (!g->begun || clock_mono_ms() - g->looked_ms >= FRESH_MS)
		git_config_look(g);
}

static void git_config_tell(const struct watched *w, int64_t start_us, struct buf *text)
{
	for (const struct change *c = w->changes; c < w->changes + w->change_count; c++)
		if (c->found_us > start_us)
			buf_addf(text, "%s%s: %s", text->len ? "; " : "", w->path, c->keys);
}

char *git_config_changes(const struct git_config *g, int64_t start_us)
{
	struct buf text;

	buf_init(&text, SIZE_MAX / 2);
	for (const struct place *p = g->places; p < g->places + g->count; p++)
		for (const struct watched *w = p->files; w < p->files + COUNT_OF(looked_at); w++)
			git_config_tell(w, start_us, &text);
	if (text.len)
		return buf_steal(&text);
	buf_release(&text);
	return NULL;
}
