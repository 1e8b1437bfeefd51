#include "cap/refused_write.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/term.h"
#include "base/utf8.h"
#include "policy/dir.h"

#define SCANNED_MAX (16u << 10) /* of each stream, from its end: errors come last */
#define REACH 1024              /* bytes between the words of an error and its path */
#define REASONS_MAX 64          /* looked at */
#define JUDGED_MAX 4            /* paths that are looked up */
#define PATH_BYTES_MAX 1024
#define DEPTH_MAX 64
#define FOLLOWED_MAX 2
#define CLAIMS_MAX 3
#define SHOWN_MAX 200           /* bytes of a path */

#define SINGLE_OPEN "\xe2\x80\x98" /* the quotes that coreutils write in UTF-8 locales */
#define SINGLE_CLOSE "\xe2\x80\x99"

/* strerror(3) of EROFS, EACCES and EPERM, as all libraries and languages write it but for case, and
 * what node makes of EROFS where it creates directories recursively. */
static const char *const reasons[] = {
	"Read-only file system", "Permission denied", "Operation not permitted",
	"no such file or directory, mkdir",
};
#define EROFS_REASON 0

/* A part of the text that was scanned. */
struct span {
	const char *start, *end;
};

struct claims {
	struct jsonw *w;
	const struct cap *c;
	const struct proc *p;
	struct span told[CLAIMS_MAX];
	size_t count, judged, reasons;
};

/* ---- what the command says ---- */

/* The first reason in @line, and which one in *@reason; start NULL: none. */
static struct span refused_write_find_reason(struct span line, size_t *reason)
{
	for (const char *at = line.start; at < line.end; at++)
		for (size_t i = 0; i < COUNT_OF(reasons); i++) {
			size_t len = strlen(reasons[i]);

			if ((size_t)(line.end - at) < len || strncasecmp(at, reasons[i], len))
				continue;
			*reason = i;
			return (struct span){ at, at + len };
		}
	return (struct span){ NULL, NULL };
}

/* Does a path begin at @at: "/x", "./x", "../x" or ".x", as a word or in quotes? A URL is none. */
static bool refused_write_begins_path(struct span in, const char *at)
{
	size_t left = (size_t)(in.end - at), before = (size_t)(at - in.start);
	bool path = (left > 1 && at[0] == '/' && at[1] != '/' && (unsigned char)at[1] > ' ') ||
		    (left > 3 && !memcmp(at, "../", 3)) || (left > 2 && !memcmp(at, "./", 2)) ||
		    (left > 1 && at[0] == '.' && at[1] >= 'a' && at[1] <= 'z');

	if (!path || !before)
		return path;
	return memchr(" \t\n'\"`([=:<>,", at[-1], 13) ||
	       (before >= 3 && !memcmp(at - 3, SINGLE_OPEN, 3));
}

/* The path that begins at @at: up to its closing quote, else up to what cannot belong to it. */
static struct span refused_write_path_at(struct span in, const char *at)
{
	char quote = at > in.start ? at[-1] : ' ';
	const char *end = at;

	if (quote == '\'' || quote == '"' || quote == '`') {
		while (end < in.end && *end != quote && !(quote == '`' && *end == '\'') &&
		       *end != '\n')
			end++;
		if (end < in.end && *end != '\n')
			return (struct span){ at, end };
	}
	for (end = at; end < in.end && !memchr(" \t\r\n:;,()<>'\"`", *end, 14); end++)
		if (in.end - end >= 3 && !memcmp(end, SINGLE_CLOSE, 3))
			break;
	return (struct span){ at, end };
}

/* The first path in @in, or the last. */
static struct span refused_write_find_path(struct span in, bool last)
{
	struct span found = { NULL, NULL };

	for (const char *at = in.start; at < in.end; at++) {
		if (!refused_write_begins_path(in, at))
			continue;
		found = refused_write_path_at(in, at);
		if (!last)
			break;
		at = found.end - 1;
	}
	return found;
}

/* Behind the name of a shell or script and its line, which is not what the error is about:
 * "/bin/bash: line 1: ", "./x.sh: 12: ". */
static const char *refused_write_skip_place(struct span line)
{
	const char *at = memchr(line.start, ':', (size_t)(line.end - line.start)), *digits;

	if (!at || line.end - at < 4 || at[1] != ' ')
		return line.start;
	at += 2;
	if (line.end - at > 5 && !memcmp(at, "line ", 5))
		at += 5;
	for (digits = at; at < line.end && *at >= '0' && *at <= '9'; at++)
		;
	return at > digits && at < line.end && *at == ':' ? at : line.start;
}

