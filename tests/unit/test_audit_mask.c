/*
 * A secret in a place that masking knows never gets into the log, whatever stands around it: drawn
 * are a place, the quotes of the secret, and up to three things that stand around the command. The
 * seed of a failure is in its message; SEED plays it again, STRESS draws more.
 *
 * Most texts are told to hold no secret without a look for its shapes. That must be what the look
 * says, too.
 */
#include "unit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "policy/audit.h"

#define SECRET "S3CRET"
#define SIZE 900 /* all of it is shown */

/* Commands that hold a secret where % stands, which is a word of the shell, or its end. */
static const char *const places[] = {
	"mysql -u me -p% db", "mysql --password=% db", "mysql --password % db",
	"docker login -u me -p % h", "sshpass -p % ssh h", "redis-cli -a % ping",
	"curl -u me:% h", "curl --user=me:% h", "ldapsearch -x -w % -b dc=x", "zip -rP % a.zip b",
	"openssl enc -k % -in f", "openssl rsa -passin pass:% -in f", "7z a -p% a.7z b",
	"ssh-keygen -q -N % -f k", "smbclient //h/s -U me%%% -c ls", "sqlplus -s me/%",
	"PGPASSWORD=% psql -l", "export API_TOKEN=%", "env STRIPE_KEY=% x", "A=b DB_PASS=% x --y",
	"x --token % --y", "x --api-key=% y", "helm upgrade a b --set db.password=%",
	"kubectl create secret generic x --from-literal=a=%", "gh secret set X --body %",
	"aws configure set aws_secret_access_key %", "vault login %", "vault kv put secret/a b=%",
	"git config github.token %", "htpasswd -b f me %", "terraform apply -var db_password=%",
	"sudo -S ls <<< %", "echo % | sudo -S ls", "printf '%%s' % | docker login --password-stdin h",
	"echo % | tr a b | passwd me", "echo me:% | sudo chpasswd", "yes % | \"sudo\" -u me -S ls",
	"{ echo %; } | passwd me", "(sleep 1; echo %) 2>&1 | passwd me", "echo % | { sleep 1; passwd me; }",
	"for i in a b; do echo %; done | passwd me", "{ cat <<< %; } |\n passwd me",
	"gh auth login --with-token <<< %", "printf 'API_KEY=%%s' % >f", "kubeseal --raw <<< %",
	"mc alias set m http://h u %", "bw login a@b %", "glab variable set A_TOKEN %",
	"etcdctl put /a/password %", "echo % | su me -c ls", "redis-cli AUTH me %",
	"sshpass -f <(echo %) ssh h", "security add-x -a u -w %", "az vm user update -p %",
};

/* How the secret is written. */
static const char *const words[] = {
	SECRET, "'" SECRET "'", "\"" SECRET "\"", "'a " SECRET "'", "\"a " SECRET "\"", "a\\ " SECRET,
	"a'b'" SECRET, "'a'\"" SECRET "\"", "\"a\\\"" SECRET "\"", "'a;" SECRET "'", "$'a" SECRET "'",
	"\"a$A" SECRET "\"", "a${A}" SECRET, "'!" SECRET "'", "'#" SECRET "'", "\"+*" SECRET "\"",
 "a\\\n" SECRET, "\"a|" SECRET "\"", "a,b" SECRET, "a=" SECRET,
	"a/" SECRET, "a@" SECRET,
};

/* What stands around a command. */
static const char *const around[] = {
	"%", "cd a && %", "%; ls -l", "ls | wc -l; %", "% && echo done", "% || exit 1", "(%)",
	"if true; then %; fi", "% >f 2>&1", "while sleep 1; do %; done", "set -e\n%\nls", "time %",
	"sudo %", "# don't\n%", "echo 'it'\\''s' && %", "x=\"a b\"; %", "% &", "{ %; }",
	"for i in a b; do %; done", "nohup %", "echo a |\n  cat; %", "timeout 5 %", "true;%",
};

/* ... as a text for another shell; quoted in these. */
static const struct {
	const char *text;
	char quote;
} shells[] = {
	{ "sh -c %", '\'' }, { "bash -lc %; ls", '"' }, { "ssh h %", '\'' }, { "ssh h %", '"' },
	{ "su -c % me", '"' }, { "docker exec x sh -c %", '\'' },
};

static uint64_t state;

static size_t draw(size_t count)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)(state >> 33) % count;
}

