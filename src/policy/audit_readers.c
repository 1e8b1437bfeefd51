#include "policy/audit_readers.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"

/* How far to look for the end of a group: each command may have to. */
#define GROUP_NEAR 1024

/* Bytes that are looked at for the groups of one text: it may have hundreds of commands. */
#define GROUPS_MAX (1 << 16)

static const char between_words[] = " \t\\\n";

/* What in a command says that it reads a secret. */
static const struct reader {
	char text[24];
	enum {
		READS_TEXT,    /* a part of the command */
		READS_PROGRAM, /* a whole word */
		READS_FILE,    /* the end of the name of a file that it writes */
	} kind;
	char letter;  /* the short option with which it reads, beside --stdin; 0: it always does */
	char values[12]; /* short options whose value may be the next word */
	bool line;    /* it reads a line; what it runs gets the others */
} readers[] = {
	{ ".pgpass", READS_FILE, 0, "", false },
	{ ".vault-token", READS_FILE, 0, "", false },
	{ ".vault_pass", READS_FILE, 0, "", false },
	{ "sudo", READS_PROGRAM, 'S', "CDRTUghprtu", true },
	{ "mkpasswd", READS_PROGRAM, 's', "PRSm", false },
	{ "smbpasswd", READS_PROGRAM, 's', "DLRUcrw", false },
	{ "htpasswd", READS_PROGRAM, 'i', "Cr", false },
	{ "su", READS_PROGRAM, 0, "", true },
	{ "createuser", READS_PROGRAM, 'P', "Uchp", false },
	{ "htdigest", READS_PROGRAM, 0, "", false },
	{ "eyaml", READS_PROGRAM, 0, "", false },
	{ "passwd", READS_PROGRAM, 0, "", false },
	{ "newusers", READS_PROGRAM, 0, "", false },
	{ "kinit", READS_PROGRAM, 0, "", false },
	{ "vncpasswd", READS_PROGRAM, 0, "", false },
	{ "saslpasswd2", READS_PROGRAM, 0, "", false },
	{ "argon2", READS_PROGRAM, 0, "", false },
	{ "openconnect", READS_PROGRAM, 0, "", false },
	{ "wpa_passphrase", READS_PROGRAM, 0, "", false },
	{ "grub-mkpasswd-pbkdf2", READS_TEXT, 0, "", false },
	{ "ecryptfs-add-passphrase", READS_TEXT, 0, "", false },
	{ "systemd-creds", READS_TEXT, 0, "", false },
	{ "secret-tool store", READS_TEXT, 0, "", false },
	{ "pass insert", READS_TEXT, 0, "", false },
	{ "rclone obscure -", READS_TEXT, 0, "", false },
	{ "vercel env add", READS_TEXT, 0, "", false },
	{ "p4 login", READS_TEXT, 0, "", false },
	{ "terraform login", READS_TEXT, 0, "", false },
	{ "npm login", READS_TEXT, 0, "", false },
	{ "devops login", READS_TEXT, 0, "", false },
	{ "lpass login", READS_TEXT, 0, "", false },
	{ "op signin", READS_TEXT, 0, "", false },
	{ "keepassxc-cli", READS_TEXT, 0, "", false },
	{ "hcloud context create", READS_TEXT, 0, "", false },
	{ "kubeseal", READS_TEXT, 0, "", false },
	{ "--seed-phrase", READS_TEXT, 0, "", false },
	{ "solana-keygen recover", READS_TEXT, 0, "", false },
	{ "zfs load-key", READS_TEXT, 0, "", false },
	{ "wg pubkey", READS_TEXT, 0, "", false },
	{ "-pass stdin", READS_TEXT, 0, "", false },
	{ "-passin stdin", READS_TEXT, 0, "", false },
	{ "-passout stdin", READS_TEXT, 0, "", false },
	{ "--data-file -", READS_TEXT, 0, "", false },
	{ "password_stdin", READS_TEXT, 0, "", false },
	{ "chpasswd", READS_TEXT, 0, "", false },
	{ "cryptsetup", READS_TEXT, 0, "", false },
	{ "--password-stdin", READS_TEXT, 0, "", false },
	{ "--passphrase-fd", READS_TEXT, 0, "", false },
	{ "--with-token", READS_TEXT, 0, "", false },
	{ "--data-file=-", READS_TEXT, 0, "", false },
	{ "secret set", READS_TEXT, 0, "", false },
	{ "secret put", READS_TEXT, 0, "", false },
	{ "secret create", READS_TEXT, 0, "", false },
	{ "create secret", READS_TEXT, 0, "", false },
};