/*
 * The path that @reason in @line is about: before it ("open /x: permission denied"), else behind it
 * ("permission denied, mkdir '/x'"). @above: it may also stand in a line above ("Caused by:").
 */
static struct span refused_write_path_of(struct span text, struct span line, struct span reason,
					 bool above)
{
	struct span before = { refused_write_skip_place(line), reason.start };
	struct span behind = { reason.end, line.end };
	struct span path;

	if (before.end - before.start > REACH)
		before.start = before.end - REACH;
	if (behind.end - behind.start > REACH)
		behind.end = behind.start + REACH;
	path = refused_write_find_path(before, true);
	if (!path.start)
		path = refused_write_find_path(behind, false);
	if (path.start || !above)
		return path;
	before = (struct span){ text.start, line.start };
	if (before.end - before.start > REACH)
		before.start = before.end - REACH;
	return refused_write_find_path(before, true);
}

/* ---- whether the sandbox refuses it ---- */

/* @path as an absolute one, heap; NULL: too long. */
static char *refused_write_absolute(const struct proc *p, struct span path)
{
	int len = (int)(path.end - path.start);

	if (len > PATH_BYTES_MAX || memchr(path.start, '\0', (size_t)len))
		return NULL;
	if (*path.start == '/')
		return mem_strndup(path.start, (size_t)len);
	return mem_printf("%s/%.*s", p->settings->cwd, len, path.start);
}

/*
 * The canonical name of the last thing on the way of the absolute @path that is there; heap, or
 * NULL: too deep, or behind a link. The server waits while the kernel looks, so a command must not
 * be able to make that long: each name is one step, and links, of which one may stand for thousands
 * of names, are followed only at the top of the tree, where systems have them (/bin, /home/user).
 */
static char *refused_write_existing(const char *path)
{
	AUTO_FREE char *names = mem_strdup(path);
	AUTO_CLOSE int at = open("/", O_PATH | O_CLOEXEC);
	char *rest = NULL;
	const char *name = strtok_r(names, "/", &rest);
	int depth = 0;

	for (; name && at >= 0; name = strtok_r(NULL, "/", &rest)) {
		int follow = depth < FOLLOWED_MAX ? 0 : O_NOFOLLOW;
		int next = openat(at, name, O_PATH | O_CLOEXEC | follow);
		struct stat st;

		if (next < 0)
			break;
		mem_cleanup_close(&at);
		at = next;
		if (++depth > DEPTH_MAX || fstat(at, &st) || S_ISLNK(st.st_mode))
			return NULL;
	}
	return dir_name(at, NULL);
}

/* The cache in the home that @path names, heap, or NULL. A run as another user has another home. */
static char *refused_write_cache_of(const struct proc *p, const char *path)
{
	static const char *const caches[] = {
		"/.cache", "/.npm", "/.cargo", "/go", "/.gradle", "/.m2", "/.pnpm-store", "/.yarn",
	};
	const char *home = getenv("HOME");
	struct stat st;

	if (!home || *home != '/' || !home[1] || strstr(path, "/..") ||
	    p->settings->applied.layers & 1u << CONFINE_CREDENTIALS || !utf8_is_shell_word(home))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(caches); i++) {
		char *cache = mem_printf("%s%s", home, caches[i]);

		if (str_path_lies_in(path, cache) && !stat(cache, &st) && S_ISDIR(st.st_mode))
			return cache;
		free(cache);
	}
	return NULL;
}

/* ---- the sentences ---- */

static void refused_write_add_path(struct jsonw *w, struct span path)
{
	size_t len = (size_t)(path.end - path.start), shown = utf8_cut(path.start, len, SHOWN_MAX);

	jsonw_piece_str(w, "\"");
	for (size_t at = 0, used; at < shown; at += used) {
		const char *c = path.start + at;
		bool valid = utf8_next(c, shown - at, &used) == UTF8_VALID;
		char escape[16];

		if (valid && *c != '"' && !utf8_is_hidden(c, used)) {
			jsonw_piece(w, c, used);
			continue;
		}
		snprintf(escape, sizeof(escape), "\\u{%x}",
			 valid ? (unsigned)utf8_code_point(c, used) : 0xfffdu);
		jsonw_piece_str(w, escape);
	}
	jsonw_piece_str(w, shown < len ? "...\"" : "\"");
}

