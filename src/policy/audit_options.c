#include "policy/audit_options.h"

#include <string.h>

#include "base/mem.h"

/* Where the value of an option, or a word, is a secret. */
enum secret_place {
	SECRET_ATTACHED = 1, /* -pVALUE, behind flags too */
	SECRET_NEXT = 2,     /* -p VALUE, -p=VALUE */
	SECRET_PAIR = 4,     /* only NAME=VALUE: else it is a file */
	SECRET_WORD = 8,     /* the first word that is not an option */
	SECRET_USER = 16,    /* of NAME:VALUE what is behind the colon, or behind another byte */
	SECRET_LATE = 32,    /* unless it is another shape; -pmy-secret only looks like one */
	SECRET_NAMED = 64,   /* the word behind a secret name: set password VALUE */
	SECRET_REST = 128,   /* words behind the first one */
	SECRET_NONE = 256,   /* the option holds none, whatever it is called */
	SECRET_NONE_FIRST = 512, /* the same before the second word, which may be another program */
};

/* SECRET_REST from behind @n words on. */
#define SECRET_FROM_SHIFT 12
#define SECRET_FROM(n) (SECRET_REST | (unsigned)(n) << SECRET_FROM_SHIFT)

/* SECRET_USER with the byte @c in place of the colon. */
#define SECRET_BYTE_SHIFT 16
#define SECRET_BEHIND(c) (SECRET_USER | (unsigned)(c) << SECRET_BYTE_SHIFT)

/* Options without a value: the one that has the secret may stand behind them, as in -su. */
#define CURL_FLAGS "#012346aBfgGiIjJklLMnNOpqRsSvVZ"
#define ZIP_FLAGS "0123456789DejgklmoqrTuvy"
#define MYSQL_FLAGS "aAbBcCdEfFGHiIjJkKlLnNoqQrRstUvVWxX"
#define LDAP_FLAGS "AcCIkKLMnNQrStuvVWxZ"
#define USER_FLAGS "aDLmMNorU"
#define SSH_KEYGEN_FLAGS "ABcehHiklLpqQuUvXy"