/* Bytes of the word at @p, where quotes may stand around the whole of it. */
static size_t audit_readers_word_len(const char *p, const char *end)
{
	const char *close = audit_quote_is_mark(*p)
				    ? memchr(p + 1, *p, (size_t)(end - p - 1)) : NULL;
	size_t len = close ? (size_t)(close + 1 - p) : 0;

	while (p + len < end && !strchr(" \t\n", p[len]))
		len++;
	return len;
}

/* Is the letter of @row among the short options at @p? *@value: the next word is the value of the
 * last one. */
static bool audit_readers_has_letter(const struct reader *row, const char *p, size_t len,
				     bool *value)
{
	*value = false;
	for (size_t i = 1; i < len; i++) {
		if (p[i] == row->letter)
			return true;
		if (strchr(row->values, p[i])) {
			*value = i + 1 == len;
			return false;
		}
	}
	return false;
}

/* Does the program of @row, whose words go from @p to @end, read its stdin? A long option may have
 * its value in the next word. */
static bool audit_readers_has_option(const struct reader *row, const char *p, const char *end)
{
	bool value = false, reads = false;

	while (!reads) {
		const char *word = p + strspn(p, between_words);
		size_t len = word < end ? audit_readers_word_len(word, end) : 0;
		const char *plain = word + strspn(word, "\\\"'");
		bool option = plain < word + len && *plain == '-';

		if (!len || (!option && !value))
			break;
		p = word + len;
		if (!option)
			value = false;
		else if (plain[1] != '-')
			reads = audit_readers_has_letter(row, plain, (size_t)(p - plain), &value);
		else
			value = !(reads = !strncmp(plain, "--stdin", strlen("--stdin")));
	}
	return reads;
}

/* What is behind @text at @p, whose blanks stand for all that is between words, or NULL. */
static const char *audit_readers_behind(const char *p, const char *end, const char *text)
{
	for (; *text; text++) {
		if (p >= end || (*text == ' ' ? !strchr(between_words, *p) : *p != *text))
			return NULL;
		p += *text == ' ' ? strspn(p, between_words) : 1;
	}
	return p <= end ? p : NULL;
}

bool audit_readers_are_possible(const char *text, const char *end)
{
	for (const char *p = text; p < end; p++) {
		if (p > text && audit_mask_is_name_char(p[-1]))
			continue;
		for (size_t i = 0; i < COUNT_OF(readers); i++)
			if (*p == *readers[i].text &&
			    audit_readers_behind(p, end, readers[i].text))
				return true;
	}
	return false;
}

/* Is the word that @p is in, of a command that begins at @from, a file that > writes? Or tee, if
 * @row is a file. */
static bool audit_readers_is_output(const struct reader *row, const char *from, const char *p)
{
	if (row->kind == READS_FILE && memmem(from, (size_t)(p - from), "tee ", strlen("tee ")))
		return true;
	while (p > from && !strchr(" \t\"'>(", p[-1]))
		p--;
	while (p > from && strchr(" \t\"'", p[-1]))
		p--;
	return p > from && p[-1] == '>';
}

