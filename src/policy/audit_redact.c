/*
 * A list of shapes that secrets usually have, tried at the start of every word; a
 * match keeps its name and loses its value. What a short option holds depends on the
 * program, so its name is remembered up to the end of its simple command. It can miss a
 * secret and it can mask too much: the audit log also has the hash of the exact
 * arguments, so masking loses no evidence.
 */
#include "policy/audit.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "policy/audit_mask.h"

#define REQUEST_ID_MAX 256

/* The least number of characters that must follow a token's prefix. */
#define TOKEN_MIN 16

#define OPTION_MAX 64 /* bytes of an option's name */

/* Parts of secret names, in lower case, compared without '-', '_' and '.'. */
static const char secret_parts[][16] = {
	"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
	"credential", "authorization", "bearer", "sshpass", "dbpass", "userpass", "rootpass",
	"keypass", "storepass", "accountkey", "encryptionkey", "masterkey", "authkey",
	"sharedkey", "setupkey",
};

/* Ends of secret names, after '-', '_' or '.', or as the whole name. */
static const char *const secret_tails[] = { "pass", "auth", "psk" };

/* ... of names whose value says where the secret is. */
static const char *const place_tails[] = { "file", "path", "fd", "helper" };

/* Ends of names of variables, as they are spelled. */
static const char *const variable_tails[] = { "_KEY", "_PAT", "_PW" };

/* Values that only switch what is named. */
static const char *const switches[] = { "yes", "no", "true", "false", "on", "off", "none", "null" };

/* URLs that are secret behind this. */
static const char *const secret_urls[] = {
	"hooks.slack.com/services/", "discord.com/api/webhooks/", "api.telegram.org/bot",
};

/* Names of header lines whose whole value is secret. */
static const char *const secret_headers[] = {
	"authorization", "proxy-authorization", "cookie", "set-cookie",
};

static const char *const token_prefixes[] = {
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xoxa-",
	"xoxb-", "xoxp-", "xoxs-", "AKIA", "ASIA", "AIza", "npm_", "hf_", "pypi-", "eyJ",
	"hvs.", "sk_live_", "rk_live_", "dckr_pat_", "ya29.", "SG.", "shpat_", "xapp-",
	"AGE-SECRET-KEY-", "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "dop_v1_", "whsec_",
	"sk_test_", "rk_test_", "lin_api_", "rubygems_", "sntrys_", "GOCSPX-", "glsa_",
	"glrt-", "gldt-", "ATATT3x", "xoxe-", "xoxe.", "tskey-",
};

/* Where the value of an option, or a word, is a secret. */
enum secret_place {
	SECRET_ATTACHED = 1, /* -pVALUE, behind flags too */
	SECRET_NEXT = 2,     /* -p VALUE, -p=VALUE */
	SECRET_PAIR = 4,     /* only NAME=VALUE: else it is a file */
	SECRET_WORD = 8,     /* the first word that is no option */
	SECRET_USER = 16,    /* of NAME:VALUE what is behind the colon */
	SECRET_LATE = 32,    /* unless it is another shape; -pmy-secret only looks like one */
	SECRET_NAMED = 64,   /* the word behind a secret name: set password VALUE */
	SECRET_REST = 128,   /* words behind the first one */
};

/* Options without a value: the one that has the secret may stand behind them, as in -su. */
#define CURL_FLAGS "#012346aBfgGiIjJklLMnNOpqRsSvVZ"
#define ZIP_FLAGS "0123456789DejgklmoqrTuvy"
#define MYSQL_FLAGS "aAbBcCdEfFGHiIjJkKlLnNoqQrRstUvVWxX"
#define LDAP_FLAGS "AcCIkKLMnNQrStuvVWxZ"
#define USER_FLAGS "aDLmMNorU"
#define SSH_KEYGEN_FLAGS "ABcehHiklLpqQuUvXy"

#define ANY_PROGRAM "" /* unknown ones too, such as $CURL */

