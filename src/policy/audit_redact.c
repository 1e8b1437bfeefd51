/*
 * A list of shapes that secrets usually have, tried at the start of every word; a
 * match keeps its name and loses its value. What a short option holds depends on the
 * program, so its name is remembered up to the end of its simple command. It can miss a
 * secret and it can mask too much: the audit log also has the hash of the exact
 * arguments, so masking loses no evidence.
 */
#include "policy/audit.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#define SHOWN_MAX 1024
#define MASK "***"

/* The least number of characters that must follow a token's prefix. */
#define TOKEN_MIN 16

/* Parts of secret names, compared without '-', '_' and '.'. */
static const char *const secret_parts[] = {
	"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
	"credential", "authorization", "bearer",
};

/* Ends of secret names, after '-', '_' or '.', or as the whole name. */
static const char *const secret_tails[] = { "pass", "auth" };

/* Names of header lines whose whole value is secret. */
static const char *const secret_headers[] = {
	"authorization", "proxy-authorization", "cookie", "set-cookie",
};

static const char *const token_prefixes[] = {
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xoxa-", "xoxb-",
	"xoxp-", "xoxs-", "AKIA", "ASIA", "AIza", "npm_", "hf_", "pypi-", "eyJ",
	"hvs.",
};

/* Where the value of an option, or a word, is a secret. */
enum secret_place {
	SECRET_ATTACHED = 1, /* -pVALUE */
	SECRET_NEXT = 2,     /* -p VALUE, -p=VALUE */
	SECRET_PAIR = 4,     /* only NAME=VALUE: else it is a file */
	SECRET_WORD = 8,     /* the first word that is no option */
};
static const struct secret_option {
	const char *program; /* with '*' at its end: a prefix of it */
	const char *subcommand; /* a word before; NULL: none needed */
	const char *option;
	unsigned places;
} secret_options[] = {
	{ "mysql*", NULL, "-p", SECRET_ATTACHED }, /* "-p db" asks for the password */
	{ "mariadb*", NULL, "-p", SECRET_ATTACHED },
	{ "docker", "login", "-p", SECRET_ATTACHED | SECRET_NEXT },
	{ "podman", "login", "-p", SECRET_ATTACHED | SECRET_NEXT },
	{ "sshpass", NULL, "-p", SECRET_ATTACHED | SECRET_NEXT },
	{ "openssl", NULL, "-k", SECRET_NEXT },
	{ "openssl", NULL, "-K", SECRET_NEXT },
	{ "redis-cli", NULL, "-a", SECRET_NEXT },
	{ "ldap*", NULL, "-w", SECRET_ATTACHED | SECRET_NEXT },
	{ "curl", NULL, "-b", SECRET_ATTACHED | SECRET_NEXT | SECRET_PAIR },
	{ "curl", NULL, "--cookie", SECRET_NEXT | SECRET_PAIR },
	{ "zip", NULL, "-P", SECRET_ATTACHED | SECRET_NEXT },
	{ "unzip", NULL, "-P", SECRET_ATTACHED | SECRET_NEXT },
	{ "vault", "login", "", SECRET_WORD },
};

/* The simple command that is being read. */
struct redact_command {
	const struct secret_option *first; /* row of its program; NULL: it has none */
	bool subcommand; /* a word before was that of the row */
};

static bool audit_redact_is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

static bool audit_redact_is_gap(char c)
{
	return c == ' ' || c == '\t';
}

static size_t audit_redact_name_len(const char *p)
{
	size_t n = 0;

	while (audit_redact_is_name_char(p[n]))
		n++;
	return n;
}

static bool audit_redact_is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Bytes of a value that is not quoted; a backslash keeps blanks and separators in it. */
static size_t audit_redact_plain_len(const char *p)
{
	static const char ends[] = " \t\r\n\"'`&|;";
	size_t n = strcspn(p, ends);

	while (n > 0 && p[n - 1] == '\\' && p[n] && strchr(" \t&|;", p[n]))
		n += 1 + strcspn(p + n + 1, ends);
	return n;
}

/* The length of a "Bearer " or the like before the secret itself. */
static size_t audit_redact_scheme_len(const char *p)
{
	static const char *const schemes[] = { "bearer", "basic", "digest", "token" };

	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (strncasecmp(p, schemes[i], len) == 0 && audit_redact_is_gap(p[len]))
			return len + strspn(p + len, " \t");
	}
	return 0;
}

/* ---- is this the name of a secret? ---- */

static bool audit_redact_has_tail(const char *name, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	if (len < n || strncasecmp(name + len - n, tail, n) != 0)
		return false;
	return len == n || strchr("-_.", name[len - n - 1]);
}