/* Does @row say that the command from @from to @end reads a secret, by what is at @p? */
static bool audit_readers_says(const struct reader *row, const char *from, const char *p,
				   const char *end)
{
	const char *behind = audit_readers_behind(p, end, row->text);

	if (!behind || (row->kind == READS_FILE) != audit_readers_is_output(row, from, p))
		return false;
	if (row->kind != READS_PROGRAM) /* cryptsetup-bin is not a reader */
		return behind == end || !audit_mask_is_name_char(*behind);
	/* /bin/passwd is a program, /etc/passwd a file */
	if (!row->letter && p > from && p[-1] == '/' &&
	    (p - from < 4 || memcmp(p - 4, "bin/", 4) != 0))
		return false;
	if (behind < end && !strchr(" \t\n<>)`'\"\\", *behind))
		return false;
	behind += behind < end ? strspn(behind, "'\"\\") : 0;
	return !row->letter || audit_readers_has_option(row, behind, end);
}

/* What says that a command between @from and @end reads a secret from its stdin, or NULL. What
 * reads more than a line counts first. */
static const struct reader *audit_readers_find(const char *from, const char *end)
{
	bool first[UCHAR_MAX + 1] = { false };
	const struct reader *found = NULL;

	for (size_t i = 0; i < COUNT_OF(readers); i++)
		first[(unsigned char)*readers[i].text] = true;
	for (const char *p = from; p < end; p++) {
		if (!first[(unsigned char)*p] || (p > from && audit_mask_is_name_char(p[-1])))
			continue;
		for (size_t i = 0; i < COUNT_OF(readers); i++)
			if (*readers[i].text == *p && !(found && readers[i].line) &&
			    audit_readers_says(&readers[i], from, p, end))
				found = &readers[i];
		if (found && !found->line)
			break;
	}
	return found;
}

/* Is the byte at @p, one of AUDIT_MASK_COMMAND_ENDS behind the text from @text on, a part of a
 * redirection: 2>&1, &>f? */
static bool audit_readers_redirects(const char *text, const char *p)
{
	return *p == '&' && (p[1] == '>' || (p > text && strchr("<>", p[-1])));
}

/* Words that begin a group, end one, or have another command behind them. */
static const struct group_word {
	char word[8];
	int open;
} group_words[] = {
	{ "{", 1 }, { "if", 1 }, { "for", 1 }, { "while", 1 }, { "until", 1 }, { "case", 1 },
	{ "}", -1 }, { "fi", -1 }, { "done", -1 }, { "esac", -1 },
	{ "then", 0 }, { "else", 0 }, { "do", 0 }, { "!", 0 },
};

/* The row of the word at @p, or NULL. */
static const struct group_word *audit_readers_group_word(const char *p)
{
	for (size_t i = 0; i < COUNT_OF(group_words); i++) {
		const char *word = group_words[i].word;
		size_t len = *p == *word ? strlen(word) : 0; /* often it is another */

		if (len && !strncmp(p, word, len) && strchr(" \t\n;|&<>()", p[len]))
			return &group_words[i];
	}
	return NULL;
}

/* How many groups more begin than end at @p, the start of a command, and before @limit. */
static int audit_readers_nesting(const char *p, const char *limit)
{
	const struct group_word *row;
	int open = 0;

	while ((p += strspn(p, between_words)) < limit && (row = audit_readers_group_word(p))) {
		open += row->open;
		p += strlen(row->word);
	}
	return open;
}

/* Does the ")" at @p end a group? Behind that of a pattern of case, or of a $(...) or <(...) in a
 * command, there may be words. */
static bool audit_readers_closes(const char *p)
{
	const char *next = p + 1 + strspn(p + 1, " \t");
	const char *sign = next + strspn(next, "0123456789");

	if (*sign == '<' || *sign == '>')
		return sign[1] != '(';
	return strchr("\n;|&)#\\\"'`", *next) != NULL;
}

void audit_readers_skip_command(struct audit_place *at, const char *limit)
{
	const char *start = at->p;
	int open = audit_readers_nesting(at->p, limit), parens = 0;

	for (open = open > 0 ? open : 0;; open += audit_readers_nesting(++at->p, limit)) {
		audit_mask_skip_to(at, AUDIT_MASK_COMMAND_ENDS "()", limit);
		if (at->p >= limit || !*at->p)
			return;
		if (*at->p == '(')
			parens++;
		else if (parens > 0)
			parens -= *at->p == ')';
		else if (open <= 0 && (*at->p == ')' ? audit_readers_closes(at->p)
						     : !audit_readers_redirects(start, at->p)))
			return;
	}
}

