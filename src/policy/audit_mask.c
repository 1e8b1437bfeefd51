#include "policy/audit_mask.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"

#define MASK "***"

static const char *const token_prefixes[] = {
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xoxa-",
	"xoxb-", "xoxp-", "xoxs-", "AKIA", "ASIA", "AIza", "npm_", "hf_", "pypi-", "eyJ",
	"hvs.", "sk_live_", "rk_live_", "dckr_pat_", "ya29.", "SG.", "shpat_", "xapp-",
	"AGE-SECRET-KEY-", "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "dop_v1_", "whsec_",
	"sk_test_", "rk_test_", "lin_api_", "rubygems_", "sntrys_", "GOCSPX-", "glsa_",
	"glrt-", "gldt-", "ATATT3x", "xoxe-", "xoxe.", "tskey-", "glptt-", "glcbt-", "glft-",
	"gloas-", "hvb.", "figd_", "nfp_", "CCIPAT_", "dt0c01.", "pul-", "dp.st.", "dp.pt.",
	"ntn_", "lin_oauth_", "PMAK-", "phx_", "sbp_", "sq0csp-", "shpss_", "shpca_", "shppa_",
	"ATCTT3x", "CFPAT-", "xkeysib-", "sgp_", "tvly-", "lsv2_pt_", "sntryu_", "dckr_oat_",
	"doo_v1_", "bkua_", "pnu_", "sqp_", "squ_",
};

bool audit_mask_is_name_char(char c)
{
	return str_is_name_char(c) || c == '-' || c == '.';
}

size_t audit_mask_name_len(const char *p)
{
	size_t n = 0;

	while (audit_mask_is_name_char(p[n]))
		n++;
	return n;
}

size_t audit_mask_token_prefix(const char *p, size_t len)
{
	for (size_t i = 0; len > AUDIT_MASK_TOKEN_MIN && i < COUNT_OF(token_prefixes); i++) {
		size_t keep = *p == *token_prefixes[i] ? strlen(token_prefixes[i]) : 0;

		if (keep && strncmp(p, token_prefixes[i], keep) == 0)
			return len >= keep + AUDIT_MASK_TOKEN_MIN ? keep : 0;
	}
	return 0;
}

/* Does an argument begin at @p? */
static bool audit_mask_begins_argument(const struct audit_mask *m, const char *p)
{
	return p > m->text && p[-1] == '\0';
}

size_t audit_mask_gap_len(const struct audit_mask *m, const char *p)
{
	const char *start = p;

	for (;;) {
		size_t slashes = strspn(p, "\\");

		if (*p == ' ' || *p == '\t')
			p++;
		else if (slashes && p[slashes] == '\n')
			p += slashes + 1;
		else
			break;
	}
	if (*p == '\0' && p < m->end)
		p++;
	return (size_t)(p - start);
}

/* The length of a "Bearer " or the like before the secret itself. */
static size_t audit_mask_scheme_len(const struct audit_mask *m, const char *p)
{
	static const char *const schemes[] = { "bearer", "basic", "digest", "token" };

	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		size_t len = strlen(schemes[i]);
		size_t gap = strncasecmp(p, schemes[i], len) ? 0 : audit_mask_gap_len(m, p + len);

		if (gap)
			return len + gap;
	}
	return 0;
}

/* ---- places ---- */

static void audit_mask_step_to(struct audit_place *at, const char *to)
{
	for (; at->p < to; at->p++)
		if (*at->p)
			audit_quote_step(&at->quote, *at->p);
		else
			audit_quote_init(&at->quote, true);
}

struct audit_place audit_mask_place(const struct audit_mask *m, const char *p)
{
	struct audit_place at = m->at;

	audit_mask_step_to(&at, p);
	return at;
}

void audit_mask_skip_to(struct audit_place *at, const char *ends, const char *limit)
{
	const unsigned depth = audit_quote_depth(&at->quote);

	for (; at->p < limit && *at->p; at->p++) {
		bool end = strchr(ends, *at->p);
		bool sign = end && strchr("<>()[]{},", *at->p) &&
			    !audit_quote_is_escaped(&at->quote);
		unsigned ended = audit_quote_step(&at->quote, *at->p);

		if (end && (ended <= depth || (sign && audit_quote_depth(&at->quote) <= depth)))
			return;
	}
}

static bool audit_mask_is_redirection(const char *p)
{
	p += strspn(p, "0123456789");
	p += *p == '&';
	return (*p == '<' || *p == '>') && p[1] != '('; /* <(x) is a word */
}

