/*
 * A list of shapes that secrets usually have, tried at the start of every word; a
 * match keeps its name and loses its value. It can miss a secret and it can mask too
 * much: the audit log also has the hash of the exact arguments, so masking loses no
 * evidence.
 *
 * Few texts hold a secret, so a quick look comes first (audit_redact_is_plain()). A new shape must
 * have something that stops it there: a name, a word or a byte.
 */
#include "policy/audit.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "policy/audit_mask.h"
#include "policy/audit_options.h"
#include "policy/audit_readers.h"

#define REQUEST_ID_MAX 256

#define COUNT_DIGITS 2 /* of a number that is a count, as in PASS: 12, and no secret */
#define PIN_DIGITS 4   /* the least number of them in a PIN */

#define ASKED_NEAR 128 /* bytes from the question for a password to what answers it */

#define SETTING_MIN 8 /* the least number of bytes of NAME VALUE that is a line of its own */

#define CALL_NEAR 512 /* bytes of the arguments of a call that are looked at */

#define OPTION_MAX 64 /* bytes of an option's name */

/* Parts of secret names, in lower case, compared without '-', '_' and '.'. */
static const char secret_parts[][16] = {
	"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
	"credential", "authorization", "bearer", "sshpass", "dbpass", "userpass", "rootpass",
	"keypass", "storepass", "accountkey", "encryptionkey", "masterkey", "authkey",
	"sharedkey", "setupkey", "subscriptionkey", "requirepass", "applicationkey", "appkey",
	"signingsecret", "keydata", "seedphrase", "mnemonic", "sseckey", "customerkey",
};

/* Ends of secret names, after '-', '_' or '.', or as the whole name. */
static const char *const secret_tails[] = { "pass", "auth", "psk", "pw", "masterauth" };

/* ... of names whose value says where the secret is. */
static const char *const place_tails[] = { "file", "path", "dir", "fd", "helper" };

/* Ends of names, after '-', '_' or '.', that hold a secret only if the value looks like one. */
static const struct weak_name {
	char tail[12];
	bool query; /* and only behind "?" or "&", in a URL or a form */
	enum { WEAK_TEXT, WEAK_NUMBER, WEAK_TOKEN, WEAK_MEMBER } value;
} weak_names[] = {
	{ "pwd", true, WEAK_TEXT }, { "pwd", false, WEAK_MEMBER },
	{ "pin", false, WEAK_NUMBER }, { "otp", false, WEAK_NUMBER },
	{ "token-code", false, WEAK_NUMBER }, { "mfa_code", false, WEAK_NUMBER },
	{ "totp", false, WEAK_NUMBER }, { "passcode", false, WEAK_NUMBER },
	{ "sig", true, WEAK_TEXT }, { "signature", true, WEAK_TEXT },
	{ "code", true, WEAK_TOKEN }, { "key", true, WEAK_TOKEN }, { "appid", true, WEAK_TOKEN },
};

/* Ends of words that are no names of secrets, but have shapes of their own. */
static const char *const other_tails[] = {
	"cookie", "identified", "securestring", "send", "sendline", "begin",
};

/* Names, also behind a ".", that only look like those of secrets, spelled as secret_parts. */
static const char *const plain_names[] = {
	"nopasswd", "nopassword", "disabledpassword", "passwordfile", "passwdfile", "secretname",
	"pagetoken", "nextpagetoken", "nexttoken", "startingtoken", "continuationtoken",
	"exportsecretkey", "exportsecretkeys", "deletesecretkey", "deletesecretkeys",
	"existingsecret", "eostoken", "bostoken", "padtoken", "unktoken", "masktoken", "septoken",
};

/* Ends of names of variables, as they are spelled. */
static const char *const variable_tails[] = { "_KEY", "_PAT" };

/* Values that only switch what is named, or are its type. */
static const char *const switches[] = {
	"yes", "no", "true", "false", "on", "off", "none", "null", "enabled", "disabled", "string",
};

/* What a value begins with that only says where the secret is. */
static const char *const places[] = { "file:", "env:", "fd:" };

/* What a value in quotes begins with that is a pattern, as in sed "s/token: .*", and no value. */
static const char *const patterns[] = { ".*", ".+", "[^", "([^", "(.*", "(.+" };

/* Functions that give what they name first the value behind that. */
static const char *const setters[] = {
	"define(", "putenv(", "setenv(", "setdefault(", "set_var(", "setItem(", "setProperty(",
	"put(", "set(", "header(", "append(",
};

/* Functions one of whose arguments is a password or a key, in lower case; some also without
 * parentheses. */
static const struct password_call {
	char name[24];
	unsigned char argument; /* from 0 */
	bool bare;
} password_calls[] = {
	{ "set_password", 0, false }, { "setpassword", 0, false }, { "make_password", 0, false },
	{ "hash_password", 0, false }, { "hashpassword", 0, false }, { "hashpw", 0, false },
	{ "check_password", 0, false }, { "checkpassword", 0, false },
	{ "generate_password_hash", 0, false }, { "password_hash", 0, false },
	{ "password_verify", 0, false }, { "password.create", 0, false }, { "crypt", 0, false },
	{ "bcrypt", 0, false }, { "bcrypt.hash", 0, false }, { "crypt.hash", 0, false },
	{ "argon2.hash", 0, false }, { "simple_bind_s", 1, false },
	{ "ftp", 2, false }, { "hashsync", 0, false },
	{ "comparesync", 0, false }, { "hmac.new", 0, false }, { "fernet", 0, false },
	{ "securestring", 0, true }, { "createhmac", 1, false }, { "jwt.encode", 1, false },
	{ "jwt.decode", 1, false }, { "jwt.sign", 1, false }, { "jwt.verify", 1, false },
	{ "pgp_sym_encrypt", 1, false }, { "pgp_sym_decrypt", 1, false }, { "auth", 1, false },
	{ "basic_auth", 1, true }, { "httpbasicauth", 1, false }, { "basicauth", 1, false },
	{ "setbasicauth", 1, false }, { "login", 1, false }, { "changeuserpassword", 1, false },
	{ "networkcredential", 1, false }, { "pscredential", 1, false }, { "connect", 2, false },
	{ "mysqli_connect", 2, false }, { "mysqli", 2, false }, { "pdo", 2, false },
	{ "getconnection", 2, false }, { "create_user", 2, false },
	{ "create_superuser", 2, false }, { "plainauth", 2, false },
};