static bool audit_redact_is_secret_name(const char *name, size_t len)
{
	char plain[128];
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < sizeof(plain); i++)
		if (!strchr("-_.", name[i]))
			plain[n++] = name[i];
	plain[n] = '\0';
	for (size_t i = 0; i < COUNT_OF(secret_parts); i++)
		if (strcasestr(plain, secret_parts[i]))
			return true;
	for (size_t i = 0; i < COUNT_OF(secret_tails); i++)
		if (audit_redact_has_tail(name, len, secret_tails[i]))
			return true;
	/* PWD and OLDPWD hold directories, MYSQL_PWD a password. */
	if (n > 3 && audit_redact_has_tail(name, len, "pwd"))
		return true;
	return n >= 5 && strcasecmp(plain + n - 5, "token") == 0;
}

/* ---- the shapes: each returns how many bytes it consumed and has written, or 0 ---- */

/* Write @keep bytes of @p and a mask for the next @hide. */
static size_t audit_redact_mask(struct buf *out, const char *p, size_t keep, size_t hide)
{
	buf_add(out, p, keep);
	if (hide > 0)
		buf_adds(out, MASK);
	return keep + hide;
}

/* The start of the value after "name" and its separator, or NULL: no such value. */
static const char *audit_redact_value_start(const char *p, bool option)
{
	const char *q = p + strspn(p, "\\\"'");
	const char *sep = q + strspn(q, " \t");

	if (*sep == '=' || (*sep == ':' && strncmp(sep, "://", 3) != 0)) {
		sep += sep[1] == '=' ? 2 : 1; /* also == and := */
		return sep + strspn(sep, " \t");
	}
	if (option && q == p && sep > q && *sep != '-')
		return sep;
	return NULL;
}

/* Mask the value that begins at @value, quoted or not; @p: what comes before stays. */
static size_t audit_redact_mask_value(struct buf *out, const char *p, const char *value)
{
	value += *value == '$' && audit_redact_is_quote(value[1]);
	size_t slashes = strspn(value, "\\");
	char quote = value[slashes];

	if (!audit_redact_is_quote(quote)) {
		size_t scheme = audit_redact_scheme_len(value);

		return audit_redact_mask(out, p, (size_t)(value - p),
					 scheme + audit_redact_plain_len(value + scheme));
	}
	value += slashes + 1;
	const char *end = value;

	while (*end && (*end != quote || (slashes == 0 && end > value && end[-1] == '\\')))
		end++;
	return audit_redact_mask(out, p, (size_t)(value - p), (size_t)(end - value));
}

/* password=..., "api_key": "...", --token ... */
static size_t audit_redact_mask_named(struct buf *out, const char *p)
{
	size_t len = audit_redact_name_len(p);

	if (len == 0 || !audit_redact_is_secret_name(p, len))
		return 0;
	const char *value = audit_redact_value_start(p + len, p[0] == '-');

	return value ? audit_redact_mask_value(out, p, value) : 0;
}

/* Authorization: anything up to the end of the line or of the quotes. */
static size_t audit_redact_mask_header(struct buf *out, const char *p)
{
	for (size_t i = 0; i < COUNT_OF(secret_headers); i++) {
		size_t len = strlen(secret_headers[i]);

		if (strncasecmp(p, secret_headers[i], len) != 0)
			continue;
		size_t keep = len + strspn(p + len, " \t");

		if (p[keep] != ':')
			continue;
		keep += 1 + strspn(p + keep + 1, " \t");
		return audit_redact_mask(out, p, keep, strcspn(p + keep, "\"'\r\n"));
	}
	return 0;
}

static size_t audit_redact_mask_bearer(struct buf *out, const char *p)
{
	if (strncasecmp(p, "bearer", 6) != 0 || !audit_redact_is_gap(p[6]))
		return 0;
	size_t keep = 6 + strspn(p + 6, " \t");
	size_t hide = audit_redact_plain_len(p + keep);

	return hide >= TOKEN_MIN ? audit_redact_mask(out, p, keep, hide) : 0;
}

