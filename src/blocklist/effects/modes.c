/* chmod -R: does the mode lock a home's owner out, or let others write? */
#include "blocklist/effects/readers.h"

#include <stdlib.h>

#include "blocklist/command/word.h"

/* What chmod leaves of the modes of a directory that was sound. */
struct modes {
	bool owner_reads, owner_enters, others_write;
};

/* One operation of a symbolic mode, like the +rX of "u+rX,go-w". */
struct modes_change {
	const char *who;
	size_t who_len;
	char op;
	const char *what;
	size_t what_len;
};

static bool modes_names(const char *list, size_t len, const char *any)
{
	for (size_t i = 0; i < len; i++)
		if (strchr(any, list[i]))
			return true;
	return false;
}

/* @now after "+", "-" or "=" with the permission, if it is @named. */
static bool modes_after(bool now, char op, bool named)
{
	return op == '=' ? named : named ? op == '+' : now;
}

static void modes_apply(struct modes *m, const struct modes_change *c)
{
	bool everybody = !c->who_len || modes_names(c->who, c->who_len, "a");
	bool owner = everybody || modes_names(c->who, c->who_len, "u");
	/* Without a who, the umask keeps others from writing. */
	bool others = modes_names(c->who, c->who_len, "ao");

	if (owner) {
		m->owner_reads = modes_after(m->owner_reads, c->op,
					     modes_names(c->what, c->what_len, "ru"));
		m->owner_enters = modes_after(m->owner_enters, c->op,
					      modes_names(c->what, c->what_len, "xXu"));
	}
	if (others)
		m->others_write = modes_after(m->others_write, c->op,
					      modes_names(c->what, c->what_len, "wu"));
}

/* False: @s is no symbolic mode. */
static bool modes_read_symbolic(const char *s, struct modes *m)
{
	bool any = false;

	for (; *s; s += *s == ',') {
		struct modes_change c = { .who = s, .who_len = strspn(s, "ugoa") };

		for (s += c.who_len; *s && strchr("+-=", *s); s += c.what_len) {
			c.op = *s++;
			c.what = s;
			c.what_len = strspn(s, "rwxXstugo");
			modes_apply(m, &c);
			any = true;
		}
		if (!any || (*s && *s != ','))
			return false;
	}
	return any;
}

static bool modes_read(const struct shell_word *word, struct modes *m)
{
	const char *s = word->text.s;
	unsigned long bits;

	*m = (struct modes){ .owner_reads = true, .owner_enters = true };
	if (!*s || word_has_unknown(word))
		return false;
	if (s[strspn(s, "01234567")])
		return modes_read_symbolic(s, m);
	bits = strtoul(s, NULL, 8);
	*m = (struct modes){ .owner_reads = bits & 0400, .owner_enters = bits & 0100,
			     .others_write = bits & 02 };
	return true;
}

/* Is @word an option? -x and -rwx are modes. *@all: it is the one for all below a directory. */
static bool modes_is_option(const struct shell_word *word, bool *all)
{
	const char *s = word->text.s;

	if (s[0] != '-' || !s[1])
		return false;
	if (s[1] == '-') {
		*all |= strncmp(s, "--rec", 5) == 0;
		return true;
	}
	if (s[1 + strspn(s + 1, "RcfvhHLP")])
		return false;
	*all |= strchr(s, 'R') != NULL;
	return true;
}

/* Which words of @cmd are options. Returns the first that is none, or 0: nothing is changed. */
static size_t modes_options(const struct command *cmd, bool *all)
{
	size_t mode = 0;

	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->words[i];

		if (word_in(w, " --help --version ") || word_begins(w, "--ref"))
			return 0;
		if (!modes_is_option(w, all) && !mode)
			mode = i;
	}
	return mode;
}

void read_chmod(const struct command *cmd, struct action_list *out)
{
	bool all = false, ignored = false;
	size_t mode = modes_options(cmd, &all);
	struct modes m;

	if (!mode || !(all || cmd->at->each) || !modes_read(&cmd->words[mode], &m))
		return;
	/* A file at a time: one that is not entered is no loss. */
	if (!m.others_write && m.owner_reads && (m.owner_enters || !all))
		return;
	for (size_t i = mode + 1; i < cmd->count; i++) {
		struct action *a;

		if (modes_is_option(&cmd->words[i], &ignored))
			continue;
		action_touch(out, "mode_home", &cmd->words[i]);
		a = &out->list[out->count - 1];
		a->start = cmd->words[0].start;
		a->end = cmd->words[cmd->count - 1].end;
	}
}