const char *audit_mask_next_word(const struct audit_mask *m, const char *p)
{
	const char *word = p + audit_mask_gap_len(m, p);
	struct audit_place at = audit_mask_place(m, word);

	if (word == p || *word == '-')
		return NULL;
	if (!strncmp(word, "<<<", 3))
		return word + 3 + audit_mask_gap_len(m, word + 3);
	if (audit_quote_depth(&at.quote))
		return word;
	return audit_mask_is_redirection(word) ? NULL : word;
}

/* Write what is before @to. A shape may begin far before the value that it masks: of
 * curl -u TOKEN:PASSWORD both are secret. */
static void audit_mask_show(struct audit_mask *m, const char *to)
{
	for (const char *p = m->at.p; p < to && !m->out.full; p++) {
		const size_t rest = (size_t)(to - p);
		size_t len = 0, keep;

		if (rest > AUDIT_MASK_TOKEN_MIN &&
		    (p == m->at.p || !audit_mask_is_name_char(p[-1])))
			len = audit_mask_name_len(p);
		len = len < rest ? len : rest;
		keep = len ? audit_mask_token_prefix(p, len) : 0;
		if (!keep) {
			buf_addc(&m->out, *p ? *p : ' ');
			continue;
		}
		buf_add(&m->out, p, keep);
		buf_adds(&m->out, MASK);
		p += len - 1;
	}
}

void audit_mask_hide(struct audit_mask *m, const char *from, const char *to)
{
	audit_mask_show(m, from);
	if (to > from)
		buf_adds(&m->out, MASK);
	audit_mask_step_to(&m->at, to > from ? to : from);
}

/* ---- the word that holds a value ---- */

/* How far a value goes. */
struct audit_reach {
	unsigned stop; /* to a blank or separator that is not quoted at this level */
	bool data;     /* it may stand in JSON or a program: "x", is not one word */
};

bool audit_mask_begins_word(const struct audit_mask *m, const char *p)
{
	const char *mark = p;

	if (audit_mask_begins_argument(m, p))
		return true;
	while (mark > m->text && mark[-1] && strchr("\\\"'", mark[-1]))
		mark--;
	return mark < p && (mark == m->text || strchr(" \t\n=", mark[-1]));
}

/* Of the value at @at. @whole: what is quoted with it belongs to it. */
static struct audit_reach audit_mask_reach(const struct audit_mask *m, const struct audit_place *at,
					   bool whole, bool data)
{
	unsigned depth = audit_quote_depth(&at->quote);

	if (whole || audit_mask_begins_argument(m, at->p))
		return (struct audit_reach){ .stop = depth ? depth - 1 : 0 };
	return (struct audit_reach){ .stop = depth, .data = data || depth };
}

/* The quotes that a value began with are closed: does it end at @p? */
static bool audit_mask_is_closed(const char *p, bool data)
{
	if (data)
		return !audit_quote_is_mark(*p) && !audit_mask_is_name_char(*p) &&
		       !strchr("\\$", *p);
	return *p == ')';
}

static bool audit_mask_continues_line(const char *p, const char *start)
{
	return (p[0] == '\\' && p[1] == '\n') || (p[0] == '\n' && p > start && p[-1] == '\\');
}

/* Of the value at @at, the level that its first byte opens a quote of; AUDIT_QUOTE_LEVELS: none. */
static unsigned audit_mask_opened_level(struct audit_place at)
{
	const char *mark = at.p + (*at.p == '$');
	const unsigned depth = audit_quote_depth(&at.quote);

	mark += strspn(mark, "\\");
	if (!audit_quote_is_mark(*mark))
		return AUDIT_QUOTE_LEVELS;
	audit_mask_step_to(&at, mark + 1);
	for (unsigned level = depth; level < AUDIT_QUOTE_LEVELS; level++)
		if (at.quote.levels[level].open)
			return level;
	return AUDIT_QUOTE_LEVELS;
}

/* Parentheses of a $( or of an array that are open, and the quotes around them: in deeper ones they
 * are only text. */
struct audit_parens {
	unsigned open, depth;
};

/* Count the byte at @at. @opens: it may begin a $( or an array. */
static void audit_mask_count_paren(struct audit_parens *parens, const struct audit_place *at,
				   bool opens)
{
	unsigned depth = audit_quote_depth(&at->quote);

	if (audit_quote_is_escaped(&at->quote) || (parens->open && depth != parens->depth))
		return;
	if (*at->p == '(' && (parens->open || opens)) {
		parens->open++;
		parens->depth = depth;
	}
	parens->open -= *at->p == ')' && parens->open;
}

/* Is what is at @p behind "=", as in PASS=(a b) and auth = ("a", "b")? */
static bool audit_mask_is_given(const char *p)
{
	while (p[-1] == ' ')
		p--;
	return p[-1] == '=';
}