static const struct secret_option {
	char program[12];    /* with '*' at its end: a prefix of it */
	char subcommand[16]; /* so a word, or a short option, before; "": none needed */
	char option[18];
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
	{ "conan", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "cqlsh", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "cypher-she*", "", "-p", SECRET_NEXT, "" },
	{ "couchbase*", "", "-p", SECRET_NEXT, "" },
	{ "doctl", "init", "-t", SECRET_NEXT, "" },
	{ "codecov", "", "-t", SECRET_NEXT, "" },
	{ "mosquitto_*", "", "-P", SECRET_NEXT, "" },
	{ "ipmitool", "", "-P", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "bcp", "", "-P", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "tsql", "", "-P", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "mongo*", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "sqlcmd", "", "-P", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "useradd", "", "-p", SECRET_ATTACHED | SECRET_NEXT, USER_FLAGS },
	{ "usermod", "", "-p", SECRET_ATTACHED | SECRET_NEXT, USER_FLAGS },
	{ "ssh-keygen", "", "-N", SECRET_ATTACHED | SECRET_NEXT, SSH_KEYGEN_FLAGS },
	{ "ssh-keygen", "", "-P", SECRET_ATTACHED | SECRET_NEXT, SSH_KEYGEN_FLAGS },
	{ "htpasswd", "-b", "", SECRET_REST | SECRET_LATE, "" },
	{ "aws", "configure", "", SECRET_NAMED, "" },
	{ "npm", "config", "", SECRET_NAMED, "" },
	{ "npm", "set", "", SECRET_NAMED, "" },
	{ "pnpm", "config", "", SECRET_NAMED, "" },
	{ "yarn", "config", "", SECRET_NAMED, "" },
	{ "git", "config", "", SECRET_NAMED, "" },
	{ "pulumi", "config", "", SECRET_NAMED, "" },
	{ "rclone", "config", "", SECRET_NAMED, "" },
	{ "dotnet", "user-secrets", "", SECRET_NAMED, "" },
	{ "nmcli", "", "", SECRET_NAMED, "" },
	{ "mysqladmin", "", "", SECRET_NAMED, "" },
	{ "redis-cli", "", "", SECRET_NAMED, "" },
	{ "ngrok", "", "", SECRET_NAMED, "" },
	{ "wp", "config", "", SECRET_NAMED, "" },
	{ "wp", "option", "", SECRET_NAMED, "" },
	{ "drush", "", "", SECRET_NAMED, "" },
	{ "composer", "config", "", SECRET_NAMED, "" },
	{ "setenv", "", "", SECRET_NAMED, "" },
	{ "ENV", "", "", SECRET_NAMED, "" }, /* of a Dockerfile */
	{ "sshpass", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "evV" },
	{ "openssl", "", "-k", SECRET_NEXT, "" },
	{ "openssl", "", "-K", SECRET_NEXT, "" },
	{ "openssl", "", "-hmac", SECRET_NEXT, "" },
	{ "openssl", "", "-macopt", SECRET_NEXT, "" },
	{ "openssl", "", "-psk", SECRET_NEXT, "" },
	{ "valkey-cli", "", "-a", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "hdbsql", "", "-p", SECRET_NEXT, "" },
	{ "vsql", "", "-w", SECRET_NEXT, "" },
	{ "knife", "", "-P", SECRET_NEXT, "" },
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
	{ "samba-tool", "create", "", SECRET_FROM(2) | SECRET_LATE, "" },
	{ "bao", "login", "", SECRET_WORD | SECRET_LATE, "" },
	{ "vault", "login", "", SECRET_WORD | SECRET_LATE, "" },
	{ "mc", "host", "", SECRET_FROM(4) | SECRET_LATE, "" },
	{ "mc", "alias", "", SECRET_FROM(3) | SECRET_LATE, "" },
	{ "bw", "login", "", SECRET_FROM(1) | SECRET_LATE, "" },
	{ "poetry", "http-basic*", "", SECRET_REST | SECRET_LATE, "" },
	{ "composer", "http-basic*", "", SECRET_REST | SECRET_LATE, "" },
	{ "redis-cli", "AUTH", "", SECRET_WORD | SECRET_LATE, "" },
	{ "bitcoin-cli", "walletpass*", "", SECRET_WORD | SECRET_LATE, "" },
	{ "vault", "unseal", "", SECRET_WORD | SECRET_LATE, "" },
	{ "cargo", "login", "", SECRET_WORD | SECRET_LATE, "" },
	{ "wandb", "login", "", SECRET_WORD | SECRET_LATE, "" },
	{ "snyk", "auth", "", SECRET_WORD | SECRET_LATE, "" },
	{ "bw", "unlock", "", SECRET_WORD | SECRET_LATE, "" },
	{ "cloudflared", "install", "", SECRET_WORD | SECRET_LATE, "" },
	{ "openssl", "passwd", "", SECRET_REST | SECRET_LATE, "" },
	{ "mycli", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "smb*", "", "-U", SECRET_ATTACHED | SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "smb*", "", "--user", SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "rpcclient", "", "-U", SECRET_ATTACHED | SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "net", "", "-U", SECRET_ATTACHED | SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "winexe", "", "-U", SECRET_ATTACHED | SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "wmic", "", "-U", SECRET_ATTACHED | SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "smbmap", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "mount*", "", "user", SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "mount*", "", "username", SECRET_NEXT | SECRET_BEHIND('%'), "" },
	{ "sqlplus", "", "", SECRET_WORD | SECRET_BEHIND('/') | SECRET_LATE, "" },
	{ "rman", "", "", SECRET_WORD | SECRET_BEHIND('/') | SECRET_LATE, "" },
	{ "expdp", "", "", SECRET_WORD | SECRET_BEHIND('/') | SECRET_LATE, "" },
	{ "impdp", "", "", SECRET_WORD | SECRET_BEHIND('/') | SECRET_LATE, "" },
	{ "sqlldr", "", "", SECRET_WORD | SECRET_BEHIND('/') | SECRET_LATE, "" },
	{ "sqlldr", "", "userid", SECRET_NEXT | SECRET_BEHIND('/'), "" },
	{ "http", "bearer", "-a", SECRET_NEXT, "" },
	{ "https", "bearer", "-a", SECRET_NEXT, "" },
	{ "http", "", "-a", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER, "" },
	{ "https", "", "-a", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER, "" },
	{ "xh", "bearer", "-a", SECRET_NEXT, "" },
	{ "xh", "", "-a", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER, "" },
	{ "lftp", "", "-u", SECRET_ATTACHED | SECRET_NEXT | SECRET_BEHIND(','), "" },
	{ "influx", "", "-t", SECRET_NEXT, "" },
	{ "rar", "", "-p", SECRET_ATTACHED, "" },
	{ "rar", "", "-hp", SECRET_ATTACHED, "" },
	{ "unrar", "", "-p", SECRET_ATTACHED, "" },
	{ "slappasswd", "", "-s", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "kadmin", "", "-w", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "rclone", "obscure", "", SECRET_WORD | SECRET_LATE, "" },
	{ "ansible-va*", "encrypt_string", "", SECRET_REST | SECRET_LATE, "" },
	{ "az", "server", "-p", SECRET_NEXT, "" },
	{ "az", "user", "-p", SECRET_NEXT, "" },
	{ "az", "flexible-server", "-p", SECRET_NEXT, "" },
	{ "aws", "put-parameter", "--value", SECRET_NEXT, "" },
	{ "gcloud", "config", "", SECRET_NAMED, "" },
	{ "glab", "login", "-t", SECRET_NEXT, "" },
	{ "supabase", "link", "-p", SECRET_NEXT, "" },
	{ "supabase", "push", "-p", SECRET_NEXT, "" },
	{ "influx", "password", "-p", SECRET_NEXT, "" },
	{ "vault", "put", "", SECRET_REST | SECRET_BEHIND('=') | SECRET_LATE, "" },
	{ "fly*", "secrets", "", SECRET_REST | SECRET_BEHIND('=') | SECRET_LATE, "" },
	{ "supabase", "secrets", "", SECRET_REST | SECRET_BEHIND('=') | SECRET_LATE, "" },
	{ "doppler", "secrets", "", SECRET_REST | SECRET_BEHIND('=') | SECRET_LATE, "" },
	{ "travis", "encrypt", "", SECRET_WORD | SECRET_LATE, "" },
	{ "crane", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "oras", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "regctl", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "cosign", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "cf", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "ibmcloud", "login", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "rancher", "login", "-t", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "skopeo", "", "--creds", SECRET_NEXT | SECRET_USER, "" },
	{ "skopeo", "", "--src-creds", SECRET_NEXT | SECRET_USER, "" },
	{ "skopeo", "", "--dest-creds", SECRET_NEXT | SECRET_USER, "" },
	{ "podman", "", "--creds", SECRET_NEXT | SECRET_USER, "" },
	{ "buildah", "", "--creds", SECRET_NEXT | SECRET_USER, "" },
	{ "rdesktop", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "xfreerdp*", "", "p:", SECRET_ATTACHED, "" },
	{ "ncftp*", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "evil-winrm", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "netexec", "", "-p", SECRET_NEXT, "" },
	{ "nxc", "", "-p", SECRET_NEXT, "" },
	{ "crackmapex*", "", "-p", SECRET_NEXT, "" },
	{ "hydra", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "snmp*", "", "-c", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "snmp*", "", "-A", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "snmp*", "", "-X", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "rabbitmqctl", "add_user", "", SECRET_REST | SECRET_LATE, "" },
	{ "rabbitmqctl", "change_password", "", SECRET_REST | SECRET_LATE, "" },
	{ "rabbitmqad*", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "wpa_passph*", "", "", SECRET_REST | SECRET_LATE, "" },
	{ "wpa_cli", "", "", SECRET_NAMED, "" },
	{ "set", "-x", "", SECRET_NAMED, "" },
	{ "jq", "--arg", "", SECRET_NAMED, "" },
	{ "grafana*", "", "", SECRET_NAMED, "" },
	{ "neo4j-admin", "", "", SECRET_NAMED, "" },
	{ "pdftk", "", "", SECRET_NAMED, "" },
	{ "pdf*", "", "-upw", SECRET_NEXT, "" },
	{ "pdf*", "", "-opw", SECRET_NEXT, "" },
	{ "poetry", "publish", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "dotnet", "nuget", "-k", SECRET_NEXT, "" },
	{ "dotnet", "nuget", "-p", SECRET_NEXT, "" },
	{ "swift", "", "-K", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "mkpasswd", "-m", "", SECRET_REST | SECRET_LATE, "" },
	{ "mkpasswd", "--method", "", SECRET_WORD | SECRET_LATE, "" },
	{ "swaks", "", "-ap", SECRET_NEXT, "" },
	{ "sendemail", "", "-xp", SECRET_NEXT, "" },
	{ "sendEmail", "", "-xp", SECRET_NEXT, "" },
	{ "yt-dlp", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "youtube-dl", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "p4", "", "-P", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "beeline", "", "-p", SECRET_NEXT, "" },
	{ "supervisor*", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "veracrypt", "", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "pkcs11-tool", "", "--pin", SECRET_NEXT, "" },
	{ "pkcs11-tool", "", "--so-pin", SECRET_NEXT, "" },
	{ "softhsm2*", "", "--pin", SECRET_NEXT, "" },
	{ "softhsm2*", "", "--so-pin", SECRET_NEXT, "" },
	{ "oathtool", "-b", "", SECRET_WORD | SECRET_LATE, "" },
	{ "oathtool", "--base32", "", SECRET_WORD | SECRET_LATE, "" },
	{ "oathtool", "--totp", "", SECRET_WORD | SECRET_LATE, "" },
	{ "security", "unlock-keychain", "-p", SECRET_NEXT, "" },
	{ "security", "create-keychain", "-p", SECRET_NEXT, "" },
	{ "security", "add-*", "-w", SECRET_NEXT, "" },
	{ "security", "import", "-P", SECRET_NEXT, "" },
	{ "xcrun", "altool", "-p", SECRET_NEXT, "" },
	{ "signtool", "", "p", SECRET_NEXT, "" },
	{ "glab", "variable", "--value", SECRET_NEXT, "" },
	{ "glab", "variable", "-v", SECRET_NEXT, "" },
	{ "glab", "variable", "", SECRET_NAMED, "" },
	{ "netlify", "", "", SECRET_NAMED, "" },
	{ "consul", "put", "", SECRET_NAMED, "" },
	{ "etcdctl", "put", "", SECRET_NAMED, "" },
	{ "crudini", "", "", SECRET_NAMED, "" },
	{ "proxy_set_*", "", "", SECRET_NAMED, "" }, /* of an nginx.conf */
	{ "caddy", "", "--plaintext", SECRET_NEXT, "" },
	{ "doveadm", "pw", "-p", SECRET_ATTACHED | SECRET_NEXT, "" },
	{ "docker", "", "-u", SECRET_NONE_FIRST, "" }, /* a user and a group */
	{ "docker", "", "--user", SECRET_NONE_FIRST, "" },
	{ "docker", "build", "--secret", SECRET_NONE, "" }, /* but docker run i x --secret X */
	{ "docker", "service", "--secret", SECRET_NONE, "" },
	{ "podman", "", "-u", SECRET_NONE_FIRST, "" },
	{ "podman", "", "--user", SECRET_NONE_FIRST, "" },
	{ "podman", "build", "--secret", SECRET_NONE, "" },
	{ "podman", "run", "--secret", SECRET_NONE, "" },
	{ "podman", "create", "--secret", SECRET_NONE, "" },
	{ "beeline", "", "-u", SECRET_NONE, "" },
	{ "rsync", "", "-u", SECRET_NONE, "" },
	{ "socat", "", "-u", SECRET_NONE, "" },
	{ "sort", "", "-u", SECRET_NONE, "" },
	{ "journalctl", "", "-u", SECRET_NONE, "" },
	{ "openvpn", "", "--auth-user-pass", SECRET_NONE, "" },
	{ "vncviewer", "", "-passwd", SECRET_NONE, "" },
	{ "gcloud", "", "--secret", SECRET_NONE, "" },
	{ "aws", "", "--secret-id", SECRET_NONE, "" },
};