/* Programs that write what they are told. */
static const char *const writers[] = { "echo", "printf", "yes" };

/* URLs that are secret behind this. */
static const char *const secret_urls[] = {
	"hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
	"api.telegram.org/bot",
};

/* Names of header lines whose whole value is secret. */
static const char *const secret_headers[] = {
	"authorization", "proxy-authorization", "cookie", "set-cookie",
};

/* The letters that secret names, and the words of weak_names and other_tails, have at least: those
 * of one of these. */
static const char hints[][6] = {
	"pas", "auth", "key", "secrt", "token", "cred", "bear", "psk", "pw", "pat", "pin", "otp",
	"sig", "code", "apid", "cokie", "idenf", "send", "begin", "mnoic",
};

struct redact {
	struct audit_mask mask;
	struct audit_command command;
	bool in_printf;        /* it is a printf ... */
	unsigned printf_depth; /* ... in so many quotes */
	bool in_curl;          /* a word of it is a curl */
	struct audit_readers readers;
	const char *document, *document_end; /* a secret here-document that is still to come */
	const char *argument;                /* so an argument that is secret if it is quoted */
};

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

/* Has the name all letters of a hint? Most have not, and so are not secret. */
static bool audit_redact_has_hint(const char *name, size_t len)
{
	uint32_t letters = 0; /* by their last five bits; signs and digits count as letters */

	for (size_t i = 0; i < len; i++)
		letters |= 1u << (name[i] & 31);
	for (size_t i = 0; i < COUNT_OF(hints); i++) {
		const char *hint = hints[i];

		while (*hint && letters >> (*hint & 31) & 1)
			hint++;
		if (!*hint)
			return true;
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

/* The length of @name without what says that its value is a place: that of "token" of "token-file".
 * What is read from <(x), here or behind a blank, is not a place. */
static size_t audit_redact_without_place(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(place_tails); i++)
		if (audit_redact_has_tail(name, len, place_tails[i]))
			return name[len] && !strncmp(name + len + 1, "<(", 2)
				       ? len - strlen(place_tails[i]) : 0;
	return len;
}

static bool audit_redact_is_secret_name(const char *name, size_t len)
{
	char plain[128];
	size_t n = 0, part = 0; /* of auth.existingSecret what is behind the dot */

	len = audit_redact_without_place(name, len);
	if (!len)
		return false;
	for (size_t i = 0; i < len && n + 1 < sizeof(plain); i++) {
		if (!strchr("-_.", name[i]))
			plain[n++] = (char)tolower((unsigned char)name[i]);
		part = name[i] == '.' ? n : part;
	}
	plain[n] = '\0';
	for (size_t i = 0; i < COUNT_OF(plain_names); i++)
		if (!strcmp(plain + part, plain_names[i]))
			return false;
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

/* The row of the name at @p, if it has one, or NULL. */
static const struct weak_name *audit_redact_weak_name(const struct redact *r, const char *p,
						      size_t len)
{
	bool query = p > r->mask.text && strchr("?&", p[-1]) && p[-1] && p[len] == '=';

	for (size_t i = 0; i < COUNT_OF(weak_names); i++)
		if (weak_names[i].query <= query &&
		    audit_redact_has_tail(p, len, weak_names[i].tail))
			return &weak_names[i];
	return NULL;
}

static bool audit_redact_has_digit(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] >= '0' && p[i] <= '9')
			return true;
	return false;
}