static const struct secret_option {
	char program[12];    /* with '*' at its end: a prefix of it */
	char subcommand[14]; /* a word before; "": none needed */
	char option[16];
	unsigned places;
	char flags[36];      /* that may stand before a short one */
} secret_options[] = {
	{ "mysql*", "", "-p", SECRET_ATTACHED, MYSQL_FLAGS }, /* "-p db" asks for the password */
	{ "mariadb*", "", "-p", SECRET_ATTACHED, MYSQL_FLAGS },
	{ "7z*", "", "-p", SECRET_ATTACHED, "" },
	{ "docker", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "podman", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "nerdctl", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "buildah", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "skopeo", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "helm", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "oc", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "az", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "az", "secret", "--value", SECRET_NEXT, "" },
	{ "gh", "secret", "-b", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "gh", "secret", "--body", SECRET_NEXT, "" },
	{ "kubectl", "secret", "--from-literal", SECRET_NEXT, "" },
	{ "twine", "upload", "-p", SECRET_ATTACHED | SECRET_NEXT, "s" },
	{ "mongo*", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "sqlcmd", "", "-P", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "useradd", "", "-p", SECRET_ATTACHED | SECRET_NEXT, USER_FLAGS },
	{ "usermod", "", "-p", SECRET_ATTACHED | SECRET_NEXT, USER_FLAGS },
	{ "ssh-keygen", "", "-N", SECRET_ATTACHED | SECRET_NEXT, SSH_KEYGEN_FLAGS },
	{ "ssh-keygen", "", "-P", SECRET_ATTACHED | SECRET_NEXT, SSH_KEYGEN_FLAGS },
	{ "htpasswd", "", "", SECRET_REST | SECRET_LATE, "" },
	{ "aws", "configure", "", SECRET_NAMED, "" },
	{ "npm", "config", "", SECRET_NAMED, "" },
	{ "pnpm", "config", "", SECRET_NAMED, "" },
	{ "yarn", "config", "", SECRET_NAMED, "" },
	{ "git", "config", "", SECRET_NAMED, "" },
	{ "pulumi", "config", "", SECRET_NAMED, "" },
	{ "rclone", "config", "", SECRET_NAMED, "" },
	{ "dotnet", "user-secrets", "", SECRET_NAMED, "" },
	{ "nmcli", "", "", SECRET_NAMED, "" },
	{ "setenv", "", "", SECRET_NAMED, "" },
	{ "sshpass", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "evV" },
	{ "openssl", "", "-k", SECRET_NEXT, "" },
	{ "openssl", "", "-K", SECRET_NEXT, "" },
	{ "openssl", "", "-hmac", SECRET_NEXT, "" },
	{ "openssl", "", "-macopt", SECRET_NEXT, "" },
	{ "openssl", "", "-psk", SECRET_NEXT, "" },
	{ "redis-cli", "", "-a", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "ldappasswd", "", "-a", SECRET_ATTACHED | SECRET_NEXT, LDAP_FLAGS },
	{ "ldappasswd", "", "-s", SECRET_ATTACHED | SECRET_NEXT, LDAP_FLAGS },
	{ "ldap*", "", "-w", SECRET_ATTACHED | SECRET_NEXT, "a" LDAP_FLAGS },
	{ "curl", "", "-b", SECRET_ATTACHED | SECRET_NEXT | SECRET_PAIR, CURL_FLAGS },
	{ "curl", "", "--cookie", SECRET_NEXT | SECRET_PAIR, "" },
	{ "curl", "", "-u", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER, CURL_FLAGS },
	{ "curl", "", "-U", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER, CURL_FLAGS },
	{ "curl", "", "-E", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER, CURL_FLAGS },
	{ "curl", "", "--cert", SECRET_NEXT | SECRET_USER, "" },
	{ "curl", "", "--proxy-user", SECRET_NEXT | SECRET_USER, "" },
	{ "zip", "", "-P", SECRET_ATTACHED | SECRET_NEXT, ZIP_FLAGS },
	{ "unzip", "", "-P", SECRET_ATTACHED | SECRET_NEXT, ZIP_FLAGS },
	{ "vault", "login", "", SECRET_WORD | SECRET_LATE, "" },
	{ "vault", "unseal", "", SECRET_WORD | SECRET_LATE, "" },
	{ "cargo", "login", "", SECRET_WORD | SECRET_LATE, "" },
	{ ANY_PROGRAM, "", "-u", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER | SECRET_LATE, "" },
	{ ANY_PROGRAM, "", "--user", SECRET_NEXT | SECRET_USER | SECRET_LATE, "" },
};

/* The simple command that is being read. A word may be a program or only its name, as git in
 * "mysql -u git -pX" is: so a row that one word has begun stays. */