/* ... of unknown programs too, such as $CURL. */
static const struct secret_option any_options[] = {
	{ "", "", "-u", SECRET_ATTACHED | SECRET_NEXT | SECRET_USER | SECRET_LATE, "" },
	{ "", "", "--user", SECRET_NEXT | SECRET_USER | SECRET_LATE, "" },
};

_Static_assert(COUNT_OF(secret_options) <= 64 * AUDIT_OPTIONS_SETS, "a command notes each row");

/* Rows by the first letter of their program: that of the first one, and behind each the next; 0:
 * none. They are counted from 1, and begin with their order. */
static uint8_t first_rows[128], next_rows[COUNT_OF(secret_options) + 1];

_Static_assert(COUNT_OF(secret_options) < UINT8_MAX, "a row has a number");

/* The first row whose program begins as @word. */
static size_t audit_options_first(const char *word)
{
	for (size_t i = COUNT_OF(secret_options); i > 0 && !*next_rows; i--) {
		uint8_t *first = &first_rows[(unsigned char)*secret_options[i - 1].program];

		next_rows[i] = *first;
		*first = (uint8_t)i;
	}
	*next_rows = 1; /* no row's: they are there */
	return first_rows[(unsigned char)*word];
}

static bool audit_options_has(const uint64_t *sets, size_t row)
{
	return sets[row / 64] >> row % 64 & 1;
}

