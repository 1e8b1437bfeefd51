/*
 * sed as a filter of known text: commands s and y, one behind the other. Patterns are
 * those of regcomp(3), without what could take long: repeats in braces and back
 * references. A line with unknown parts, or a command that is another, is not done.
 */
#include <regex.h>
#include <string.h>

#include "shell/expand.h"

#define LINE_MAX_BYTES 512u
#define PATTERN_MAX 96u
#define GROUPS 10
/* Steps for a pattern to be made ready, and to hold it against n bytes. */
#define WORK_COMPILE 6000u
#define WORK_MATCH(n) (40u * (n) + (n) * (n) / 4u)

struct sed {
	struct expander *e;
	bool extended;
	char text[2][LINE_MAX_BYTES]; /* a line, and what becomes of it */
};

/* Copies up to the delimiter; where it is, or NULL. A delimiter behind \ is itself. */
static const char *take(const char *s, char slash, char *out, size_t room)
{
	size_t n = 0;

	for (; *s && *s != slash; s++) {
		if (n + 2 >= room)
			return NULL;
		if (s[0] == '\\' && s[1] == slash)
			s++;
		else if (s[0] == '\\' && s[1])
			out[n++] = *s++;
		out[n++] = *s;
	}
	out[n] = '\0';
	return *s ? s : NULL;
}

static bool add(char *out, size_t *len, const char *s, size_t n)
{
	if (*len + n >= LINE_MAX_BYTES)
		return false;
	memcpy(out + *len, s, n);
	*len += n;
	out[*len] = '\0';
	return true;
}

/* & and \1 stand for what was matched. */
static bool add_replacement(char *out, size_t *len, const char *by, const char *line,
			    const regmatch_t *m)
{
	for (; *by; by++) {
		int group = by[0] == '&' ? 0 : -1;
		bool escaped = by[0] == '\\' && by[1];

		if (escaped) {
			by++;
			group = *by >= '0' && *by <= '9' ? *by - '0' : -1;
			if (group < 0 && strchr("LUEluent", *by) && *by != 'n')
				return false;
		}
		if (group < 0) {
			if (!add(out, len, escaped && *by == 'n' ? "\n" : by, 1))
				return false;
		} else if (m[group].rm_so >= 0 &&
			   !add(out, len, line + m[group].rm_so,
				(size_t)(m[group].rm_eo - m[group].rm_so))) {
			return false;
		}
	}
	return true;
}

static bool substitute(struct sed *s, const regex_t *re, const char *by, bool all, long nth)
{
	const char *at = s->text[0];
	regmatch_t m[GROUPS];
	size_t len = 0;

	s->text[1][0] = '\0';
	for (long n = 1; regexec(re, at, GROUPS, m, at == s->text[0] ? 0 : REG_NOTBOL) == 0; n++) {
		bool empty = m[0].rm_eo == m[0].rm_so, hit = all || n == nth;

		expand_charge(s->e, WORK_MATCH(strlen(at)));
		if (expand_failed(s->e) || !add(s->text[1], &len, at, (size_t)m[0].rm_so) ||
		    !(hit ? add_replacement(s->text[1], &len, by, at, m)
			  : add(s->text[1], &len, at + m[0].rm_so,
				(size_t)(m[0].rm_eo - m[0].rm_so))))
			return false;
		at += m[0].rm_eo;
		if (empty && *at && !add(s->text[1], &len, at++, 1))
			return false;
		if ((hit && !all) || (empty && !*at))
			break;
	}
	if (!add(s->text[1], &len, at, strlen(at)))
		return false;
	memcpy(s->text[0], s->text[1], len + 1);
	return true;
}

