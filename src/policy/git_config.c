#include "policy/git_config.h"

#include <ctype.h>
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
#define KEY_SHOWN 64  /* bytes of a name */
#define KEYS_SHOWN 5
#define FRESH_MS 100  /* too short to edit a file between two runs */
#define CLOCK_MS 10   /* a file's time is that of the last tick of the kernel's clock */

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

/* "section.name.key=value" of each key that matters, sorted. */
struct settings {
	char **lines;
	size_t count;
};

struct watched {
	char *path;
	struct stat seen;    /* all zero: it was not there */
	struct settings now;
	int64_t changed_ms;  /* of the file, when keys were found changed; 0: never */
	int64_t found_us;    /* when that was (clock_mono_us()) */
	char *keys;          /* that were */
};

struct git_config {
	bool begun;
	int64_t looked_ms; /* clock_mono_ms() of the last look */
	size_t count;
	struct watched files[];
};

/* ---- reading, as git does ---- */

struct reader {
	const char *at, *end;
	bool over;
	struct buf name; /* "section.name." and the key */
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

static void git_config_parse(const char *text, size_t len, struct settings *into)
{
	struct reader r = { .at = text, .end = text + len, .into = into };

	buf_init(&r.name, SIZE_MAX / 2);
	buf_init(&r.value, SIZE_MAX / 2);
	if (!git_config_read_all(&r))
		git_config_keep(into, "a line that git refuses", NULL);
	if (into->count)
		qsort(into->lines, into->count, sizeof(*into->lines), git_config_compare);
	buf_release(&r.name);
	buf_release(&r.value);
}

/* ---- the files ---- */

/* The regular file, opened through no link. O_NONBLOCK: a FIFO must not stop the server. */
static int git_config_open(const struct watched *w)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	size_t last = (size_t)(strrchr(w->path, '/') - w->path);
	AUTO_FREE char *folder = mem_strndup(w->path, last);
	AUTO_CLOSE int within = open(*folder ? folder : "/",
				     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return openat(within, w->path + last + 1, flags);
}

static void git_config_read(const struct watched *w, struct settings *into)
{
	AUTO_CLOSE int fd = git_config_open(w);
	AUTO_FREE char *text = NULL;
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		git_config_keep(into, "no regular file", NULL);
		return;
	}
	text = mem_zalloc(FILE_MAX + 1);
	len = read(fd, text, FILE_MAX + 1);
	if (len < 0 || len > (ssize_t)FILE_MAX)
		git_config_keep(into, "more than 256 KiB", NULL);
	else
		git_config_parse(text, (size_t)len, into);
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

/* When the file of @w was changed. */
static int64_t git_config_time(const struct watched *w)
{
	const struct timespec *t = &w->seen.st_ctim;

	return w->seen.st_ino ? (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000 : clock_wall_ms();
}

/* Has the file changed since @w->seen, which becomes what is there now? */
static bool git_config_is_changed(struct watched *w)
{
	struct stat now;

	if (lstat(w->path, &now))
		now = (struct stat){ 0 };
	if (now.st_dev == w->seen.st_dev && now.st_ino == w->seen.st_ino &&
	    now.st_ctim.tv_sec == w->seen.st_ctim.tv_sec &&
	    now.st_ctim.tv_nsec == w->seen.st_ctim.tv_nsec)
		return false;
	w->seen = now;
	return true;
}

static void git_config_look_at(struct watched *w, bool first)
{
	struct settings next = { 0 };
	char *keys;

	if (!git_config_is_changed(w))
		return;
	if (w->seen.st_ino)
		git_config_read(w, &next);
	keys = git_config_difference(&w->now, &next);
	git_config_release_settings(&w->now);
	w->now = next;
	if (!keys)
		return;
	free(w->keys);
	w->keys = keys;
	w->changed_ms = first ? 0 : git_config_time(w);
	w->found_us = clock_mono_us();
}

/* ---- for others ---- */

struct git_config *git_config_new(const struct scope *scope)
{
	const char *const *directory = scope_directories(scope);
	struct git_config *g;
	size_t count = 0;

	while (directory[count])
		count++;
	g = mem_zalloc(sizeof(*g) + count * sizeof(g->files[0]));
	for (; g->count < count; g->count++) {
		const char *top = directory[g->count];

		g->files[g->count].path =
			mem_printf("%s%s/config", strcmp(top, "/") ? top : "",
				   strcmp(strrchr(top, '/'), "/.git") ? "/.git" : "");
	}
	return g;
}

void git_config_free(struct git_config *g)
{
	while (g && g->count) {
		struct watched *w = &g->files[--g->count];

		git_config_release_settings(&w->now);
		free(w->path);
		free(w->keys);
	}
	free(g);
}

void git_config_begin(struct git_config *g)
{
	if (!g->begun || clock_mono_ms() - g->looked_ms > FRESH_MS)
		git_config_look(g);
}

void git_config_look(struct git_config *g)
{
	for (size_t i = 0; i < g->count; i++)
		git_config_look_at(&g->files[i], !g->begun);
	g->begun = true;
	g->looked_ms = clock_mono_ms();
}

char *git_config_changes(const struct git_config *g, int64_t wall_ms, int64_t start_us)
{
	struct buf text;

	buf_init(&text, SIZE_MAX / 2);
	for (const struct watched *w = g->files; w < g->files + g->count; w++)
		if (w->changed_ms && w->changed_ms + CLOCK_MS >= wall_ms && w->found_us > start_us)
			buf_addf(&text, "%s%s: %s", text.len ? "; " : "", w->path, w->keys);
	if (text.len)
		return buf_steal(&text);
	buf_release(&text);
	return NULL;
}