/* Is @value what the name of @row has if it is that of a secret? */
static bool audit_redact_fits(const struct weak_name *row, const char *value)
{
	const char *start = value + strspn(value, "\\\"'");
	size_t len = audit_mask_name_len(start);

	if (row->value == WEAK_NUMBER)
		return len >= PIN_DIGITS && strspn(start, "0123456789") == len;
	if (row->value == WEAK_TOKEN)
		return len >= AUDIT_MASK_TOKEN_MIN && audit_redact_has_digit(start, len);
	if (row->value == WEAK_MEMBER) { /* pwd: "x", but not a directory */
		while (strchr(" \t", value[-1]))
			value--;
		return value[-1] == ':' && start > value && !strchr("/.~$%{<", *start);
	}
	return value[-1] == '=' && !strchr("${<", *start);
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

/* The start of the value after a name and its separator, or NULL: no such value. @option: that is a
 * blank, too. @word: also behind the quote that ends the name. */
static const char *audit_redact_value_start(const struct redact *r, const char *p, bool option,
					    bool word)
{
	const char *name_end = p + strspn(p, "\\\"'");
	const char *sep = name_end + audit_redact_index_len(name_end);

	sep += audit_mask_gap_len(&r->mask, sep);
	sep += sep[0] == '+' && sep[1] == '=';
	if (*sep == '=' || (*sep == ':' && sep[1] != ':' && strncmp(sep, "://", 3) != 0)) {
		sep += sep[1] == '=' || (*sep == '=' && sep[1] == '>') ? 2 : 1; /* also ==, := */
		return sep + audit_mask_gap_len(&r->mask, sep);
	}
	return word || (option && name_end == p) ? audit_mask_next_word(&r->mask, name_end) : NULL;
}

static bool audit_redact_is_word(const char *p, size_t len, const char *word)
{
	return len == strlen(word) && !strncmp(p, word, len);
}

/* Does what is quoted behind the option go to a shell: -c, -lc, --command? */
static bool audit_redact_takes_command(const char *option, size_t len)
{
	len -= option[len - 1] == '=';
	return option[len - 1] == 'c' || audit_redact_has_tail(option, len, "command");
}

/* The option before the quoted word or argument that begins at @p, *@len bytes, or NULL. */
static const char *audit_redact_option_before(const struct redact *r, const char *p, size_t *len)
{
	const char *end, *start;

	if (p == r->mask.text || (p[-1] && !audit_quote_is_mark(p[-1])))
		return NULL;
	end = p - 1;
	while (end > r->mask.text && end[-1] && strchr("\\'$", end[-1])) /* \", '\'', $' */
		end--;
	while (end > r->mask.text && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	start = end;
	while (start > r->mask.text && start[-1] && !strchr(" \t\n", start[-1]) &&
	       end - start < OPTION_MAX)
		start--;
	*len = (size_t)(end - start);
	return *start == '-' && start < end ? start : NULL;
}

/* Is all of the quoted word or argument at @p for the option before it: -e "PASSWORD=a b"? A
 * command has words of its own. */
static bool audit_redact_is_for_option(const struct redact *r, const char *p)
{
	size_t len;
	const char *option = audit_redact_option_before(r, p, &len);

	return option && !audit_redact_takes_command(option, len);
}

/* Is the name at @p, of @value, that of a private key, and @value the path of its file? */
static bool audit_redact_is_key_file(const char *p, size_t len, const char *value)
{
	const size_t n = audit_mask_plain_len(value);
	const char *path = value + strspn(value, "~.");

	for (size_t i = 0; *path == '/' && value[n - 1] != '=' && i < len; i++)
		if (!strncasecmp(p + i, "private", strlen("private")))
			return true;
	return false;
}

/* Is the name at @p, of @value, that of an image: host/auth:1.2? */
static bool audit_redact_is_image(const struct redact *r, const char *p, size_t len,
				  const char *value)
{
	return p > r->mask.text && p[-1] == '/' && audit_redact_is_word(p, len, "auth") &&
	       value == p + len + 1 && value[-1] == ':';
}

/* Is the name at @p, of @value, what a message is about: -m "auth: return 401"? */
static bool audit_redact_is_topic(const struct redact *r, const char *p, const char *value)
{
	size_t n, name = audit_mask_name_len(p);
	size_t word = strspn(value, "abcdefghijklmnopqrstuvwxyz");
	const char *option = audit_redact_option_before(r, p, &n);

	if (!option || (!audit_redact_is_word(p, name, "auth") &&
			!audit_redact_is_word(p, name, "token") &&
			!audit_redact_is_word(p, name, "secret")))
		return false;
	if (option[1] == '-' ? !audit_redact_is_word(option, n, "--message")
			     : option[n - 1] != 'm')
		return false;
	return !memcmp(value - 2, ": ", 2) && value[word] == ' ' &&
	       isalnum((unsigned char)value[word + 1]);
}

/* Is the option at @p one that takes its value from stdin, and stdin is no <<<? */
static bool audit_redact_is_fed(const struct redact *r, const char *p, size_t len)
{
	const char *next = p + len + audit_mask_gap_len(&r->mask, p + len);

	return *p == '-' && audit_redact_has_tail(p, len, "stdin") && strncmp(next, "<<<", 3) != 0;
}

/* Is what is at @value one of patterns, and not the beginning of a secret: [^x without "]", .*x? */
static bool audit_redact_is_pattern(const char *value)
{
	value += strspn(value, "\\\"'");
	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		const size_t len = strlen(patterns[i]);
		const char *rest = value + len;

		if (strncmp(value, patterns[i], len) != 0)
			continue;
		if (rest[-1] != '^')
			return !audit_mask_is_name_char(*rest);
		return memchr(rest, ']', strnlen(rest, OPTION_MAX)) != NULL;
	}
	return false;
}

/* Does the value at @value only say yes or no, as in PasswordAuthentication=no, or how many, or is
 * it a pattern? Then a secret may be in what replaces that. */
static bool audit_redact_is_harmless(const struct redact *r, const char *value)
{
	const size_t len = audit_mask_plain_len(value);
	struct audit_place at = audit_mask_place(&r->mask, value);

	/* an argument of its own is not a pattern */
	if (audit_quote_depth(&at.quote) && value[-1] && audit_redact_is_pattern(value))
		return true;
	/* PASSWORD=no"more"; in quotes and in an argument blanks end nothing */
	if (value[len] && (strchr("\"'`\\", value[len]) || audit_quote_depth(&at.quote)))
		return false;
	if (len > 0 && len <= COUNT_DIGITS && strspn(value, "0123456789") >= len)
		return true;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (!strncmp(value, places[i], strlen(places[i])))
			return true;
	for (size_t i = 0; i < COUNT_OF(switches); i++)
		if (len == strlen(switches[i]) && !strncasecmp(value, switches[i], len))
			return true;
	return false;
}

/* password: |, at the start of a line or of what is quoted, and indented lines behind it. The name,
 * @len bytes at @p, may be quoted itself. */
static bool audit_redact_mask_block(struct redact *r, const char *p, size_t len, const char *value)
{
	const size_t marks = strspn(p + len, "\\\"'");
	const char *key = p, *line;

	if ((size_t)(p - r->mask.text) >= marks && !memcmp(p - marks, p + len, marks))
		key -= marks;
	for (line = key; line > r->mask.text && line[-1] && strchr(" \t-", line[-1]);)
		line--;
	if (line > r->mask.text && line[-1] != '\n' && !audit_mask_begins_word(&r->mask, line))
		return false;
	return audit_mask_block(&r->mask, value, (size_t)(key - line));
}

/* What follows @word and white space at @p, or NULL: @word is not there. */
static const char *audit_redact_skip_word(const char *p, const char *word)
{
	size_t n = strlen(word);

	if (strncasecmp(p, word, n) != 0 || !p[n] || !strchr(" \t\r\n(", p[n]))
		return NULL;
	return p + n + strspn(p + n, " \t\r\n");
}

static bool audit_redact_mask_quoted(struct redact *r, const char *value)
{
	return audit_quote_is_mark(value[strspn(value, "\\")]) &&
	       audit_mask_value(&r->mask, value, false, true);
}

/* Does one of setters end at @end? */
static bool audit_redact_is_setter(const struct redact *r, const char *end)
{
	for (size_t i = 0; i < COUNT_OF(setters); i++) {
		size_t n = strlen(setters[i]);

		if ((size_t)(end - r->mask.text) >= n && !strncasecmp(end - n, setters[i], n))
			return true;
	}
	return false;
}

/* The end of what stands before the quotes and blanks at @p, or the start of the text: nothing. */
static const char *audit_redact_before(const struct redact *r, const char *p)
{
	while (p > r->mask.text && p[-1] && strchr(" \t\\\"'", p[-1]))
		p--;
	return p > r->mask.text && p[-1] ? p : r->mask.text;
}

/* The value of the name at @p as in define("NAME", "VALUE") and ["--OPTION", "VALUE"], or NULL. */
static const char *audit_redact_argument_start(const struct redact *r, const char *p, size_t len)
{
	const char *end = p + len + strspn(p + len, "\\\"'"), *value;
	const char *before = audit_redact_before(r, p);

	if (end == p + len || *end != ',' || before == r->mask.text ||
	    !(*p == '-' ? strchr("[,\n", before[-1]) != NULL : audit_redact_is_setter(r, before)))
		return NULL;
	value = end + 1 + strspn(end + 1, " \t\r\n");
	return strchr("\\\"'", *value) && value[strspn(value, "\\\"'")] != '-' ? value : NULL;
}

/* The value of the name at @p as in {"name": "NAME", "value": "VALUE"}, or NULL. */
static const char *audit_redact_member_start(const struct redact *r, const char *p, size_t len)
{
	const char *value = p + len + strspn(p + len, "\\\"', \t\r\n");
	const char *before = audit_redact_before(r, p);
	const size_t name = strlen("value");

	if (!strncasecmp(value, "parameter", strlen("parameter"))) /* ParameterValue */
		value += strlen("parameter");
	if (strncasecmp(value, "value", name) != 0 || before == r->mask.text ||
	    !strchr(":=", before[-1]))
		return NULL;
	return audit_redact_value_start(r, value + name, false, false);
}

/* The word before that at @p, behind its quotes, or NULL. */
static const char *audit_redact_word_before(const struct redact *r, const char *p)
{
	const char *end = p;

	while (p && p > r->mask.text && p[-1] && strchr(" \t\r\n", p[-1]))
		p--;
	if (p == end)
		return NULL;
	while (p > r->mask.text && p[-1] && !strchr(" \t\r\n", p[-1]))
		p--;
	return p + strspn(p, "\"'");
}

/* Is the word at @p the "password" of "machine h login me password x", the form of a .netrc? Its
 * last entry may be that of "default". */
static bool audit_redact_is_netrc(const struct redact *r, const char *p)
{
	const char *login, *host, *machine;

	if (strncmp(p, "password", strlen("password")) != 0)
		return false;
	login = audit_redact_word_before(r, audit_redact_word_before(r, p));
	host = audit_redact_word_before(r, login);
	machine = audit_redact_word_before(r, host);
	return host && audit_redact_skip_word(login, "login") &&
	       (audit_redact_skip_word(host, "default") ||
		(machine && audit_redact_skip_word(machine, "machine")));
}

/* Is the name at @p, and a value that looks like a secret, all of a line behind the first one, as
 * in a redis.conf? */
static bool audit_redact_is_setting(const struct redact *r, const char *p, size_t len)
{
	const char *value = p + len + strspn(p + len, " \t"), *line = p;
	size_t n = strcspn(value, " \t\r\n");

	while (line > r->mask.text && (line[-1] == ' ' || line[-1] == '\t'))
		line--;
	return line > r->mask.text && line[-1] == '\n' && value > p + len && n >= SETTING_MIN &&
	       audit_redact_has_digit(value, n) && value[n] != ' ' && value[n] != '\t';
}

/* The words behind the format that is here: printf "PASSWORD=%s\n" x */
static void audit_redact_mask_formatted(struct redact *r)
{
	struct audit_place at = r->mask.at;
	const char *limit = at.p + AUDIT_MASK_NEAR, *from;

	while (at.p < limit && *at.p && audit_quote_depth(&at.quote) > r->printf_depth) {
		audit_quote_step(&at.quote, *at.p);
		at.p++;
	}
	from = at.p + audit_mask_gap_len(&r->mask, at.p);
	audit_mask_skip_to(&at, "\n;|&<>)", limit);
	while (at.p > from && strchr(" \t", at.p[-1]))
		at.p--;
	if (at.p > from)
		audit_mask_hide(&r->mask, from, at.p);
}

/* password=..., "api_key": "...", --token ... */
static bool audit_redact_mask_named(struct redact *r)
{
	const char *p = r->mask.at.p, *apart, *value;
	const struct weak_name *weak = NULL;
	size_t len = audit_mask_name_len(p);
	bool filter = *p == '.' && audit_mask_begins_word(&r->mask, p); /* of jq */
	bool option = *p == '-', words = !filter && audit_options_take_names(&r->command);
	bool flag = words && audit_redact_is_word(p, len, "--secret"), data; /* of pulumi */
	bool whole = (option && audit_mask_begins_word(&r->mask, p)) ||
		     audit_redact_is_for_option(r, p);

	if (!audit_redact_has_hint(p, len))
		return false;
	if (!audit_redact_is_secret_name(p, len) && !audit_redact_is_pwd(r, p, len) &&
	    !(weak = audit_redact_weak_name(r, p, len)))
		return false;
	if (audit_redact_is_fed(r, p, len))
		return false;
	words |= audit_redact_is_netrc(r, p) || audit_redact_is_setting(r, p, len);
	apart = audit_redact_argument_start(r, p, len);
	if (!apart)
		apart = audit_redact_member_start(r, p, len);
	value = apart ? apart
		      : audit_redact_value_start(r, p + len, option && !flag, words && !option);
	if (!value || (weak && !audit_redact_fits(weak, value)) ||
	    audit_redact_is_harmless(r, value) || audit_redact_is_topic(r, p, value) ||
	    audit_redact_is_key_file(p, len, value) || audit_redact_is_image(r, p, len, value))
		return false;
	data = apart || memchr(p + len, ':', (size_t)(value - p) - len);
	if (data && audit_redact_mask_block(r, p, len, value))
		return true;
	whole &= value[-1] == '=' || value[-1] == ':';
	if (!audit_mask_value(&r->mask, value, whole, data))
		return false;
	if (words) /* of redis-cli auth NAME PASSWORD both may be secret */
		audit_options_note(&r->command, p);
	if (data && !strncmp(r->mask.at.p, " = ", 3)) /* password: str = "x" */
		audit_redact_mask_quoted(r, r->mask.at.p + 3);
	return true;
}

/* <password>x</password> */
static bool audit_redact_mask_element(struct redact *r)
{
	const char *p = r->mask.at.p;
	size_t len = audit_mask_name_len(p);
	const char *value = p + len + 1;
	size_t n = p[len] == '>' ? strcspn(value, "<") : 0;

	if (!n || p == r->mask.text || p[-1] != '<' || strncmp(value + n, "</", 2) != 0 ||
	    !audit_redact_is_secret_name(p, len))
		return false;
	audit_mask_hide(&r->mask, value, value + n);
	return true;
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

	return value && audit_redact_mask_quoted(r, value);
}

/* The row of the function that is called at @p, or NULL. */
static const struct password_call *audit_redact_call(const char *p, size_t len)
{
	const bool bare = p[len] == ' ';

	for (size_t i = 0; i < COUNT_OF(password_calls) && (bare || p[len] == '('); i++)
		if (bare <= password_calls[i].bare &&
		    audit_redact_has_tail(p, len, password_calls[i].name))
			return &password_calls[i];
	return NULL;
}

/* The argument behind @n commas at @p, or NULL: there is none near. */
static const char *audit_redact_nth_argument(const struct redact *r, const char *p, unsigned n)
{
	struct audit_place at = audit_mask_place(&r->mask, p);
	unsigned open = 0;

	for (; n > 0; at.p++) {
		audit_mask_skip_to(&at, ",()[]{}", p + CALL_NEAR);
		if (at.p >= p + CALL_NEAR || !*at.p)
			return NULL;
		if (strchr("([{", *at.p))
			open++;
		else if (*at.p == ',')
			n -= !open;
		else if (open-- == 0)
			return NULL;
	}
	return at.p + strspn(at.p, " \t\r\n");
}

/* Note the argument that is secret of the call that is here: user.set_password("x"),
 * bcrypt.hashpw(b"x", salt), smtp.login("me", "x"), ConvertTo-SecureString -String "x". */
static void audit_redact_note_call(struct redact *r)
{
	const char *p = r->mask.at.p, *value;
	size_t len = audit_mask_name_len(p);
	const struct password_call *call = audit_redact_call(p, len);

	if (!call)
		return;
	value = p + len + 1 + strspn(p + len + 1, " \t\r\n");
	while (*value == '-') {
		value += audit_mask_name_len(value);
		value += strspn(value, " \t");
	}
	value = audit_redact_nth_argument(r, value, call->argument);
	r->argument = value && *value == 'b' ? value + 1 : value;
}

/* Did what is near before @p, and behind what was sent before, expect a question? */
static bool audit_redact_is_asked(const struct redact *r, const char *p)
{
	static const char *const questions[] = { "assword", "assphrase", "etype" };
	bool asked = false;

	for (const char *q = p; q > r->mask.text && p - q < ASKED_NEAR;) {
		q--;
		if (!strncmp(q, "send", strlen("send")))
			return false;
		for (size_t i = 0; i < COUNT_OF(questions) && !asked; i++)
			asked = !strncmp(q, questions[i], strlen(questions[i]));
		if (asked)
			return memmem(r->mask.text, (size_t)(q - r->mask.text), "expect",
				      strlen("expect"));
	}
	return false;
}

/* expect "assword:"; send "x\r", child.expect("Password:"); child.sendline("x") */
static bool audit_redact_mask_sent(struct redact *r)
{
	const char *p = r->mask.at.p, *value;
	size_t len = audit_mask_name_len(p);

	if (!audit_redact_has_tail(p, len, "send") && !audit_redact_has_tail(p, len, "sendline"))
		return false;
	if (!audit_redact_is_asked(r, p))
		return false;
	value = p + len;
	value += strspn(value, "( \t");
	if (!strncmp(value, "-- ", strlen("-- ")))
		value += strlen("-- ");
	return audit_redact_mask_quoted(r, value + (*value == 'b'));
}

static bool audit_redact_is_writer(const char *p, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(writers); i++)
		if (audit_redact_is_word(p, len, writers[i]))
			return true;
	return false;
}