struct redact_command {
	bool programs[COUNT_OF(secret_options)];    /* of these rows a word has been the program */
	bool subcommands[COUNT_OF(secret_options)]; /* ... and another the subcommand */
	bool begun;
	unsigned words; /* behind the first program that are no options */
};

struct redact {
	struct audit_mask mask;
	struct redact_command command;
};

/* Is @row one for the simple command @c? */
static bool audit_redact_fits(const struct redact_command *c, const struct secret_option *row)
{
	size_t i = (size_t)(row - secret_options);

	if (!strcmp(row->program, ANY_PROGRAM))
		return true;
	return c->programs[i] && (!*row->subcommand || c->subcommands[i]);
}

/* Does the command take secrets as words, each behind its name? */
static bool audit_redact_has_named_words(const struct redact *r)
{
	for (size_t i = 0; r->command.begun && i < COUNT_OF(secret_options); i++)
		if (secret_options[i].places & SECRET_NAMED &&
		    audit_redact_fits(&r->command, &secret_options[i]))
			return true;
	return false;
}

static size_t audit_redact_name_len(const char *p)
{
	size_t n = 0;

	while (audit_mask_is_name_char(p[n]))
		n++;
	return n;
}

/* ---- is this the name of a secret? ---- */

static bool audit_redact_has_tail(const char *name, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	if (len < n || tolower((unsigned char)name[len - 1]) != tail[n - 1] ||
	    strncasecmp(name + len - n, tail, n) != 0)
		return false;
	return len == n || strchr("-_.", name[len - n - 1]);
}

/* STRIPE_KEY, but not PUBLIC_KEY. */
static bool audit_redact_is_variable(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(variable_tails); i++) {
		size_t n = strlen(variable_tails[i]);

		if (len > n && !strncmp(name + len - n, variable_tails[i], n))
			return !memmem(name, len, "PUBLIC", strlen("PUBLIC"));
	}
	return false;
}

/* Is one of secret_parts in @plain? Nearly every place is passed by its first character. */
static bool audit_redact_has_part(const char *plain, size_t len)
{
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < COUNT_OF(secret_parts); k++)
			if (plain[i] == *secret_parts[k] &&
			    !strncmp(plain + i, secret_parts[k], strlen(secret_parts[k])))
				return true;
	return false;
}

static bool audit_redact_is_secret_name(const char *name, size_t len)
{
	char plain[128];
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(place_tails); i++)
		if (audit_redact_has_tail(name, len, place_tails[i]))
			return false;
	for (size_t i = 0; i < len && n + 1 < sizeof(plain); i++)
		if (!strchr("-_.", name[i]))
			plain[n++] = (char)tolower((unsigned char)name[i]);
	plain[n] = '\0';
	if (audit_redact_has_part(plain, n))
		return true;
	for (size_t i = 0; i < COUNT_OF(secret_tails); i++)
		if (audit_redact_has_tail(name, len, secret_tails[i]))
			return true;
	if (audit_redact_is_variable(name, len))
		return true;
	/* PWD and OLDPWD hold directories, MYSQL_PWD a password. */
	if (n > 3 && audit_redact_has_tail(name, len, "pwd"))
		return true;
	return n >= 5 && strcmp(plain + n - 5, "token") == 0;
}

/* An option --pwd, or in "Uid=me;Pwd=x". */
static bool audit_redact_is_pwd(const struct redact *r, const char *p, size_t len)
{
	return audit_redact_has_tail(p, len, "pwd") &&
	       (*p == '-' || (len == 3 && p > r->mask.text && p[-1] == ';'));
}

/* ---- the shapes: each masks what is here and goes behind it, or returns false ---- */

/* Bytes of an index behind the name of an array, or of the end of one: [0], the last of ['X']. */
static size_t audit_redact_index_len(const char *p)
{
	size_t n = *p == '[';

	while (n > 0 && n < 64 && (audit_mask_is_name_char(p[n]) || strchr("$@*", p[n])) && p[n])
		n++;
	return p[n] == ']' ? n + 1 : 0;
}

static bool audit_redact_is_redirection(const char *p)
{
	p += strspn(p, "0123456789");
	p += *p == '&';
	return *p == '<' || *p == '>';
}

/* The start of the value behind an option without "=", or NULL. What <<< feeds it is its value;
 * another redirection is not. */