/* s/A/B/g: where it ends, or NULL. */
static const char *run_s(struct sed *s, const char *script)
{
	char pattern[PATTERN_MAX], by[PATTERN_MAX];
	char slash = script[1];
	const char *p = slash ? take(script + 2, slash, pattern, sizeof(pattern)) : NULL;
	bool all = false, done;
	int flags = s->extended ? REG_EXTENDED : 0;
	long nth = 1;
	regex_t re;

	p = p ? take(p + 1, slash, by, sizeof(by)) : NULL;
	if (!p || !*pattern || strchr(pattern, '{') || strpbrk(pattern, "\n"))
		return NULL;
	for (const char *b = pattern; (b = strchr(b, '\\')) != NULL; b += 2)
		if (b[1] >= '0' && b[1] <= '9')
			return NULL;
	for (p++; *p && *p != ';' && *p != '\n' && *p != ' '; p++) {
		all |= *p == 'g';
		flags |= *p == 'I' || *p == 'i' ? REG_ICASE : 0;
		if (*p >= '1' && *p <= '9')
			nth = *p - '0';
		else if (!strchr("giI", *p))
			return NULL;
	}
	expand_charge(s->e, WORK_COMPILE);
	if (expand_failed(s->e) || regcomp(&re, pattern, flags))
		return NULL;
	done = substitute(s, &re, by, all, nth);
	regfree(&re);
	return done ? p : NULL;
}

/* y/abc/xyz/ */
static const char *run_y(struct sed *s, const char *script)
{
	char from[PATTERN_MAX], to[PATTERN_MAX];
	char slash = script[1];
	const char *p = slash ? take(script + 2, slash, from, sizeof(from)) : NULL;

	p = p ? take(p + 1, slash, to, sizeof(to)) : NULL;
	if (!p || strlen(from) != strlen(to))
		return NULL;
	expand_charge(s->e, WORK_MATCH(strlen(s->text[0])));
	if (expand_failed(s->e))
		return NULL;
	for (char *c = s->text[0]; *c; c++) {
		const char *hit = strchr(from, *c);

		if (hit)
			*c = to[hit - from];
	}
	return p + 1;
}

static bool run_script(struct sed *s, const char *script)
{
	while (script && *script) {
		script += strspn(script, "; \n\t");
		if (*script == 's')
			script = run_s(s, script);
		else if (*script == 'y')
			script = run_y(s, script);
		else if (*script)
			return false;
	}
	return script != NULL;
}

static bool run_line(struct sed *s, const struct cell *v, size_t len, char *const *scripts,
		     size_t count, struct cells *out)
{
	const char *line = cells_string(s->e, v, len);

	if (!line || len >= LINE_MAX_BYTES || strlen(line) != len)
		return false;
	memcpy(s->text[0], line, len + 1);
	for (size_t i = 0; i < count; i++)
		if (!run_script(s, scripts[i]))
			return false;
	cells_text(s->e, out, s->text[0], CELL_QUOTED, len ? v[0].at : 0);
	return true;
}

/* The scripts among the words: -e SCRIPT, or the first operand. No file may follow. */
static size_t read_scripts(const struct shell_word *words, size_t count, struct sed *s,
			   char **scripts, size_t room)
{
	size_t n = 0;

	for (size_t i = 1; i < count; i++) {
		const char *w = expand_constant(&words[i]);
		bool option = w && strcmp(w, "-e") == 0 && i + 1 < count;

		if (option)
			w = expand_constant(&words[++i]);
		if (!w || n == room)
			return 0;
		if (!option && (strcmp(w, "-E") == 0 || strcmp(w, "-r") == 0))
			s->extended = true;
		else if (!option && (w[0] == '-' || n))
			return 0;
		else
			scripts[n++] = (char *)(uintptr_t)w;
	}
	return n;
}

bool expand_sed(struct expander *e, const struct shell_word *words, size_t count,
		const struct value *in, struct cells *out)
{
	struct sed s = { .e = e };
	char *scripts[8];
	size_t n = read_scripts(words, count, &s, scripts, 8), from = 0;

	for (size_t i = 0; n && i <= in->len && from < in->len; i++) {
		if (i < in->len && in->v[i].c != '\n')
			continue;
		if (!run_line(&s, in->v + from, i - from, scripts, n, out))
			return false;
		if (i < in->len)
			cells_copy(e, out, &in->v[i], 1);
		from = i + 1;
	}
	return n > 0;
}
