#include "blocklist/effects/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/command/names.h"
#include "blocklist/command/table.h"
#include "blocklist/command/word.h"

/* seq up to more than this enumerates process ids. */
#define IDS_MANY 1000

struct words {
	const struct shell_word *list; /* [0] is the program */
	size_t count;
	struct shell_text program; /* without its folder */
};

static struct words listing_words_of(const struct shell_word *list, size_t count)
{
	bool foreign;

	return (struct words){ list, count, name_base(&list[0], &foreign) };
}

static bool listing_program_in(const struct words *w, const char *names)
{
	return list_has(names, w->program.s, w->program.len);
}

static bool listing_has(const struct words *w, const char *list)
{
	return words_have(w->list, w->count, list);
}

static bool listing_has_letter(const struct words *w, const char *letters)
{
	return words_have_letter(w->list, w->count, letters);
}

/* ---- commands that list ---- */

/* ps -u root, ps -uroot, ps -fu root, ps -G root: all of a user or a group. -g takes a session. */
static bool listing_is_of_user(const struct words *w)
{
	for (size_t i = 1; i < w->count; i++) {
		const char *s = w->list[i].text.s;

		if (s[0] == '-' && s[1] == '-' &&
		    list_has(" --user --User --group --Group ", s, strcspn(s, "=")))
			return true;
		if (s[0] != '-' || s[1] == '-')
			continue;
		s += 1 + strspn(s + 1, "fFljwc"); /* not -o and its kind, which take the rest */
		if (*s == 'u' || *s == 'U' || *s == 'G')
			return true;
	}
	return false;
}

/* lsof, lsof -t / and lsof +D /, but not lsof FILE, lsof +DFILE, lsof +L1 or lsof -i :3000 */
static bool listing_is_open_files(const struct words *w)
{
	for (size_t i = 1; i < w->count; i++) {
		const char *s = w->list[i].text.s;

		if (s[0] == '+' && strchr("DdL", s[1]))
			s += 2;
		if (*s && !strchr("-+", *s) && strcmp(s, "/") != 0)
			return false;
	}
	return !listing_has_letter(w, "ipucgN");
}

static bool listing_is_processes(const struct words *w)
{
	const char *first = w->count > 1 ? w->list[1].text.s : "";

	if (listing_program_in(w, " ps "))
		return (listing_has_letter(w, "eA") || strpbrk(first, "ax") ||
			listing_is_of_user(w)) &&
		       !listing_has(w, " -C -p --pid ");
	if (listing_program_in(w, " pgrep pidof "))
		return listing_has(w, " . .* * ^ init systemd ") ||
		       listing_has_letter(w, "v") ||
		       (w->count == 2 && !*first) ||
		       (w->count == 3 && listing_has(w, " -u -U --euid --uid "));
	if (listing_program_in(w, " seq "))
		return w->count > 1 &&
		       strtol(w->list[w->count - 1].text.s, NULL, 10) > IDS_MANY;
	if (listing_program_in(w, " lsof "))
		return listing_is_open_files(w);
	return listing_program_in(w, " ls find ") && listing_has(w, " /proc ");
}

/* Does it list all installed packages, not those that its operands name? */
static bool listing_is_packages(const struct words *w)
{
	static const char *const listers[][3] = {
		/* programs; one of these words; the only words besides options */
		{ " dpkg dpkg-query ", " -l --list --get-selections -W --show ", " * " },
		{ " rpm ", " -qa -aq --all -a ", "" },
		{ " pacman ", " -Q -Qq -Qqe -Qe ", "" },
		{ " apk ", " info ", " info " },
		{ " apt ", " --installed -i ", " list " },
		{ " brew ", " list ls leaves ", " list ls leaves " },
		{ " snap ", " list ", " list " },
		{ " apt-mark ", " showmanual showauto showinstall ",
		  " showmanual showauto showinstall " },
	};

	static const char formats[] = " -f --showformat --qf --queryformat ";

	for (size_t i = 0; i < COUNT_OF(listers); i++) {
		size_t k = 1;

		if (!listing_program_in(w, listers[i][0]) || !listing_has(w, listers[i][1]))
			continue;
		while (k < w->count && (w->list[k].text.s[0] == '-' ||
					word_in(&w->list[k], listers[i][2]) ||
					word_in(&w->list[k - 1], formats)))
			k++;
		return k == w->count;
	}
	return false;
}