static const char *audit_redact_next_word(const struct redact *r, const char *p)
{
	const char *word = p + audit_mask_gap_len(&r->mask, p);
	struct audit_place at = audit_mask_place(&r->mask, word);

	if (word == p || *word == '-')
		return NULL;
	if (audit_quote_depth(&at.quote))
		return word;
	if (!strncmp(word, "<<<", 3))
		return word + 3 + audit_mask_gap_len(&r->mask, word + 3);
	return audit_redact_is_redirection(word) ? NULL : word;
}

/* The start of the value after a name and its separator, or NULL: no such value. @option: that is a
 * blank, too. @word: also behind the quote that ends the name. */
static const char *audit_redact_value_start(const struct redact *r, const char *p, bool option,
					    bool word)
{
	const char *name_end = p + strspn(p, "\\\"'");
	const char *sep = name_end + audit_redact_index_len(name_end);

	sep += audit_mask_gap_len(&r->mask, sep);
	sep += sep[0] == '+' && sep[1] == '=';
	if (*sep == '=' || (*sep == ':' && strncmp(sep, "://", 3) != 0)) {
		sep += sep[1] == '=' || (*sep == '=' && sep[1] == '>') ? 2 : 1; /* also ==, := */
		return sep + audit_mask_gap_len(&r->mask, sep);
	}
	return word || (option && name_end == p) ? audit_redact_next_word(r, name_end) : NULL;
}

/* Does what is quoted behind the option go to a shell: -c, -lc, --command? */
static bool audit_redact_takes_command(const char *option, size_t len)
{
	len -= option[len - 1] == '=';
	return option[len - 1] == 'c' || audit_redact_has_tail(option, len, "command");
}

/* Is all of the quoted word or argument at @p for the option before it: -e "PASSWORD=a b"? A
 * command has words of its own. */