static void audit_options_put(uint64_t *sets, size_t row)
{
	sets[row / 64] |= UINT64_C(1) << row % 64;
}

/* The next row from @i on whose program is one of the simple command @c, or COUNT_OF. */
static size_t audit_options_next_program(const struct audit_command *c, size_t i)
{
	for (; c->begun && i < COUNT_OF(secret_options); i = (i | 63) + 1) {
		uint64_t rest = c->programs[i / 64] >> i % 64;

		if (rest)
			return i + (size_t)__builtin_ctzll(rest);
	}
	return COUNT_OF(secret_options);
}

/* ... and whose subcommand is, too. */
static size_t audit_options_next(const struct audit_command *c, size_t i)
{
	while ((i = audit_options_next_program(c, i)) < COUNT_OF(secret_options) &&
	       *secret_options[i].subcommand && !audit_options_has(c->subcommands, i))
		i++;
	return i;
}

bool audit_options_take_names(const struct audit_command *c)
{
	size_t i = 0;

	while ((i = audit_options_next(c, i)) < COUNT_OF(secret_options))
		if (secret_options[i++].places & SECRET_NAMED)
			return true;
	return false;
}

static bool audit_options_is_called(const char *program, const char *word, size_t len)
{
	size_t n;

	if (program[1] != word[1]) /* of nearly all with the same first letter */
		return false;
	n = strcspn(program, "*");
	return len >= n && !strncmp(program, word, n) && (program[n] || len == n);
}