/* -u name:password, as for curl: separate, attached, and quoted in whole or part. */
static size_t audit_redact_mask_user(struct buf *out, const char *p)
{
	size_t flag = strncmp(p, "--user", 6) == 0 ? 6 : strncmp(p, "-u", 2) == 0 ? 2 : 0;

	bool attached = flag == 2 && audit_redact_is_name_char(p[flag]);

	if (flag == 0 || (!audit_redact_is_gap(p[flag]) && p[flag] != '=' && !attached))
		return 0;
	size_t value = flag + strspn(p + flag, " \t=\"'");
	size_t keep = value + strcspn(p + value, ": \t\r\n\"'");

	if (p[keep] != ':')
		return 0;
	keep++;

	char quote = audit_redact_is_quote(p[keep]) ? p[keep++] : p[value - 1];

	if (audit_redact_is_quote(quote))
		return audit_redact_mask(out, p, keep,
					 (size_t)(strchrnul(p + keep, quote) - (p + keep)));
	return audit_redact_mask(out, p, keep, audit_redact_plain_len(p + keep));
}

/* scheme://name:password@host; @p stands at the "://". */
static size_t audit_redact_mask_url(struct buf *out, const char *p)
{
	if (strncmp(p, "://", 3) != 0)
		return 0;
	size_t name = 3 + strcspn(p + 3, ":@/?# \t\r\n\"'");

	if (p[name] != ':')
		return 0;
	size_t end = name + 1 + strcspn(p + name + 1, "@/?# \t\r\n\"'");

	return p[end] == '@' ? audit_redact_mask(out, p, name + 1, end - name - 1) : 0;
}

static size_t audit_redact_mask_token(struct buf *out, const char *p)
{
	for (size_t i = 0; i < COUNT_OF(token_prefixes); i++) {
		size_t keep = strlen(token_prefixes[i]);

		if (strncmp(p, token_prefixes[i], keep) == 0) {
			size_t len = audit_redact_name_len(p);

			return len >= keep + TOKEN_MIN ? audit_redact_mask(out, p, keep, len - keep)
						       : 0;
		}
	}
	return 0;
}

/* The body of a private key in PEM form. */
static size_t audit_redact_mask_key(struct buf *out, const char *p)
{
	static const char head[] = "-----BEGIN ", tail[] = "PRIVATE KEY-----";

	if (strncmp(p, head, sizeof(head) - 1) != 0)
		return 0;
	const char *kind = p + sizeof(head) - 1;
	/* "RSA ", "ENCRYPTED " ... or nothing */
	const char *body = kind + strspn(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ");

	if (strncmp(body, "-----", 5) != 0 || body + 5 - kind < (ptrdiff_t)sizeof(tail) - 1)
		return 0;
	body += 5;
	if (strncmp(body - (sizeof(tail) - 1), tail, sizeof(tail) - 1) != 0)
		return 0;
	const char *end = strstr(body, "-----END");

	return audit_redact_mask(out, p, (size_t)(body - p),
				 end ? (size_t)(end - body) : strlen(body));
}

/* ---- options of programs ---- */

static bool audit_redact_is_program(const char *program, const char *word, size_t len)
{
	size_t n = strcspn(program, "*");

	return len >= n && !strncmp(program, word, n) && (program[n] || len == n);
}

/* The first row of the program that the word is, or NULL. */
static const struct secret_option *audit_redact_find_program(const char *word, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(secret_options); i++)
		if (audit_redact_is_program(secret_options[i].program, word, len))
			return &secret_options[i];
	return NULL;
}

/* Bytes up to the end of a shell word. A quote opens a part of it at its start, behind "=" and
 * behind another part; elsewhere it is rather the end of what the whole command stands in. */
static size_t audit_redact_word_len(const char *p)
{
	size_t n = audit_redact_plain_len(p);

	while (audit_redact_is_quote(p[n]) && (!n || strchr("='\"", p[n - 1]))) {
		const char *end = strchrnul(p + n + 1, p[n]);

		n = (size_t)(end - p) + (*end != '\0');
		n += audit_redact_plain_len(p + n);
	}
	return n;
}

/* The value of @row's option at @p, which is not the start of the text, or NULL. */
static const char *audit_redact_option_value(const struct secret_option *row, const char *p)
{
	size_t n = strlen(row->option);
	const char *value = p + n;

	if (row->places & SECRET_WORD)
		return *p != '-' && strchr(" \t\"'", p[-1]) ? p : NULL;
	if (strncmp(p, row->option, n) != 0)
		return NULL;
	if (row->places & SECRET_NEXT && (audit_redact_is_gap(*value) || *value == '=')) {
		value += strspn(value, " \t=");
		if (*value == '-')
			return NULL;
	} else if (!(row->places & SECRET_ATTACHED) || audit_redact_is_gap(*value)) {
		return NULL;
	}
	if (row->places & SECRET_PAIR && !memchr(value, '=', strcspn(value, " \t\r\n;|&")))
		return NULL;
	return *value ? value : NULL;
}