/* The end of the value at @at. What closes a quote before it, or continues the line behind it, is
 * no part of it unless more of it follows. */
static const char *audit_mask_find_end(struct audit_place at, struct audit_reach reach)
{
	const char *start = at.p, *end = at.p;
	const unsigned depth = audit_quote_depth(&at.quote);
	const unsigned level = audit_mask_opened_level(at);
	struct audit_parens parens = { 0 };

	for (; *at.p; at.p++) {
		bool open = level < AUDIT_QUOTE_LEVELS && at.quote.levels[level].open;
		bool literal = depth < AUDIT_QUOTE_LEVELS && at.quote.levels[depth].open == '\'';
		bool opens = at.p == start ? audit_mask_is_given(start)
					   : strchr("$<", at.p[-1]) && !literal;
		unsigned before = audit_quote_depth(&at.quote), now, ended;

		audit_mask_count_paren(&parens, &at, opens);
		ended = audit_quote_step(&at.quote, *at.p);
		if (ended <= reach.stop && (!parens.open || ended < depth))
			break;
		now = audit_quote_depth(&at.quote);
		if ((now >= before || now >= depth) && !audit_mask_continues_line(at.p, start))
			end = at.p + 1;
		if (open && !at.quote.levels[level].open &&
		    audit_mask_is_closed(at.p + 1, reach.data))
			break;
	}
	return end;
}

size_t audit_mask_plain_len(const char *p)
{
	static const char ends[] = " \t\r\n\"'`&|;";
	size_t n = strcspn(p, ends);

	while (n > 0 && p[n - 1] == '\\' && p[n] && strchr(" \t&|;", p[n]))
		n += 1 + strcspn(p + n + 1, ends);
	return n - (n > 0 && audit_mask_continues_line(p + n - 1, p));
}

/* Bytes up to behind the quote that closes the one at @p, which may be escaped; 0: none is near. So
 * for "`", of the shell and of JavaScript, before a word: in prose it closes what is code. */
static size_t audit_mask_quoted_len(const char *p)
{
	size_t slashes = strspn(p, "\\");

	if (!audit_quote_is_mark(p[slashes]) &&
	    (p[slashes] != '`' || !audit_mask_is_name_char(p[slashes + 1])))
		return 0;
	for (size_t n = slashes + 1; n < AUDIT_MASK_NEAR && p[n]; n++)
		if (p[n] == p[slashes] && (slashes || n == 1 || p[n - 1] != '\\'))
			return n + 1;
	return 0;
}

/* May the quote at @p open a value? Before a blank, as in "$(x --token=" a b")": if the next quote
 * closes it, right behind a word that is neither an option nor the name of a value. Before another
 * byte, as in token=";x" behind an apostrophe: if that word is all there is between the two. */
static bool audit_mask_may_open(const char *p)
{
	size_t n = audit_mask_quoted_len(p);
	const char *end = p + n - (n > 0), *word;

	while (end > p && end[-1] == '\\')
		end--;
	for (word = end; word > p && !strchr(" \t\r\n", word[-1]); word--)
		;
	if (!strchr(" \t\r\n", p[strspn(p, "\\") + 1]))
		return end > word && word == p && audit_mask_is_name_char(end[-1]);
	return end > word && *word != '-' && end[-1] != '=';
}

/* Is there no value at @at, because the quote that is there closes what it stands in, and a blank
 * follows, or what no value begins with: grep "token=" "file", getpass("Password: ")? */
static bool audit_mask_is_empty(struct audit_place at)
{
	const unsigned depth = audit_quote_depth(&at.quote);
	const char *mark = at.p + strspn(at.p, "\\");

	if (!audit_quote_is_mark(*mark) || !strchr(" \t\r\n),;", mark[1]) ||
	    audit_mask_may_open(at.p))
		return false;
	audit_mask_step_to(&at, mark + 1);
	return audit_quote_depth(&at.quote) < depth;
}

/* The least length of a value, as its own bytes have it: which quotes are open before it may be
 * wrong, behind an apostrophe in a here-document for example. */
static size_t audit_mask_least_len(const char *p, bool data)
{
	size_t n = audit_mask_quoted_len(p), more;

	if (data || (n && p[strspn(p, "\\")] == '`'))
		return n ? n : audit_mask_plain_len(p);
	do {
		n += audit_mask_plain_len(p + n);
		more = n && strchr("='\"", p[n - 1]) ? audit_mask_quoted_len(p + n) : 0;
		n += more;
	} while (more);
	return n;
}

static const char *audit_mask_later(const char *a, const char *b)
{
	return a > b ? a : b;
}