bool audit_options_are_possible(const char *text, size_t size, const char *p, size_t len)
{
	for (size_t i = audit_options_first(p); i; i = next_rows[i]) {
		const struct secret_option *row = &secret_options[i - 1];

		if (audit_options_is_called(row->program, p, len) &&
		    (*row->subcommand == '-' ||
		     memmem(text, size, row->subcommand, strcspn(row->subcommand, "*"))))
			return true;
	}
	return false;
}

/* Bytes of @row's option at @p, with the flags in front of it; 0: it is not there. */
static size_t audit_options_len(const struct secret_option *row, const char *p)
{
	size_t n = strlen(row->option);
	size_t flags = *row->flags && *p == '-' ? strspn(p + 1, row->flags) : 0;

	if (strncmp(p, row->option, n) == 0)
		return n;
	return flags && p[1 + flags] == row->option[1] ? flags + 2 : 0;
}

/* Is @value a user and a group by number, as docker takes them? */
static bool audit_options_is_ids(const char *value)
{
	size_t user = strspn(value, "0123456789");
	size_t group = value[user] == ':' ? strspn(value + user + 1, "0123456789") : 0;

	return user && group && strchr(" \t\r\n", value[user + 1 + group]);
}

/* Does @p end the word of @row's option: -p<file, -u|sort, "$(id -u):x"? */
static bool audit_options_ends_word(const struct audit_mask *m, const struct secret_option *row,
				    const char *p)
{
	struct audit_place at = audit_mask_place(m, p);

	if (row->places & SECRET_USER && strchr(")}`", p[strspn(p, "\\")]))
		return true;
	return strchr(";|&<>", *p) && !audit_quote_depth(&at.quote);
}