static bool audit_redact_is_for_option(const struct redact *r, const char *p)
{
	const char *end, *start;

	if (p == r->mask.text || (p[-1] && !audit_quote_is_mark(p[-1])))
		return false;
	end = p - 1;
	while (end > r->mask.text && end[-1] && strchr("\\'$", end[-1])) /* \", '\'', $' */
		end--;
	while (end > r->mask.text && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	start = end;
	while (start > r->mask.text && start[-1] && !strchr(" \t\n", start[-1]) &&
	       end - start < OPTION_MAX)
		start--;
	return *start == '-' && start < end &&
	       !audit_redact_takes_command(start, (size_t)(end - start));
}

/* Is the option at @p one that takes its value from stdin, and stdin is no <<<? */
static bool audit_redact_is_fed(const struct redact *r, const char *p, size_t len)
{
	const char *next = p + len + audit_mask_gap_len(&r->mask, p + len);

	return *p == '-' && audit_redact_has_tail(p, len, "stdin") && strncmp(next, "<<<", 3) != 0;
}

/* Does the value at @value say yes or no, as in PasswordAuthentication=no? */
static bool audit_redact_is_switch(const struct redact *r, const char *value)
{
	size_t len = audit_mask_plain_len(value);
	struct audit_place at = audit_mask_place(&r->mask, value);

	/* PASSWORD=no"more"; in quotes and in an argument blanks end nothing */
	if (value[len] && (strchr("\"'`\\", value[len]) || audit_quote_depth(&at.quote)))
		return false;
	for (size_t i = 0; i < COUNT_OF(switches); i++)
		if (len == strlen(switches[i]) && !strncasecmp(value, switches[i], len))
			return true;
	return false;
}

static bool audit_redact_is_word(const char *p, size_t len, const char *word)
{
	return len == strlen(word) && !strncmp(p, word, len);
}

/* password=..., "api_key": "...", --token ... */
static bool audit_redact_mask_named(struct redact *r)
{
	const char *p = r->mask.at.p, *value;
	size_t len = audit_redact_name_len(p);
	bool option = *p == '-', words = audit_redact_has_named_words(r);
	bool flag = words && audit_redact_is_word(p, len, "--secret"); /* of pulumi */
	bool whole = (option && audit_mask_begins_word(&r->mask, p)) ||
		     audit_redact_is_for_option(r, p);

	if ((!audit_redact_is_secret_name(p, len) && !audit_redact_is_pwd(r, p, len)) ||
	    audit_redact_is_fed(r, p, len))
		return false;
	value = audit_redact_value_start(r, p + len, option && !flag, words && !option);
	if (!value || audit_redact_is_switch(r, value))
		return false;
	whole &= value[-1] == '=';
	return audit_mask_value(&r->mask, value, whole,
				memchr(p + len, ':', (size_t)(value - p) - len));
}

/* What follows @word and white space at @p, or NULL: @word is not there. */
static const char *audit_redact_skip_word(const char *p, const char *word)
{
	size_t n = strlen(word);

	if (strncasecmp(p, word, n) != 0 || !p[n] || !strchr(" \t\r\n(", p[n]))
		return NULL;
	return p + n + strspn(p + n, " \t\r\n");
}

/* What SQL has at @p before a secret in quotes: where that begins, or NULL. */
static const char *audit_redact_skip_phrase(const char *p)
{
	const char *rest = audit_redact_skip_word(p, "identified"), *plugin;

	if (rest) {
		plugin = audit_redact_skip_word(rest, "with");
		if (plugin) {
			rest = plugin + strcspn(plugin, " \t\r\n");
			rest += strspn(rest, " \t\r\n");
		}
		return audit_redact_skip_word(rest, "by");
	}
	rest = audit_redact_skip_word(p, "password");
	if (rest && audit_redact_skip_word(rest, "for")) {
		rest += strcspn(rest, "=;\n");
		rest += strspn(rest, "= ");
	}
	return rest ? rest + (*rest == '(' || *rest == 'E' || *rest == 'e') : NULL;
}

/* ALTER USER me PASSWORD 'x', IDENTIFIED WITH plugin BY 'x', SET PASSWORD FOR me = PASSWORD('x') */
static bool audit_redact_mask_phrase(struct redact *r)
{
	const char *value = audit_redact_skip_phrase(r->mask.at.p);

	return value && audit_quote_is_mark(value[strspn(value, "\\")]) &&
	       audit_mask_value(&r->mask, value, false, true);
}

/* Authorization: anything up to the end of the line or of the quotes. */
static bool audit_redact_mask_header(struct redact *r)
{
	for (size_t i = 0; i < COUNT_OF(secret_headers); i++) {
		size_t len = strlen(secret_headers[i]);
		const char *p = r->mask.at.p + len;

		if (strncasecmp(r->mask.at.p, secret_headers[i], len) != 0)
			continue;
		p += audit_mask_gap_len(&r->mask, p);
		if (*p != ':')
			continue;
		p += 1 + audit_mask_gap_len(&r->mask, p + 1);
		if (audit_quote_is_mark(*p))
			return audit_mask_value(&r->mask, p, false, false);
		audit_mask_line(&r->mask, p);
		return true;
	}
	return false;
}

static bool audit_redact_mask_bearer(struct redact *r)
{
	const char *p = r->mask.at.p;
	size_t keep = strncasecmp(p, "bearer", 6) ? 0 : audit_mask_gap_len(&r->mask, p + 6);

	return keep && audit_mask_plain_len(p + 6 + keep) >= TOKEN_MIN &&
	       audit_mask_value(&r->mask, p + 6 + keep, false, false);
}

/* The length of the prefix of a token that is the @len bytes at @p; 0: they are none. */
static size_t audit_redact_token_prefix(const char *p, size_t len)
{
	for (size_t i = 0; len > TOKEN_MIN && i < COUNT_OF(token_prefixes); i++) {
		size_t keep = strlen(token_prefixes[i]);

		if (strncmp(p, token_prefixes[i], keep) == 0)
			return len >= keep + TOKEN_MIN ? keep : 0;
	}
	return 0;
}

static bool audit_redact_mask_token(struct redact *r)
{
	const char *p = r->mask.at.p;
	size_t len = audit_redact_name_len(p), keep = audit_redact_token_prefix(p, len);

	if (keep)
		audit_mask_hide(&r->mask, p + keep, p + len);
	return keep > 0;
}

/* Bytes of the password in a URL, whose name ends before @p, or 0: none. It may hold an "@", and
 * against the rules a "/" too; but a port and a variable are none. */
static size_t audit_redact_password_len(const char *p)
{
	bool secret = !strchr("{<%$", *p) && !strchr("/?#", p[strspn(p, "0123456789")]);
	size_t len = 0;

	for (size_t n = 0; n < AUDIT_MASK_NEAR && p[n] && !strchr("?# \t\r\n\"'", p[n]); n++) {
		if (p[n] == '/' && (len || !secret))
			break;
		if (p[n] == '@')
			len = n;
	}
	return len;
}

/* What is secret of the URL whose host is at @p, or NULL. */
static const char *audit_redact_secret_of_url(const char *p)
{
	for (size_t i = 0; i < COUNT_OF(secret_urls); i++)
		if (!strncmp(p, secret_urls[i], strlen(secret_urls[i])))
			return p + strlen(secret_urls[i]);
	return NULL;
}

/* https://hooks.slack.com/services/T0/B0/x, at the host */
static bool audit_redact_mask_secret_url(struct redact *r)
{
	const char *rest = audit_redact_secret_of_url(r->mask.at.p);

	if (rest)
		audit_mask_hide(&r->mask, rest, rest + strcspn(rest, " \t\r\n\"'"));
	return rest;
}

/* Is the name in a URL rather a token? */
static bool audit_redact_is_url_token(const struct redact *r, const char *name, size_t len)
{
	const char *scheme_end = name - 3;
	bool digit = false;

	if (len < TOKEN_MIN || scheme_end - r->mask.text < 4 ||
	    (strncasecmp(scheme_end - 4, "http", 4) && strncasecmp(scheme_end - 4, "ttps", 4)))
		return false;
	for (size_t i = 0; i < len; i++)
		digit |= name[i] >= '0' && name[i] <= '9';
	return digit && !audit_redact_token_prefix(name, len);
}

/* scheme://name:password@host, at the "://". */
static bool audit_redact_mask_url(struct redact *r)
{
	const char *name = r->mask.at.p + 3;
	size_t len;

	if (strncmp(r->mask.at.p, "://", 3) != 0)
		return false;
	len = strcspn(name, ":@/?#[ \t\r\n\"'");
	if (name[len] == '@' && audit_redact_is_url_token(r, name, len)) {
		audit_mask_hide(&r->mask, name, name + len);
		return true;
	}
	name += len + 1;
	len = name[-1] == ':' ? audit_redact_password_len(name) : 0;
	if (len > 0)
		audit_mask_hide(&r->mask, name, name + len);
	return len > 0;
}

/* The body of a private key in PEM form, and in that of PGP. */
static bool audit_redact_mask_key(struct redact *r)
{
	static const char head[] = "-----BEGIN ";
	static const char *const tails[] = { "PRIVATE KEY", "PRIVATE KEY BLOCK" };

	if (strncmp(r->mask.at.p, head, sizeof(head) - 1) != 0)
		return false;
	const char *kind = r->mask.at.p + sizeof(head) - 1;
	/* "RSA ", "ENCRYPTED " ... or nothing */
	const char *body = kind + strspn(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ");

	for (size_t i = 0; i < COUNT_OF(tails) && !strncmp(body, "-----", 5); i++) {
		size_t len = strlen(tails[i]);

		if (body - kind < (ptrdiff_t)len || strncmp(body - len, tails[i], len) != 0)
			continue;
		const char *end = strstr(body + 5, "-----END");

		audit_mask_hide(&r->mask, body + 5, end ? end : body + strlen(body));
		return true;
	}
	return false;
}

/* ---- options of programs ---- */

static bool audit_redact_is_program(const char *program, const char *word, size_t len)
{
	size_t n;

	if (*program != *word) /* of nearly all rows */
		return false;
	n = strcspn(program, "*");
	return len >= n && !strncmp(program, word, n) && (program[n] || len == n);
}

/* Bytes of @row's option at @p, with the flags in front of it; 0: it is not there. */
static size_t audit_redact_option_len(const struct secret_option *row, const char *p)
{
	size_t n = strlen(row->option);
	size_t flags = *row->flags && *p == '-' ? strspn(p + 1, row->flags) : 0;

	if (strncmp(p, row->option, n) == 0)
		return n;
	return flags && p[1 + flags] == row->option[1] ? flags + 2 : 0;
}

/* Is @value a user and a group by number, as docker takes them? */
static bool audit_redact_is_ids(const char *value)
{
	size_t user = strspn(value, "0123456789");
	size_t group = value[user] == ':' ? strspn(value + user + 1, "0123456789") : 0;

	return user && group && strchr(" \t\r\n", value[user + 1 + group]);
}

/* Does @p end the word of @row's option: -p<file, -u|sort, "$(id -u):x"? */
static bool audit_redact_ends_word(const struct redact *r, const struct secret_option *row,
				   const char *p)
{
	struct audit_place at = audit_mask_place(&r->mask, p);

	if (row->places & SECRET_USER && strchr(")}`", p[strspn(p, "\\")]))
		return true;
	return strchr(";|&<>", *p) && !audit_quote_depth(&at.quote);
}

/* The value of @row's option or word that is here, or NULL. */
static const char *audit_redact_option_value(const struct redact *r,
					     const struct secret_option *row)
{
	const char *p = r->mask.at.p, *value = p + audit_redact_option_len(row, p);
	size_t gap = audit_mask_gap_len(&r->mask, value);

	if (row->places & (SECRET_WORD | SECRET_REST) && *p != '-' && strchr(" \t\n\"'", p[-1]))
		return row->places & SECRET_WORD || r->command.words ? p : NULL;
	if (value == p)
		return NULL;
	if (row->places & SECRET_NEXT && (gap || *value == '=')) {
		value = gap ? audit_redact_next_word(r, value)
			    : value + 1 + audit_mask_gap_len(&r->mask, value + 1);
		if (!value || *value == '-')
			return NULL;
	} else if (!(row->places & SECRET_ATTACHED) || gap ||
		   audit_redact_ends_word(r, row, value)) {
		return NULL;
	}
	if (row->places & SECRET_PAIR && !memchr(value, '=', strcspn(value, " \t\r\n;|&")))
		return NULL;
	if (!strcmp(row->program, ANY_PROGRAM) && audit_redact_is_ids(value))
		return NULL;
	return *value ? value : NULL;
}

/* The row of an option or word here whose value, *@value, is a secret, or NULL. @late: SECRET_LATE,
 * or 0. */
static const struct secret_option *audit_redact_find_option(const struct redact *r, unsigned late,
							    const char **value)
{
	const struct redact_command *c = &r->command;

	for (size_t i = 0; i < COUNT_OF(secret_options); i++) {
		const struct secret_option *row = &secret_options[i];

		if (!c->begun && *row->program) /* of nearly all commands nearly all rows */
			continue;
		if (!audit_redact_fits(c, row) || (row->places & SECRET_LATE) != late)
			continue;
		*value = audit_redact_option_value(r, row);
		if (*value)
			return row;
	}
	return NULL;
}

static bool audit_redact_mask_option(struct redact *r, unsigned late)
{
	const char *p = r->mask.at.p, *value, *next;
	const struct secret_option *row = audit_redact_find_option(r, late, &value);
	bool apart, whole;

	if (!row)
		return false;
	apart = value != p + audit_redact_option_len(row, p);
	whole = audit_mask_begins_word(&r->mask, p) && (!apart || value[-1] == '=');
	if (row->places & SECRET_WORD)
		r->command.subcommands[row - secret_options] = false;
	if (row->places & SECRET_USER)
		return audit_mask_pair(&r->mask, value, whole);
	if (!audit_mask_value(&r->mask, value, whole, false))
		return false;
	/* What is called -password may be an option's name, so then the next word goes too. */
	next = apart || strncmp(p, "-pass", 5) ? NULL : audit_redact_next_word(r, r->mask.at.p);
	if (next)
		audit_mask_value(&r->mask, next, false, false);
	return true;
}

/* Note the word that is here, which is no secret: a program, or a subcommand. */
static void audit_redact_note_word(struct redact *r)
{
	struct redact_command *c = &r->command;
	const char *p = r->mask.at.p;
	size_t len = audit_redact_name_len(p);

	c->words += c->begun && *p != '-' && strchr(" \t\n\"'", p[-1]);
	for (size_t i = 0; i < COUNT_OF(secret_options); i++) {
		const struct secret_option *row = &secret_options[i];

		if (audit_redact_is_program(row->program, p, len))
			c->begun = c->programs[i] = true;
		else if (c->programs[i] && *row->subcommand)
			c->subcommands[i] |= audit_redact_is_word(p, len, row->subcommand);
	}
}

/* Does a simple command end at @p in @text? Separators in quotes are seldom followed by a blank. */
static bool audit_redact_ends_command(const char *text, const char *p)
{
	if (*p == '\n') /* behind a backslash it ends nothing, unless that is one of two */
		return p == text || p[-1] != '\\' || (p - text > 1 && p[-2] == '\\');
	return *p && strchr(";|&", *p) && strchr(" \t\n;|&", p[1]);
}

static void audit_redact_mask_word(struct redact *r)
{
	static bool (*const shapes[])(struct redact *r) = {
		audit_redact_mask_header, audit_redact_mask_named, audit_redact_mask_phrase,
		audit_redact_mask_bearer, audit_redact_mask_token, audit_redact_mask_secret_url,
	};
	bool masked = audit_redact_mask_option(r, 0);

	for (size_t i = 0; i < COUNT_OF(shapes) && !masked; i++)
		masked = shapes[i](r);
	if (!masked && !audit_redact_mask_option(r, SECRET_LATE))
		audit_redact_note_word(r);
}

/* Go one byte on, or behind the secret that is here. */
static void audit_redact_step(struct redact *r)
{
	const char *p = r->mask.at.p;

	if (audit_mask_is_name_char(*p) && (p == r->mask.text || !audit_mask_is_name_char(p[-1])))
		audit_redact_mask_word(r);
	if (audit_redact_ends_command(r->mask.text, p))
		r->command = (struct redact_command){ 0 };
	if (r->mask.at.p == p && !audit_redact_mask_url(r) && !audit_redact_mask_key(r))
		audit_mask_hide(&r->mask, p + 1, p + 1);
}

/* The text, and each argument behind a NUL. */
static char *audit_redact_join(const char *text, const char *const *args, size_t *len)
{
	struct buf joined;

	buf_init(&joined, SIZE_MAX / 2);
	buf_add(&joined, text, strlen(text) + 1);
	for (; args && *args; args++)
		buf_add(&joined, *args, strlen(*args) + 1);
	*len = joined.len - 1;
	return buf_steal(&joined);
}

/* Is it a name, a path, or a name in quotes, as most ids and directories are, without a token? That
 * is told in less time. */
static bool audit_redact_is_plain(const char *p)
{
	for (size_t len; *p; p += len ? len : 1) {
		len = audit_redact_name_len(p);
		if (len ? audit_redact_token_prefix(p, len) || audit_redact_secret_of_url(p)
			: !strchr("/\"", *p))
			return false;
	}
	return true;
}

static char *audit_redact_within(const char *text, const char *const *args, size_t max)
{
	size_t len;
	AUTO_FREE char *joined = audit_redact_join(text, args, &len);
	struct redact r = { .mask = { .text = joined, .end = joined + len, .at.p = joined } };
	struct buf *out = &r.mask.out;

	/* Room for one more name than is shown, so that the cut comes last. */
	buf_init(out, 4 * max);
	audit_quote_init(&r.mask.at.quote, false);
	while (r.mask.at.p < r.mask.end && out->len <= max && !out->full)
		audit_redact_step(&r);
	if (r.mask.at.p < r.mask.end || out->len > max) {
		size_t shown = out->len < max - 3 ? out->len : max - 3;

		buf_truncate(out, utf8_cut(out->data ? out->data : "", out->len, shown));
		buf_adds(out, "...");
	}
	return out->data ? buf_steal(out) : mem_strdup("");
}

char *audit_redact(const char *text, const char *const *args)
{
	return audit_redact_within(text, args, AUDIT_TEXT_MAX);
}

/* @text as it may be shown: itself, or *@shown, which is the caller's. */
static const char *audit_redact_short(const char *text, size_t max, char **shown)
{
	if (strlen(text) <= max && audit_redact_is_plain(text))
		return text;
	return *shown = audit_redact_within(text, NULL, max);
}

void audit_add_client_text(struct jsonw *w, const char *key, const char *text, size_t max)
{
	AUTO_FREE char *shown = NULL;

	if (text)
		jsonw_str(w, key, audit_redact_short(text, max, &shown));
}

char *audit_redact_id(const char *token)
{
	json_t *id = strchr(token, '\\') ? json_loads(token, JSON_DECODE_ANY, NULL) : NULL;
	const char *text = json_string_value(id);
	char *shown = audit_redact_within(text ? text : token, NULL, REQUEST_ID_MAX);

	if (text && !strcmp(shown, text)) { /* nothing of what the escapes stand for is masked */
		free(shown);
		shown = audit_redact_within(token, NULL, REQUEST_ID_MAX);
	}
	json_decref(id);
	return shown;
}

void audit_add_request_id(struct jsonw *w, const char *token)
{
	AUTO_FREE char *masked = NULL;
	const char *shown = token;

	if (token && (strlen(token) > REQUEST_ID_MAX || !audit_redact_is_plain(token)))
		shown = masked = audit_redact_id(token);
	if (shown && !strcmp(shown, token))
		jsonw_raw(w, "request_id", token, strlen(token));
	else if (shown)
		jsonw_str(w, "request_id", shown);
}