unsigned listing_of(const struct shell_word *words, size_t count)
{
	struct words w = listing_words_of(words, count);

	if (listing_is_processes(&w))
		return FLOW_PROCESSES;
	if (listing_is_packages(&w))
		return FLOW_PACKAGES;
	return listing_program_in(&w, " lsblk blkid findmnt df pvs ") ? FLOW_DISKS : 0;
}

/* ---- filters ---- */

/*
 * Does the program select lines? {...} takes all, NR>1 {...} all but the heading, and /^ii/ {...}
 * of dpkg -l all that is installed.
 */
static bool listing_awk_picks(const struct words *w)
{
	const char *s = "/";

	for (size_t i = 1; i < w->count; i++) {
		if (word_in(&w->list[i], " -F -v ")) {
			i++;
		} else if (w->list[i].text.s[0] != '-') {
			s = w->list[i].text.s;
			break;
		}
	}
	s += strspn(s, " \t\n");
	if (strncmp(s, "NR>", 3) == 0 || strncmp(s, "NR!=", 4) == 0 || strncmp(s, "NR >", 4) == 0 ||
	    strncmp(s, "FNR>", 4) == 0 || strncmp(s, "/^ii", 4) == 0)
		s += strcspn(s, "{&"); /* NR>1 && $3 > 90 picks some */
	return *s != '{';
}

/* Does the menu print what fits a text, or all, without a person: fzf -f x, --filter=x, fzy -e x,
 * fzf --bind start:select-all+accept? */
static bool listing_asks_nobody(const struct words *w)
{
	if (listing_has_letter(w, listing_program_in(w, " fzy ") ? "e" : "f"))
		return true;
	for (size_t i = 1; i < w->count; i++)
		if (word_begins(&w->list[i], "--filter") ||
		    word_begins(&w->list[i], "--show-matches") ||
		    strstr(w->list[i].text.s, "select-all+accept"))
			return true;
	return false;
}

bool listing_picks(const struct shell_command *c)
{
	static const char keeps[] =
		" -v ^ii [0-9] ^[0-9] [0-9]+ [0-9]* ^[0-9]+ ^[0-9]* ^[0-9]+$ ^[0-9]*$ . ";
	struct words w = listing_words_of(c->words, c->word_count);

	if (listing_program_in(&w, " awk gawk mawk nawk "))
		return listing_awk_picks(&w);
	if (listing_program_in(&w, " cut "))
		return false;
	if (listing_program_in(&w, " tail ")) { /* +2: from the second line on */
		for (size_t i = 1; i < w.count; i++)
			if (strchr(w.list[i].text.s, '+'))
				return false;
		return true;
	}
	if (listing_program_in(&w, " sed gsed "))
		return listing_has_letter(&w, "n");
	if (listing_program_in(&w, " fzf sk fzy ")) /* else somebody picks */
		return !listing_asks_nobody(&w);
	return !listing_has(&w, keeps);
}

/* awk '{print "X"$1}' */
static bool listing_awk_puts(const char *s, const char *text, size_t len)
{
	s += strspn(s, "{ \t");
	if (strncmp(s, "print", 5))
		return false;
	s += 5 + strspn(s + 5, " \t");
	if (*s++ != '"' || strncmp(s, text, len) || s[len] != '"')
		return false;
	s += len + 1 + strspn(s + len + 1, " \t");
	if (*s++ != '$')
		return false;
	s += strspn(s, "0123456789NF");
	return !s[strspn(s, " \t;}")];
}