static void refused_write_add_option(struct jsonw *w, const char *what, const char *directory)
{
	jsonw_piece_str(w, what);
	jsonw_piece_str(w, "--allow-dir '");
	jsonw_piece_str(w, directory);
	jsonw_piece_str(w, "'");
}

static void refused_write_tell(struct claims *k, struct span path, size_t reason)
{
	const char *git = k->c->git_common_dir;
	AUTO_FREE char *absolute = refused_write_absolute(k->p, path);
	AUTO_FREE char *existing = absolute ? refused_write_existing(absolute) : NULL;
	AUTO_FREE char *cache = NULL;

	k->judged++;
	if (!existing || confine_can_write(k->c->confine, existing))
		return;
	k->told[k->count++] = path;
	cache = refused_write_cache_of(k->p, absolute);
	jsonw_open_str(k->w, NULL);
	jsonw_piece_str(k->w, "the command reports \"");
	jsonw_piece_str(k->w, reasons[reason]);
	jsonw_piece_str(k->w, "\" for ");
	refused_write_add_path(k->w, path);
	jsonw_piece_str(k->w, confine_is_readonly(k->c->confine, existing)
					? ", which sandbox.readonly keeps from all commands"
					: ", where the sandbox lets no command write");
	if (git && str_path_lies_in(existing, git))
		refused_write_add_option(k->w,
					 ": the workspace is a linked git worktree; the operator "
					 "can open its repository with ", git);
	else if (cache)
		refused_write_add_option(k->w, ": the operator can open this cache with ", cache);
	else if (!strcmp(existing, "/tmp") || !strcmp(existing, "/var/tmp"))
		jsonw_piece_str(k->w, "; temporary files have their place in $TMPDIR");
	jsonw_close_str(k->w);
}

static bool refused_write_is_told(const struct claims *k, struct span path)
{
	size_t len = (size_t)(path.end - path.start);

	for (size_t i = 0; i < k->count; i++)
		if ((size_t)(k->told[i].end - k->told[i].start) == len &&
		    !memcmp(k->told[i].start, path.start, len))
			return true;
	return false;
}

static void refused_write_scan(struct claims *k, struct span text)
{
	struct span line = { text.start, text.start };

	for (; line.start < text.end && k->count < CLAIMS_MAX && k->judged < JUDGED_MAX &&
	       k->reasons < REASONS_MAX;
	     line.start = line.end + 1) {
		struct span reason, path;
		size_t which;

		line.end = memchr(line.start, '\n', (size_t)(text.end - line.start));
		if (!line.end)
			line.end = text.end;
		reason = refused_write_find_reason(line, &which);
		if (!reason.start)
			continue;
		k->reasons++;
		/* The others also stand where no file is meant: a key, a process. */
		path = refused_write_path_of(text, line, reason, which == EROFS_REASON);
		if (path.start && !refused_write_is_told(k, path))
			refused_write_tell(k, path, which);
	}
}

/* The last SCANNED_MAX bytes of @o, without escape sequences, at @text. */
static struct span refused_write_read(const struct output *o, char *text)
{
	uint64_t at = o->total > SCANNED_MAX ? o->total - SCANNED_MAX : 0;
	size_t len = 0;
	ssize_t n;

	do {
		n = output_read(o, &at, text + len, SCANNED_MAX - len);
		len += n > 0 ? (size_t)n : 0;
		at += n > 0 ? (uint64_t)n : 0;
	} while (n > 0 && len < SCANNED_MAX);
	return (struct span){ text, text + term_strip(text, len) };
}

void refused_write_warn(struct jsonw *w, const struct cap *c, const struct proc *p)
{
	struct claims claims = { .w = w, .c = c, .p = p };
	AUTO_FREE char *text = NULL;

	if (p->phase != PROC_SETTLED || proc_exit_code(p) <= 0 ||
	    (!p->err.total && !p->out.total) || p->settings->applied.profile == CONFINE_NONE)
		return;
	text = mem_zalloc(2 * SCANNED_MAX);
	refused_write_scan(&claims, refused_write_read(&p->err, text));
	refused_write_scan(&claims, refused_write_read(&p->out, text + SCANNED_MAX));
}