/* Put @word where % stands in @text; %% is a %. */
static void put(char *out, const char *text, const char *word)
{
	char *to = out;

	for (; *text; text++) {
		if (*text != '%') {
			*to++ = *text;
		} else if (text[1] == '%') {
			*to++ = *text++;
		} else {
			to = stpcpy(to, word);
		}
	}
	*to = '\0';
}

static void quote(char *out, const char *text, char mark)
{
	*out++ = mark;
	for (; *text; text++) {
		if (mark == '\'' && *text == '\'') {
			out = stpcpy(out, "'\\''");
			continue;
		}
		if (mark == '"' && strchr("\"\\$`", *text))
			*out++ = '\\';
		*out++ = *text;
	}
	*out++ = mark;
	*out = '\0';
}

/* Continue the line at the blanks that are not quoted. */
static void continue_lines(char *out, const char *text)
{
	char open = 0;

	if (strchr(text, '#')) { /* a comment ends with its line */
		strcpy(out, text);
		return;
	}
	for (; *text; text++) {
		if (*text == '\\' && open != '\'') {
			*out++ = *text++;
		} else if (strchr("'\"", *text) && (!open || open == *text)) {
			open = open ? 0 : *text;
		} else if (*text == ' ' && !open) {
			out = stpcpy(out, " \\\n ");
			continue;
		}
		*out++ = *text;
	}
	*out = '\0';
}

/* Quotes are followed through three levels, and comments and backslashes in them less far. */
static void wrap(char *text, int *levels)
{
	char inner[4 * SIZE], quoted[8 * SIZE];
	size_t s = draw(sizeof(shells) / sizeof(*shells));

	strcpy(inner, text);
	switch (draw(4)) {
	case 0:
		*levels += strchr(text, '#') ? 3 : *levels == 0 && strchr(text, '\\') ? 2 : 1;
		if (*levels > 2)
			break;
		quote(quoted, inner, shells[s].quote);
		put(text, shells[s].text, quoted);
		break;
	case 1:
		continue_lines(text, inner);
		break;
	default:
		put(text, around[draw(sizeof(around) / sizeof(*around))], inner);
	}
}

static void test_audit_mask_holds_in_any_surroundings(void **unused)
{
	const char *seed = getenv("SEED");
	const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
	const uint64_t count = seed ? 1 : getenv("STRESS") ? 2000000 : 20000;
	char text[16 * SIZE];
	int failed = 0;

	(void)unused;
	for (uint64_t i = first; i < first + count && failed < 20; i++) {
		state = i * UINT64_C(0x9E3779B97F4A7C15);
		draw(1);
		put(text, places[draw(sizeof(places) / sizeof(*places))],
		    words[draw(sizeof(words) / sizeof(*words))]);
		int levels = 0;

		for (size_t n = draw(4); n > 0 && strlen(text) < SIZE / 4; n--)
			wrap(text, &levels);
		char *shown = audit_redact(text, NULL);

		if (strstr(shown, SECRET)) {
			print_error("SEED=%" PRIu64 "\n%s\n-> %s\n", i, text, shown);
			failed++;
		}
		free(shown);
	}
	assert_int_equal(failed, 0);
}