/* Mask what is from @from to @to, but for the same quotes at both ends. */
static void audit_mask_hide_value(struct audit_mask *m, const char *from, const char *to)
{
	const char *mark = from + (*from == '$');
	size_t len = strspn(mark, "\\") + 1;

	if (audit_quote_is_mark(mark[len - 1]) && to - mark >= (ptrdiff_t)(2 * len) &&
	    !memcmp(mark, to - len, len))
		audit_mask_hide(m, mark + len, to - len);
	else
		audit_mask_hide(m, from, to);
}

/* Mask from @from to the end of the value at @at. False: there is none. */
static bool audit_mask_until_end(struct audit_mask *m, const char *from, struct audit_place at,
				 struct audit_reach reach, bool data)
{
	const char *end;

	if (audit_mask_is_empty(at)) /* asked first: the end may be far, and text may repeat this */
		return false;
	end = audit_mask_later(audit_mask_find_end(at, reach),
			       at.p + audit_mask_least_len(at.p, data));
	if (end == from)
		return false;
	audit_mask_hide_value(m, from, end);
	return true;
}

bool audit_mask_value(struct audit_mask *m, const char *value, bool whole, bool data)
{
	const char *secret = value + audit_mask_scheme_len(m, value);
	struct audit_place at = audit_mask_place(m, secret);
	struct audit_reach reach = audit_mask_reach(m, &at, whole, data);

	return audit_mask_until_end(m, value, at, reach, reach.data);
}

bool audit_mask_pair(struct audit_mask *m, const char *value, char separator, bool whole)
{
	const char *ends = separator == ':' ? " \t\r\n" : "=, \t\r\n";
	struct audit_place at = audit_mask_place(m, value);
	struct audit_reach reach = audit_mask_reach(m, &at, whole, false);

	while (at.p < value + AUDIT_MASK_NEAR && *at.p != separator &&
	       !strchr(ends, *at.p))
		audit_mask_step_to(&at, at.p + 1);
	if (*at.p != separator)
		return false;
	audit_mask_step_to(&at, at.p + 1);
	return audit_mask_until_end(m, at.p, at, reach, true);
}

/* The end of what is at @at: of the quotes that it stands in, or of the line. Where it stands in
 * none, as in a here-document, only a quote behind "=" is a part of it. */
static const char *audit_mask_find_line_end(struct audit_place at)
{
	const char *start = at.p, *end = at.p;
	const unsigned depth = audit_quote_depth(&at.quote);

	for (; *at.p && (*at.p != '\n' || (at.p > start && at.p[-1] == '\\')); at.p++) {
		unsigned before = audit_quote_depth(&at.quote);

		if (audit_quote_step(&at.quote, *at.p) < depth)
			break;
		unsigned now = audit_quote_depth(&at.quote);

		if (!depth && now > before && at.p > start && at.p[-1] != '=')
			break;
		if (now >= before || now >= depth)
			end = at.p + 1;
	}
	return end;
}

/* The end of the lines from @at on that are indented by more than @indent, or blank, in the quotes
 * that @at stands in. */
static const char *audit_mask_find_block_end(struct audit_place at, size_t indent)
{
	const unsigned depth = audit_quote_depth(&at.quote);
	const char *end = at.p;

	for (;;) {
		size_t blanks = strspn(at.p, " \t");

		if (blanks <= indent && !strchr("\r\n", at.p[blanks]))
			return end;
		while (*at.p && *at.p != '\n') {
			audit_mask_step_to(&at, at.p + 1);
			if (audit_quote_depth(&at.quote) < depth)
				return end;
			if (!strchr(" \t\r", at.p[-1]))
				end = at.p;
		}
		if (!*at.p)
			return end;
		audit_mask_step_to(&at, at.p + 1);
	}
}

bool audit_mask_block(struct audit_mask *m, const char *value, size_t indent)
{
	const char *head_end = value + 1, *from, *lines, *end;
	bool comment;

	if (*value != '|' && *value != '>')
		return false;
	head_end += strspn(head_end, "+-123456789");
	from = head_end + strspn(head_end, " \t\r");
	comment = *from == '#' && from > head_end;
	lines = from + (comment ? strcspn(from, "\n") : 0);
	if (*lines != '\n')
		return false;
	lines++;
	end = audit_mask_find_block_end(audit_mask_place(m, lines), indent);
	lines += strspn(lines, " \t\r\n");
	if (end <= lines)
		return false;
	audit_mask_hide(m, comment ? from : lines, end);
	return true;
}

void audit_mask_line(struct audit_mask *m, const char *value)
{
	const char *secret = value + audit_mask_scheme_len(m, value);
	const char *end = audit_mask_find_line_end(audit_mask_place(m, secret));

	audit_mask_hide(m, value, audit_mask_later(end, secret + strcspn(secret, "\"'\r\n")));
}