/* Is the word at @p the first behind "<(", and a name before that, in the same command, one of a
 * secret: sshpass -f <(echo x)? */
static bool audit_redact_is_substituted(const struct redact *r, const char *p)
{
	const char *text = r->mask.text, *q = p - 2;
	size_t len;

	if (p - text < 3 || memcmp(q, "<(", 2) != 0)
		return false;
	do {
		q--;
		len = q > text && audit_mask_is_name_char(q[-1]) ? 0 : audit_mask_name_len(q);
		if (audit_redact_has_hint(q, len) && audit_redact_is_secret_name(q, len))
			return true;
	} while (q > text && p - q < ASKED_NEAR && !audit_readers_ends_before(&r->mask, q));
	return false;
}

/* echo x | sudo -S true */
static bool audit_redact_mask_fed(struct redact *r)
{
	struct audit_place at = r->mask.at;
	const char *from = at.p, *end;
	size_t len = audit_mask_name_len(from);
	const struct audit_pipeline *known;

	if (!audit_redact_is_writer(from, len))
		return false;
	known = audit_readers_look(&r->readers, &r->mask, NULL);
	if (known->reader && known->reader > from)
		audit_readers_skip_command(&at, from + AUDIT_MASK_NEAR);
	else if (audit_redact_is_substituted(r, from))
		audit_mask_skip_to(&at, ")" AUDIT_MASK_COMMAND_ENDS, from + AUDIT_MASK_NEAR);
	else
		return false;
	end = at.p;
	if (known->file) {
		at = r->mask.at;
		audit_mask_skip_to(&at, ">", end);
		end = at.p;
	}
	for (bool option = true; option; option = *from == '-') {
		from += audit_mask_name_len(from);
		from += audit_mask_gap_len(&r->mask, from);
	}
	while (end > from && strchr(" \t", end[-1]))
		end--;
	if (end > from)
		audit_mask_hide(&r->mask, from, end);
	return end > from;
}