/* Go to the end of the group that @at, at the end of a command, is in, or return false. */
static bool audit_readers_leave(struct audit_place *at, const char *limit)
{
	while (at->p < limit && *at->p) {
		bool closed = *at->p == ')';

		at->p++;
		if (closed || audit_readers_nesting(at->p, limit) < 0)
			return true;
		audit_readers_skip_command(at, limit);
	}
	return false;
}

/* What is known of the pipeline from @at on, and up to @limit; go to its end. @start: its first
 * command begins there; @before: what of that is before @at says that it reads a secret. */
static struct audit_pipeline audit_readers_scan(struct audit_place *at, const char *start,
					       const struct reader *before, const char *limit)
{
	struct audit_pipeline found = { .line = true };

	for (;;) {
		const char *from = at->p;
		const struct reader *reader;

		audit_readers_skip_command(at, limit);
		found.end = at->p;
		reader = audit_readers_find(from, at->p);
		if (before || reader) {
			found.file = reader && reader->kind == READS_FILE;
			found.reader = found.file ? at->p : start; /* of its own output */
			found.stop = at->p;
			found.line &= (!before || before->line) && (!reader || reader->line);
		}
		if (at->p >= limit || *at->p != '|' || at->p[1] == '|')
			return found;
		at->p += 1 + (at->p[1] == '&'); /* | or |& */
		at->p += strspn(at->p, " \t\n");
		start = at->p;
		before = NULL;
	}
}

/* Widen @found, of the pipeline that ends at @at, by those that the groups around it are in: { echo
 * x; } | passwd. Right behind a group there is no command, but maybe a file that it writes. Groups
 * that end behind @near are not looked for. Returns the bytes looked at. */
static size_t audit_readers_scan_groups(struct audit_pipeline *found, struct audit_place at,
					const char *near, const char *limit)
{
	const char *from = at.p;

	while (audit_readers_leave(&at, near)) {
		const char *end = at.p;
		struct audit_pipeline outer = audit_readers_scan(&at, end, NULL, limit);

		outer.line &= found->line;
		if (outer.file || (outer.reader && outer.reader > end))
			*found = outer;
	}
	return (size_t)(at.p - from);
}

bool audit_readers_ends_before(const struct audit_mask *m, const char *p)
{
	return strchr(AUDIT_MASK_COMMAND_ENDS, p[-1]) &&
	       !audit_readers_redirects(m->text, p - 1) &&
	       (p[-1] != '\n' || p - m->text < 2 || p[-2] != '\\');
}

const struct audit_pipeline *audit_readers_look(struct audit_readers *k, const struct audit_mask *m,
						const char *value)
{
	struct audit_place at = m->at;
	const char *p = at.p, *limit = p + AUDIT_MASK_NEAR, *start = p, *near;
	struct audit_pipeline *known = &k->pipelines[audit_quote_depth(&at.quote)];

	if (known->end && p < known->end)
		return known;
	while (start > m->text && p - start < AUDIT_MASK_NEAR &&
	       !audit_readers_ends_before(m, start))
		start--;
	if (value) {
		at = audit_mask_place(m, value);
		audit_mask_skip_to(&at, " \t\n;|&", limit);
	}
	near = at.p + GROUP_NEAR < limit ? at.p + GROUP_NEAR : limit;
	*known = audit_readers_scan(&at, start, audit_readers_find(start, p), limit);
	if (k->searched < GROUPS_MAX)
		k->searched += audit_readers_scan_groups(known, at, near, limit);
	if (known->end >= limit) /* of what is far, too little was seen */
		known->end = p + AUDIT_MASK_NEAR / 2;
	return known;
}