/* Is a word that is not an option at @p, or before it only what passwords like to begin with? */
static bool audit_options_is_word(const struct audit_mask *m, const char *p)
{
	if (*p == '-')
		return false;
	while (p > m->text && p[-1] && strchr("!#%+*^~?,", p[-1]))
		p--;
	if (p == m->text || !strchr(" \t\n\"'", p[-1])) /* or the end of an argument */
		return false;
	while (p > m->text && p[-1] && strchr(" \t\"'", p[-1]))
		p--;
	if (p - m->text > 1 && !memcmp(p - 2, "<<", 2))
		return true;
	return p == m->text || (p[-1] != '<' && p[-1] != '>'); /* of a file */
}

static bool audit_options_holds_none(const struct secret_option *row)
{
	return row->places & (SECRET_NONE | SECRET_NONE_FIRST);
}

/* Is no other program in @c than that of @row: docker exec x curl -u me:x, sort -u|x -u me:x? */
static bool audit_options_is_alone(const struct audit_command *c, const struct secret_option *row)
{
	if (c->crossed || (row->places & SECRET_NONE_FIRST && c->words > 1))
		return false;
	for (size_t i = 0; i < COUNT_OF(secret_options); i++)
		if (audit_options_has(c->programs, i) &&
		    strcmp(secret_options[i].program, row->program) != 0)
			return false;
	return true;
}

/* The value of @row's option or word that is here, or NULL. */
static const char *audit_options_value(const struct audit_command *c, const struct audit_mask *m,
				       const struct secret_option *row)
{
	const char *p = m->at.p, *value = p + audit_options_len(row, p);
	/* "-p" x; of unknown programs it is what grep looks for */
	bool quoted = *row->program && audit_quote_is_mark(*value) && p > m->text &&
		      p[-1] == *value && strchr(" \t", value[1]);
	size_t gap = audit_mask_gap_len(m, value + quoted);

	if (row->places & (SECRET_WORD | SECRET_REST) && audit_options_is_word(m, p))
		return row->places & SECRET_WORD ||
				       c->words > (row->places >> SECRET_FROM_SHIFT & 15)
			       ? p : NULL;
	if (value == p)
		return NULL;
	if (audit_options_holds_none(row))
		return (gap || *value == '=') && audit_options_is_alone(c, row) ? value : NULL;
	if (row->places & SECRET_NEXT && (gap || *value == '=')) {
		value = gap ? audit_mask_next_word(m, value + quoted)
			    : value + 1 + audit_mask_gap_len(m, value + 1);
		if (!value || value[quoted && audit_quote_is_mark(*value)] == '-')
			return NULL;
	} else if (!(row->places & SECRET_ATTACHED) || gap ||
		   audit_options_ends_word(m, row, value)) {
		return NULL;
	}
	if (row->places & SECRET_PAIR && !memchr(value, '=', strcspn(value, " \t\r\n;|&")))
		return NULL;
	if (!*row->program && audit_options_is_ids(value))
		return NULL;
	return *value ? value : NULL;
}