/* sudo -S true <<< x. What the value itself names reads nothing. */
static bool audit_redact_mask_here_string(struct redact *r)
{
	const char *p = r->mask.at.p, *value = p + 3, *stop;

	if (strncmp(p, "<<<", 3) != 0)
		return false;
	value += audit_mask_gap_len(&r->mask, value);
	stop = audit_readers_look(&r->readers, &r->mask, value)->stop;
	return stop && stop > p && audit_mask_value(&r->mask, value, false, false);
}

/* The end of the lines from @p on, or with @first of the first one, of a here-document whose end is
 * called @name, @len bytes. */
static const char *audit_redact_document_end(const char *p, const char *name, size_t len, bool tabs,
					     bool first)
{
	for (;;) {
		const char *line = p + (tabs ? strspn(p, "\t") : 0);

		if (!strncmp(line, name, len) && !audit_mask_is_name_char(line[len]))
			return p;
		p += strcspn(p, "\n");
		if (!*p || first)
			return p;
		p++;
	}
}

/* The first line behind @p that no backslash makes a part of the one before. */
static const char *audit_redact_next_line(const char *p)
{
	do {
		p += strcspn(p, "\n");
		p += *p == '\n';
	} while (*p && p[-2] == '\\');
	return p;
}

/* Note the here-document that begins behind this line, or its first line, if it is secret: sudo -S
 * true <<E. What is behind that line may be commands: sudo -S sh <<E. */