/* sed 's|^|X|' */
static bool listing_sed_puts(const char *s, const char *text, size_t len)
{
	char mark = s[0] == 's' ? s[1] : '\0';

	if (!mark || s[2] != '^' || s[3] != mark)
		return false;
	s += 4;
	for (size_t i = 0; i < len; i++, s++) {
		s += *s == '\\';
		if (*s != text[i])
			return false;
	}
	return *s == mark && !s[1];
}

bool listing_puts_before(const struct shell_command *c, const char *text, size_t len)
{
	struct words w = listing_words_of(c->words, c->word_count);

	if (w.count != 2)
		return false;
	if (listing_program_in(&w, " awk gawk mawk nawk "))
		return listing_awk_puts(w.list[1].text.s, text, len);
	return listing_program_in(&w, " sed gsed ") &&
	       listing_sed_puts(w.list[1].text.s, text, len);
}

/* ---- commands that end what a list names ---- */

/* Programs @names end each item of a list of @flow; with @words, only if one of these is there. */
static const struct taker {
	const char *names, *words;
	unsigned flow;
	const char *effect;
} takers[] = {
	{ " kill ", NULL, FLOW_PROCESSES, "kill_all" },
	{ " kill ", NULL, FLOW_SERVICES, "kill_service" },
	{ " apt apt-get aptitude dnf microdnf yum zypper nala tdnf apk ",
	  " remove purge autoremove erase rm autopurge del ", FLOW_PACKAGES, "packages_all" },
	{ " brew snap ", " uninstall remove rm ", FLOW_PACKAGES, "packages_all" },
	{ " dpkg ", " -r -P --purge --remove ", FLOW_PACKAGES, "packages_all" },
	{ " rpm ", " -e -ev -evv --erase ", FLOW_PACKAGES, "packages_all" },
	{ " pacman ", " -R -Rs -Rn -Rns -Rnsc -Rc -Rsc -Rcs -Rd -Rdd -Rddns --remove ",
	  FLOW_PACKAGES, "packages_all" },
	{ " wipefs ", " -a --all -af -fa ", FLOW_DISKS, "disks_all" },
	{ " shred blkdiscard mke2fs mkfs pvremove ", NULL, FLOW_DISKS, "disks_all" },
};

/* dd of=$DISK */
static bool listing_writes_unknown(const struct words *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (strncmp(w->list[i].text.s, "of=", 3) == 0 && w->list[i].unknown_count)
			return true;
	return false;
}

/* kill -HUP, kill -s USR1: what daemons read their settings again at */
static bool listing_reloads(const struct words *w)
{
	return listing_program_in(w, " kill ") &&
	       listing_has(w, " -HUP -SIGHUP -1 -USR1 -SIGUSR1 -10 -USR2 -SIGUSR2 -12 "
			      "HUP SIGHUP USR1 SIGUSR1 USR2 SIGUSR2 -sHUP --signal=HUP -l -L ");
}

/* kill -0 signals nothing, apt -s removes nothing. */
static bool listing_is_inert(const struct words *w)
{
	if (listing_has(w, " --help "))
		return true;
	if (!listing_program_in(w, " kill "))
		return listing_has(w, " -s ");
	return listing_has(w, " -0 ") || (listing_has(w, " -s ") && listing_has(w, " 0 "));
}

const char *listing_taken(const struct shell_word *words, size_t count, unsigned flow)
{
	struct words w = listing_words_of(words, count);

	if ((flow & FLOW_SERVICES) && listing_reloads(&w))
		flow &= ~(unsigned)FLOW_SERVICES;
	for (size_t i = 0; i < COUNT_OF(takers); i++)
		if ((takers[i].flow & flow) && listing_program_in(&w, takers[i].names) &&
		    (!takers[i].words || listing_has(&w, takers[i].words)) &&
		    !listing_is_inert(&w))
			return takers[i].effect;
	if ((flow & FLOW_DISKS) && listing_program_in(&w, " dd ") && listing_writes_unknown(&w))
		return "disks_all";
	return NULL;
}