/* The row of an option or word here whose value, *@value, is a secret, or NULL. */
static const struct secret_option *audit_options_find(const struct audit_command *c,
						      const struct audit_mask *m, bool late,
						      const char **value)
{
	size_t i = 0;

	while ((i = audit_options_next(c, i)) < COUNT_OF(secret_options)) {
		const struct secret_option *row = &secret_options[i++];

		if (!(row->places & SECRET_LATE) != late &&
		    (*value = audit_options_value(c, m, row)))
			return row;
	}
	for (i = 0; late && i < COUNT_OF(any_options); i++)
		if ((*value = audit_options_value(c, m, &any_options[i])))
			return &any_options[i];
	return NULL;
}

bool audit_options_mask(struct audit_command *c, struct audit_mask *m, bool late)
{
	const char *p = m->at.p, *value, *next;
	const struct secret_option *row = audit_options_find(c, m, late, &value);
	bool apart, whole;

	if (!row)
		return false;
	apart = value != p + audit_options_len(row, p);
	whole = audit_mask_begins_word(m, p) && (!apart || value[-1] == '=');
	if (audit_options_holds_none(row)) {
		audit_mask_hide(m, value, value);
		return true;
	}
	if (row->places & SECRET_WORD) {
		size_t i = (size_t)(row - secret_options);

		c->subcommands[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	if (row->places & SECRET_USER) {
		char byte = (char)(row->places >> SECRET_BYTE_SHIFT);

		return audit_mask_pair(m, value, byte ? byte : ':', whole);
	}
	if (!audit_mask_value(m, value, whole, false))
		return false;
	/* What is called -password may be an option's name, so then the next word goes too. */
	next = apart || strncmp(p, "-pass", 5) ? NULL : audit_mask_next_word(m, m->at.p);
	if (next)
		audit_mask_value(m, next, false, false);
	return true;
}

/* A short option may be one of several: -b in -cb. */
static bool audit_options_is_subcommand(const char *subcommand, const char *word, size_t len)
{
	if (*subcommand == '-' && subcommand[1] != '-' && *word == '-' && word[1] != '-')
		return memchr(word, subcommand[1], len);
	return audit_options_is_called(subcommand, word, len);
}

void audit_options_note(struct audit_command *c, const char *p)
{
	size_t len = audit_mask_name_len(p);
	/* ENV=prod is no ENV, and http://h no http */
	bool program = *p != '-' && p[len] != '=' && p[len] != ':';

	if (!program && !c->begun)
		return;
	c->words += c->begun && *p != '-' && strchr(" \t\n\"'", p[-1]);
	for (size_t i = 0; (i = audit_options_next_program(c, i)) < COUNT_OF(secret_options); i++)
		if (*secret_options[i].subcommand &&
		    audit_options_is_subcommand(secret_options[i].subcommand, p, len))
			audit_options_put(c->subcommands, i);
	for (size_t i = program ? audit_options_first(p) : 0; i; i = next_rows[i])
		if (audit_options_is_called(secret_options[i - 1].program, p, len)) {
			audit_options_put(c->programs, i - 1);
			c->begun = true;
		}
}