static void audit_redact_note_document(struct redact *r)
{
	const char *p = r->mask.at.p, *name = p + 2;
	const struct audit_pipeline *known;
	size_t len;
	bool tabs;

	if (r->document || strncmp(p, "<<", 2) != 0 || p[2] == '<' ||
	    (p > r->mask.text && p[-1] == '<'))
		return;
	tabs = *name == '-';
	name += tabs;
	name += strspn(name, " \t\\\"'");
	len = strcspn(name, " \t\n\\\"';|&<>()`");
	known = len ? audit_readers_look(&r->readers, &r->mask, NULL) : NULL;
	if (!known || !known->stop || known->stop <= p)
		return;
	r->document = audit_redact_next_line(name + len);
	r->document_end =
		audit_redact_document_end(r->document, name, len, tabs, known->line);
}

/* Mask the here-document that is here. Its quotes open nothing. */
static bool audit_redact_mask_document(struct redact *r)
{
	const char *p = r->mask.at.p, *from = r->document, *end = r->document_end;
	const struct audit_quote quote = r->mask.at.quote;

	if (!from || p < from)
		return false;
	r->document = NULL;
	end -= end > from && end[-1] == '\n';
	if (end <= p)
		return false;
	audit_mask_hide(&r->mask, p, p + 1);
	r->mask.at = (struct audit_place){ .p = end, .quote = quote };
	return true;
}