/* The row of an option or word of @c at @p whose value, *@value, is a secret, or NULL. */
static const struct secret_option *audit_redact_find_option(const struct redact_command *c,
							    const char *p, const char **value)
{
	const struct secret_option *row = c->first;
	const struct secret_option *end = secret_options + COUNT_OF(secret_options);

	for (; row && row < end && !strcmp(row->program, c->first->program); row++) {
		*value = !row->subcommand || c->subcommand ? audit_redact_option_value(row, p)
							    : NULL;
		if (*value)
			return row;
	}
	return NULL;
}

static size_t audit_redact_mask_option(struct buf *out, const char *p, struct redact_command *c)
{
	const char *value;
	const struct secret_option *row = audit_redact_find_option(c, p, &value);

	if (!row)
		return 0;
	c->subcommand &= !(row->places & SECRET_WORD);
	return audit_redact_mask_value(out, p, value);
}

/* -pVALUE, also where it looks like an option's name: -pmy-secret. What is called -password may be
 * one, so then the next word goes too. */
static size_t audit_redact_mask_attached(struct buf *out, const char *p,
					 const struct redact_command *c)
{
	const char *value;
	const struct secret_option *row = audit_redact_find_option(c, p, &value);
	size_t used, gap;

	if (!row || !(row->places & SECRET_ATTACHED) || value != p + strlen(row->option))
		return 0;
	used = audit_redact_mask(out, p, (size_t)(value - p), audit_redact_word_len(value));
	gap = strspn(p + used, " \t");
	if (strncmp(p, "-pass", 5) != 0 || !gap || p[used + gap] == '-')
		return used;
	return used + audit_redact_mask_value(out, p + used, p + used + gap);
}

/* Note the word at @p, which is no secret: a program, or a subcommand. */
static void audit_redact_note_word(struct redact_command *c, const char *p)
{
	size_t len = audit_redact_name_len(p);
	const struct secret_option *program = audit_redact_find_program(p, len);
	const char *subcommand = c->first ? c->first->subcommand : NULL;

	if (program)
		*c = (struct redact_command){ .first = program };
	else if (subcommand && len == strlen(subcommand) && !strncmp(p, subcommand, len))
		c->subcommand = true;
}

/* Does a simple command end at @p in @text? Separators in quotes are seldom followed by a blank. */
static bool audit_redact_ends_command(const char *text, const char *p)
{
	if (*p == '\n') /* behind a backslash it ends nothing, unless that is one of two */
		return p == text || p[-1] != '\\' || (p - text > 1 && p[-2] == '\\');
	return strchr(";|&", *p) && strchr(" \t\n;|&", p[1]);
}

static size_t audit_redact_mask_any(struct buf *out, const char *p)
{
	static size_t (*const shapes[])(struct buf * out, const char *p) = {
		audit_redact_mask_header, audit_redact_mask_named, audit_redact_mask_bearer,
		audit_redact_mask_user,   audit_redact_mask_token,
	};
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(shapes) && used == 0; i++)
		used = shapes[i](out, p);
	return used;
}

static size_t audit_redact_mask_word(struct buf *out, const char *p, struct redact_command *c)
{
	size_t used = audit_redact_mask_attached(out, p, c);

	if (used == 0)
		used = audit_redact_mask_any(out, p);
	if (used == 0)
		used = audit_redact_mask_option(out, p, c);
	if (used == 0)
		audit_redact_note_word(c, p);
	return used;
}

char *audit_redact(const char *text)
{
	/* Room for one more name than is shown, so that the cut comes last. */
	struct buf out;
	struct redact_command command = { 0 };
	const char *p = text;

	buf_init(&out, 4 * SHOWN_MAX);
	while (*p && out.len <= SHOWN_MAX && !out.full) {
		bool starts = audit_redact_is_name_char(*p) &&
			      (p == text || !audit_redact_is_name_char(p[-1]));
		size_t used = starts ? audit_redact_mask_word(&out, p, &command) : 0;

		if (audit_redact_ends_command(text, p))
			command = (struct redact_command){ 0 };

		if (used == 0)
			used = audit_redact_mask_url(&out, p);
		if (used == 0)
			used = audit_redact_mask_key(&out, p);
		if (used == 0)
			used = audit_redact_mask(&out, p, 1, 0);
		p += used;
	}
	if (*p || out.len > SHOWN_MAX) {
		size_t shown = out.len < SHOWN_MAX - 3 ? out.len : SHOWN_MAX - 3;

		buf_truncate(&out, utf8_cut(out.data ? out.data : "", out.len, shown));
		buf_adds(&out, "...");
	}
	return out.data ? buf_steal(&out) : mem_strdup("");
}