/* What shapes begin and end with, and have within; and words that are nothing to them. */
static const char *const pieces[] = {
	"password", "PASSWD", "set_password", "client-secret", "token", "token-file", "nextToken",
	"API_KEY", "X_PAT", "db.pass", "auth", "psk", "pw", "pwd", "bearer", "authorization", "Cookie",
	"set-cookie: a", "credential", "passphrase", "PIN=1234", "-pin 1234", "--otp", "123456",
	"token-code", "x?sig=x", "?code=0123456789abcdefg", "&key=", "?appid", "--token", "--secret",
	"-pw", "--pwd", "-u", "-ume", "-u a:b", "--user a:b", "--user=a:b", "-x", "--proxy a:b@c",
	"-p", "-b", "-k", "--value", "curl", "mysql", "docker", "login", "git", "config", "vault",
	"sqlplus", "me/x", "passwd", "sudo -S", "chpasswd", "echo", "printf", "yes", "tee .pgpass",
	"> .pgpass", "oathtool -vb x", "expect assword", "send 'x'", "sendline(\"x\")", "machine a",
	"login b", "identified by 'x'", "hashpw(b'x')", "define(", "https://", "https://a:b@c",
	"ghp_0123456789abcdefghij", "0123456789abcdef0123", "hooks.slack.com/services/T",
	"api.telegram.org/bot1", "discordapp.com/api/webhooks/1", "-----BEGIN", "s.login('a', 'x')",
	"hmac.new(b'x'", "connect(\"a\", \"b\", \"x\")", "f(", "bcrypt(", "basic_auth 'a', 'x'",
	"SecureString -String 'x'", "\"pwd\":", "DSN", "--uri a:b@c", "a:b@tcp(c)", "mnemonic",
	"seed-phrase", "client-key-data", "app_key", "existingSecret", "x.nextPageToken", "default",
	"put(\"password\", \"x\")", "header('authorization', 'x')", "ParameterKey=", "ParameterValue",
	"retype", "requirepass hunter22", "-am", "--message", "poetry http-basic.x", "mc alias",
	"security add-x -w", "bw", "consul put", "redis-cli", "devops", "kubeseal", "signin", "op",
	"figd_0123456789abcdefgh", "su", "createuser -P", "mfa_code", "env:x", "auth:1", "private-key /a",
	"enabled", "drush", "<(echo x)", "samba-tool create", "sse-c-key",
	"sk_live_0123456789abcdefgh:x", "http -A bearer -a x",
	"RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----", "-----END", "value", "name",
	"password>", "</", "%s", "|", ";", "{", "}", "$(", ")", "[0]", "[", "\xc3\xa9", "#", "\\", "$",
};

static const char *const plain[] = { "a", "b c", "x.y", "/usr/bin/x", "no", "--all", "12", "-l" };

static const char *const glue[] = {
	" ", " ", " ", " ", "=", "=", ":", ": ", "", "\n", "\t", "'", "\"", " \"", "\" ", "'", ",", ", ", "(",
	"/", "-", "_", ".", ">", "<", "<<<", "<<", "\\\n", "@", "|", "://", "+=", "->",
};

static const char *draw_piece(void)
{
	return draw(2) ? plain[draw(sizeof(plain) / sizeof(*plain))]
		       : pieces[draw(sizeof(pieces) / sizeof(*pieces))];
}

/* Behind such a command, a text is looked at for shapes. */
#define LOOKED_AT "git @ < a; "

static bool is_as_by_shapes(const char *text, const char *const *args)
{
	char *quick = audit_redact(text, args), *behind;
	bool same;

	assert_true(asprintf(&behind, LOOKED_AT "%s", text) > 0);
	char *full = audit_redact(behind, args);

	same = !strcmp(full + strlen(LOOKED_AT), quick) || strlen(full) > AUDIT_TEXT_MAX - 5;
	if (!same)
		print_error("%s\n-> %s\n-> %s\n", text, quick, full + strlen(LOOKED_AT));
	free(quick);
	free(behind);
	free(full);
	return same;
}

/* Without a blank: in these, too, words follow each other for the shapes. */
static const char *const unparted[] = {
	"mysql\"-pS3CRET\"", "\"docker\"\"login\"\"-pS3CRET\"", "sqlplus\"me/S3CRET\"",
	"vault\"login\"S3CRET", "zip/-PS3CRET", "htpasswd\"-b\"a\"S3CRET\"",
	"expect\"assword\"send\"S3CRET\"",
};

static void check_row(void *failed, const struct corpus_row *row)
{
	*(int *)failed += !is_as_by_shapes(row->command, NULL);
}

static void test_audit_mask_misses_nothing_in_plain_texts(void **unused)
{
	const char *args[3] = { NULL };
	char text[64 * 8];
	int failed = 0;

	(void)unused;
	assert_true(corpus_tricks(check_row, &failed) > 1000);
	for (size_t i = 0; i < sizeof(unparted) / sizeof(*unparted); i++)
		failed += !is_as_by_shapes(unparted[i], NULL);
	for (int i = 0; i < (getenv("STRESS") ? 4000000 : 100000) && failed < 20; i++) {
		char *to = text;

		state = (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
		draw(1);
		for (size_t n = draw(6) + 1; n > 0; n--) {
			to = stpcpy(to, draw_piece());
			to = stpcpy(to, glue[draw(sizeof(glue) / sizeof(*glue))]);
		}
				args[0] = draw(2) ? draw_piece() : NULL;
		args[1] = args[0] && draw(2) ? draw_piece() : NULL;
		failed += !is_as_by_shapes(text, args);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_audit_mask_holds_in_any_surroundings),
		cmocka_unit_test(test_audit_mask_misses_nothing_in_plain_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