/* Authorization: anything up to the end of the line or of the quotes. */
static bool audit_redact_mask_header(struct redact *r)
{
	const char *name = r->mask.at.p, *p;
	size_t len = audit_mask_name_len(name);

	p = name + len + audit_mask_gap_len(&r->mask, name + len);
	for (size_t i = 0; i < COUNT_OF(secret_headers) && *p == ':'; i++) {
		if (len != strlen(secret_headers[i]) ||
		    strncasecmp(name, secret_headers[i], len) != 0)
			continue;
		p += 1 + audit_mask_gap_len(&r->mask, p + 1);
		/* it is searched for */
		if (!strncasecmp(p, "bearer", 6) && audit_quote_is_mark(p[6])) {
			audit_mask_hide(&r->mask, p, p);
			return true;
		}
		if (audit_quote_is_mark(p[*p == '$']))
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

	return keep && audit_mask_plain_len(p + 6 + keep) >= AUDIT_MASK_TOKEN_MIN &&
	       audit_mask_value(&r->mask, p + 6 + keep, false, false);
}

static bool audit_redact_mask_token(struct redact *r)
{
	const char *p = r->mask.at.p;
	size_t len = audit_mask_name_len(p), keep = audit_mask_token_prefix(p, len);

	if (keep)
		audit_mask_hide(&r->mask, p + keep, p + len);
	return keep > 0;
}

/* Does the quote at @p end a URL, as in "http://h:" + port? @opening: it may open the password, so
 * behind it only blanks say so, and not what a program or JSON has between values. */
static bool audit_redact_ends_url(const char *p, bool opening)
{
	return strchr(" \t\r\n", p[1]) || (!opening && strchr(",;:)]}+>|&`", p[1]));
}

/* Bytes of the password in a URL, whose name ends before @p, or 0: none. It may hold an "@", and
 * against the rules a "/" too; but a port and a variable are none. In the quotes that it begins
 * with, other ones end nothing. */
static size_t audit_redact_password_len(const struct redact *r, const char *p)
{
	static const char marks[] = "\\\"'";
	struct audit_place at = audit_mask_place(&r->mask, p);
	const unsigned depth = audit_quote_depth(&at.quote);
	const char *first = p + strspn(p, marks);
	const char *port = first + strspn(first, "0123456789");
	bool secret = !strchr("{<%$", *first) && !strchr("/?#", port[strspn(port, marks)]);
	size_t len = 0;

	for (size_t n = 0; n < AUDIT_MASK_NEAR && p[n]; n++) {
		bool quoted = audit_quote_depth(&at.quote) > depth, opening = p + n < first;
		unsigned now;

		if (strchr(" \t\r\n", p[n]) && !(quoted && first > p))
			break;
		if (!quoted && (strchr("?#", p[n]) || (p[n] == '/' && (len || !secret))))
			break;
		if (p[n] == '@')
			len = n;
		audit_quote_step(&at.quote, p[n]);
		now = audit_quote_depth(&at.quote);
		if (audit_quote_is_mark(p[n]) && (opening || first == p || now <= depth) &&
		    audit_redact_ends_url(p + n, opening && now >= depth))
			break;
	}
	return len;
}

/* Is the word at @p what curl's -x, or an option or a variable that names a proxy or a data source,
 * is given? */
static bool audit_redact_is_address(const struct redact *r, const char *p)
{
	const char *end = p, *name;

	if (p[0] == '-' && p[1] == 'x') /* -xNAME:PASSWORD@HOST */
		return r->in_curl;
	while (end > r->mask.text && strchr(" \t\\\"'=", end[-1])) /* or the end of an argument */
		end--;
	for (name = end; name > r->mask.text && audit_mask_is_name_char(name[-1]); name--)
		;
	if (end - name > 1 && name[0] == '-' && name[1] != '-') /* -sx */
		return r->in_curl && end[-1] == 'x';
	if (end - name >= 5 && (!strncasecmp(end - 5, "proxy", 5) || !strncmp(name, "--socks", 7)))
		return true;
	return audit_redact_has_tail(name, (size_t)(end - name), "uri") ||
	       audit_redact_has_tail(name, (size_t)(end - name), "dsn");
}

/* curl -x name:password@host, which may be a URL without its scheme; name:password@tcp(host) */
static bool audit_redact_mask_address(struct redact *r)
{
	const char *p = r->mask.at.p, *password = p + audit_mask_name_len(p) + 1;
	size_t len;

	if (password[-1] != ':')
		return false;
	len = strcspn(password, " \t\r\n");
	if (!audit_redact_is_address(r, p) && !memmem(password, len, "@tcp(", strlen("@tcp(")))
		return false;
	len = audit_redact_password_len(r, password);
	if (len > 0)
		audit_mask_hide(&r->mask, password, password + len);
	return len > 0;
}

/* What is secret of the URL whose host is at @p, or NULL. */
static const char *audit_redact_secret_of_url(const char *p)
{
	for (size_t i = 0; i < COUNT_OF(secret_urls); i++)
		if (*p == *secret_urls[i] && !strncmp(p, secret_urls[i], strlen(secret_urls[i])))
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

	if (len < AUDIT_MASK_TOKEN_MIN || scheme_end - r->mask.text < 4 ||
	    (strncasecmp(scheme_end - 4, "http", 4) && strncasecmp(scheme_end - 4, "ttps", 4)))
		return false;
	return audit_redact_has_digit(name, len) && !audit_mask_token_prefix(name, len);
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
	len = name[-1] == ':' ? audit_redact_password_len(r, name) : 0;
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

/* Does a simple command end here? Separators in quotes are seldom followed by a blank. */
static bool audit_redact_ends_command(const struct redact *r)
{
	const char *p = r->mask.at.p;

	if (*p == '\n')
		return !audit_quote_is_escaped(&r->mask.at.quote);
	return *p && strchr(";|&", *p) && strchr(" \t\n;|&", p[1]);
}

/* Note the word that is here and no secret. */
static void audit_redact_note(struct redact *r)
{
	const char *p = r->mask.at.p;

	audit_options_note(&r->command, p);
	r->in_curl |= !strncasecmp(p, "curl", strlen("curl")); /* also $CURL */
	if (audit_redact_is_word(p, audit_mask_name_len(p), "printf")) {
		r->in_printf = true;
		r->printf_depth = audit_quote_depth(&r->mask.at.quote);
	}
}

static void audit_redact_mask_word(struct redact *r)
{
	static bool (*const shapes[])(struct redact *r) = {
		audit_redact_mask_header,  audit_redact_mask_phrase, audit_redact_mask_named,
		audit_redact_mask_element, audit_redact_mask_bearer,
		audit_redact_mask_token,   audit_redact_mask_secret_url, audit_redact_mask_fed,
		audit_redact_mask_address, audit_redact_mask_sent,
	};
	const char *p = r->mask.at.p;
	bool masked;

	audit_redact_note_call(r);
	masked = audit_options_mask(&r->command, &r->mask, false);
	for (size_t i = 0; i < COUNT_OF(shapes) && !masked; i++)
		masked = shapes[i](r);
	if (masked && r->in_printf && memchr(p, '%', (size_t)(r->mask.at.p - p)))
		audit_redact_mask_formatted(r);
	if (!masked && !audit_options_mask(&r->command, &r->mask, true))
		audit_redact_note(r);
}

/* Go one byte on, or behind the secret that is here. */
static void audit_redact_step(struct redact *r)
{
	const char *p = r->mask.at.p;

	if (audit_redact_mask_document(r) ||
	    (p == r->argument && audit_redact_mask_quoted(r, p)))
		return;
	audit_redact_note_document(r);
	if (audit_mask_is_name_char(*p) && (p == r->mask.text || !audit_mask_is_name_char(p[-1])))
		audit_redact_mask_word(r);
	if (r->mask.at.p == p && audit_redact_ends_command(r)) {
		r->command = (struct audit_command){ 0 };
		r->in_printf = r->in_curl = false;
	} else {
		r->command.crossed |= *p && strchr(";|&", *p);
	}
	if (r->mask.at.p == p && !audit_redact_mask_url(r) && !audit_redact_mask_key(r) &&
	    !audit_redact_mask_here_string(r))
		audit_mask_hide(&r->mask, p + 1, p + 1);
}

/* The text, and each argument behind a NUL. */
static char *audit_redact_join(const char *text, const char *const *args, size_t *len)
{
	size_t size = strlen(text) + 1;
	char *joined, *to;

	for (const char *const *arg = args; arg && *arg; arg++)
		size += strlen(*arg) + 1;
	joined = mem_realloc(NULL, size);
	to = stpcpy(joined, text);
	for (; args && *args; args++)
		to = stpcpy(to + 1, *args);
	*len = size - 1;
	return joined;
}

/* Can the word at @p make anything secret from @text to @end, where no "@" and "<" is? */
static bool audit_redact_is_notable(const char *text, const char *end, const char *p, size_t len)
{
	if (len > OPTION_MAX || audit_options_are_possible(text, (size_t)(end - text), p, len))
		return true;
	if (audit_redact_is_writer(p, len))
		return audit_readers_are_possible(text, end);
	if (p[len] == '(' && audit_redact_call(p, len))
		return true;
	if (*p == '-' && (p[1] == 'u' || !strncmp(p, "--user", strlen("--user"))))
		return true;
	if (!audit_redact_has_hint(p, len))
		return false;
	for (size_t i = 0; i < COUNT_OF(weak_names); i++)
		if (audit_redact_has_tail(p, len, weak_names[i].tail))
			return true;
	for (size_t i = 0; i < COUNT_OF(other_tails); i++)
		if (audit_redact_has_tail(p, len, other_tails[i]))
			return true;
	return audit_redact_is_secret_name(p, len);
}

/*
 * Is it plain that nothing from @text to @end is secret, because nothing is there that a shape
 * needs? Of most commands, ids and directories this is told in far less time than the shapes take.
 * @alone: a word alone, such as a path or an id, can only be a token. A command never is: quotes
 * part its words for the shapes as blanks do. A backslash may stand for another character.
 */
static bool audit_redact_is_plain(const char *text, const char *end, bool alone)
{
	size_t len;

	for (const char *p = text; p < end; p += len ? len : 1) {
		len = audit_mask_name_len(p);
		if (len ? audit_mask_token_prefix(p, len) || audit_redact_secret_of_url(p)
			: *p == '@' || *p == '<' || *p == '\\')
			return false;
		alone &= len || *p == '/' || *p == '"';
	}
	for (const char *p = text; p < end && !alone; p += len ? len : 1) {
		len = audit_mask_name_len(p);
		if (len && audit_redact_is_notable(text, end, p, len))
			return false;
	}
	return true;
}

/* What is from @text to @end, of at most @max bytes, with secrets masked. */
static char *audit_redact_within(const char *text, const char *end, size_t max)
{
	struct redact r = { .mask = { .text = text, .end = end, .at.p = text } };
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
	size_t len;
	char *joined = audit_redact_join(text, args, &len), *shown;

	if (len > AUDIT_TEXT_MAX || !audit_redact_is_plain(joined, joined + len, false)) {
		shown = audit_redact_within(joined, joined + len, AUDIT_TEXT_MAX);
		free(joined);
		return shown;
	}
	for (size_t i = 0; i < len; i++)
		joined[i] = joined[i] ? joined[i] : ' ';
	return joined;
}

/* @text as it may be shown: itself, or *@shown, which is the caller's. */
static const char *audit_redact_short(const char *text, size_t max, char **shown)
{
	const char *end = text + strlen(text);

	if (end - text <= (ptrdiff_t)max && audit_redact_is_plain(text, end, true))
		return text;
	return *shown = audit_redact_within(text, end, max);
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
	const char *said = text ? text : token;
	char *shown = audit_redact_within(said, said + strlen(said), REQUEST_ID_MAX);

	if (text && !strcmp(shown, text)) { /* nothing of what the escapes stand for is masked */
		free(shown);
		shown = audit_redact_within(token, token + strlen(token), REQUEST_ID_MAX);
	}
	json_decref(id);
	return shown;
}

void audit_add_request_id(struct jsonw *w, const char *token)
{
	const size_t len = token ? strlen(token) : 0;
	AUTO_FREE char *masked = NULL;

	if (!token)
		return;
	if (len > REQUEST_ID_MAX || !audit_redact_is_plain(token, token + len, true))
		masked = audit_redact_id(token);
	if (masked && strcmp(masked, token) != 0)
		jsonw_str(w, "request_id", masked);
	else
		jsonw_raw(w, "request_id", token, len);
}
