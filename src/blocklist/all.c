#include "blocklist/all.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/args.h"
#include "blocklist/rules.h"

/* How many words of wrappers before a program are passed over. */
#define WRAPPERS_MAX 8

static bool listed(const char *list, const struct shell_word *w)
{
	return blocklist_listed(list, w->text.s, w->text.len);
}

static bool has_word(const struct shell_word *words, size_t count, const char *list)
{
	for (size_t i = 1; i < count; i++)
		if (listed(list, &words[i]))
			return true;
	return false;
}

/* Letters among the short options. */
static bool has_letter(const struct shell_word *words, size_t count, const char *letters)
{
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s;

		if (s[0] == '-' && s[1] != '-' && strpbrk(s, letters))
			return true;
	}
	return false;
}

/* Operands that are not in @but. */
static size_t operands(const struct shell_word *words, size_t count, const char *but)
{
	size_t n = 0;

	for (size_t i = 1; i < count; i++)
		n += words[i].text.s[0] != '-' && !listed(but, &words[i]);
	return n;
}

/* ---- what lists ---- */

/*
 * A program that lists all there is with one of the words @need, or letters; with an
 * operand that is not in @operands, or a word of @forbid, it lists some.
 */
static const struct lister {
	const char *names;
	const char *need, *letters;
	const char *operands, *forbid;
	unsigned flow;
} listers[] = {
	{ " dpkg ", " -l --list --get-selections ", NULL, " * ", NULL, FLOW_PACKAGES },
	{ " dpkg-query ", " -l --list -W --show ", NULL, " * ", NULL, FLOW_PACKAGES },
	{ " rpm ", " -qa --all -aq -q ", "a", "", NULL, FLOW_PACKAGES },
	{ " pacman ", NULL, "Q", "", "tdmuonis", FLOW_PACKAGES },
	{ " apk ", " info ", NULL, " info ", NULL, FLOW_PACKAGES },
	{ " apt ", " list ", NULL, " list ", "--upgradable", FLOW_PACKAGES },
	{ " apt-mark ", " showmanual showauto showinstall ", NULL,
	  " showmanual showauto showinstall ", NULL, FLOW_PACKAGES },
	{ " dnf yum ", " list ", NULL, " list installed ", NULL, FLOW_PACKAGES },
	{ " systemctl ", " list-units list-unit-files ", NULL,
	  " list-units list-unit-files service all enabled running active ",
	  "--failed --user --state=failed -U", FLOW_UNITS },
	{ " lsblk blkid findmnt df ", NULL, NULL, NULL, NULL, FLOW_DISKS },
	{ " lsmod ", NULL, NULL, "", NULL, FLOW_MODULES },
	{ " mount findmnt ", NULL, NULL, "", "-t", FLOW_MOUNTS },
	{ " ip ", " link l addr a ", NULL, " link l addr address a show up ls list ", NULL,
	  FLOW_LINKS },
	{ " ls ", " /sys/class/net /sys/class/net/ ", NULL,
	  " /sys/class/net /sys/class/net/ ", NULL, FLOW_LINKS },
	{ " ls ", " /home /home/ ", NULL, " /home /home/ ", NULL, FLOW_USERS },
	{ " atq ", NULL, NULL, "", NULL, FLOW_JOBS },
	{ " at ", NULL, "l", "", NULL, FLOW_JOBS },
	{ " lsof ", NULL, "t", " / ", "ipucgN", FLOW_ALL_PIDS },
	{ " getent ", " passwd ", NULL, " passwd ", NULL, FLOW_USERS },
};

/* A word of @forbid, or one of the letters if it is not about words. */
static bool forbidden(const struct lister *l, const struct shell_word *words, size_t count)
{
	if (!l->forbid)
		return false;
	if (l->forbid[0] != '-')
		return has_letter(words, count, l->forbid);
	for (size_t i = 1; i < count; i++)
		for (const char *s = l->forbid; *s;) {
			size_t len = strcspn(s, " ");

			if (strncmp(words[i].text.s, s, len) == 0)
				return true;
			s += len + (s[len] == ' ');
		}
	return false;
}

static unsigned listed_by(const struct shell_word *words, size_t count)
{
	static const char accounts[] = " /etc/passwd /etc/shadow ";
	bool foreign;
	struct shell_text base = blocklist_base_name(&words[0], &foreign);
	unsigned flow = 0;

	if (has_word(words, count, accounts) && !blocklist_listed(" grep egrep ", base.s, base.len))
		flow |= FLOW_USERS;
	for (size_t i = 0; i < COUNT_OF(listers); i++) {
		const struct lister *l = &listers[i];

		if (!blocklist_listed(l->names, base.s, base.len) ||
		    (l->need && !has_word(words, count, l->need)) ||
		    (l->letters && !has_letter(words, count, l->letters)) ||
		    (l->operands && operands(words, count, l->operands)) ||
		    forbidden(l, words, count))
			continue;
		flow |= l->flow;
	}
	return flow;
}

unsigned blocklist_all_listed(const struct shell_command *c)
{
	size_t i = 0;

	/* sudo dpkg -l */
	while (i + 1 < c->word_count && i < WRAPPERS_MAX &&
	       listed(" sudo doas env command nice ", &c->words[i]))
		i++;
	return c->word_count ? listed_by(c->words + i, c->word_count - i) : 0;
}

/* ---- what goes through ---- */

/* The program text of awk: not an option, nor the value of one. */
static const struct shell_word *awk_program(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		const char *s = c->words[i].text.s;

		if (strcmp(s, "-F") == 0 || strcmp(s, "-v") == 0)
			i++;
		else if (s[0] != '-')
			return &c->words[i];
	}
	return NULL;
}

/* {...}, and NR>1 {...}, which only leaves out the head. */
static bool awk_picks(const struct shell_command *c)
{
	const struct shell_word *program = awk_program(c);
	const char *s = program ? program->text.s : "/";

	s += strspn(s, " \t\n");
	if (strncmp(s, "NR>", 3) == 0 || strncmp(s, "NR!=", 4) == 0 || strncmp(s, "NR >", 4) == 0 ||
	    strncmp(s, "FNR>", 4) == 0)
		s += strcspn(s, "{");
	return *s != '{';
}

/* -n, a number of lines; +2 or -n +2: from the second on. */
static bool tail_picks(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (strchr(c->words[i].text.s, '+'))
			return false;
	return true;
}

bool blocklist_all_picks(const struct shell_command *c)
{
	static const char keeps[] = " -v [0-9] ^[0-9] [0-9]+ [0-9]* ^[0-9]+ ^[0-9]* ^[0-9]+$ "
				    "^[0-9]*$ ^[0-9][0-9]*$ . ";
	bool foreign;
	struct shell_text base;

	if (!c->word_count)
		return false;
	base = blocklist_base_name(&c->words[0], &foreign);
	if (blocklist_listed(" awk gawk mawk nawk ", base.s, base.len))
		return awk_picks(c);
	if (blocklist_listed(" cut ", base.s, base.len))
		return false;
	if (blocklist_listed(" tail ", base.s, base.len))
		return tail_picks(c);
	if (blocklist_listed(" sed gsed ", base.s, base.len))
		return has_letter(c->words, c->word_count, "n");
	return !has_word(c->words, c->word_count, keeps);
}

/* ---- what takes ---- */

/* A program that takes all of a list away: with one of the words @need, or the letters. */
static const struct taker {
	const char *names;
	const char *need, *letters;
	unsigned flow;
	const char *effect;
} takers[] = {
	{ " apt apt-get aptitude dnf microdnf yum zypper nala tdnf apk ",
	  " remove purge autoremove erase rm autopurge del ", NULL, FLOW_PACKAGES, "packages_all" },
	{ " dpkg ", " -r -P --purge --remove ", NULL, FLOW_PACKAGES, "packages_all" },
	{ " rpm ", " --erase ", NULL, FLOW_PACKAGES, "packages_all" },
	{ " rpm ", NULL, "e", FLOW_PACKAGES, "packages_all" },
	{ " pacman ", NULL, "R", FLOW_PACKAGES, "packages_all" },
	{ " systemctl service rc-service ", " stop disable mask kill ", NULL, FLOW_UNITS,
	  "units_all" },
	{ " userdel deluser ", NULL, NULL, FLOW_USERS, "users_all" },
	{ " passwd usermod ", " -l -L -d --lock --delete -e --expire ", NULL, FLOW_USERS,
	  "users_all" },
	{ " pkill killall ", " -u -U ", NULL, FLOW_USERS, "kill_all" },
	{ " rm ", NULL, "rR", FLOW_USERS, "users_all" },
	{ " dd shred mkfs mke2fs blkdiscard sgdisk sfdisk mkswap scrub wipe nwipe tee cryptsetup "
	  "pvremove hdparm badblocks ",
	  NULL, NULL, FLOW_DISKS, "disks_all" },
	{ " wipefs ", " -a --all -af -fa ", NULL, FLOW_DISKS, "disks_all" },
	{ " rmmod ", NULL, NULL, FLOW_MODULES, "modules_all" },
	{ " modprobe ", NULL, "r", FLOW_MODULES, "modules_all" },
	{ " umount ", NULL, NULL, FLOW_MOUNTS, "mounts_all" },
	{ " ip ifconfig ", " down delete del ", NULL, FLOW_LINKS, "links_all" },
	{ " ifdown ", NULL, NULL, FLOW_LINKS, "links_all" },
	{ " atrm ", NULL, NULL, FLOW_JOBS, "jobs" },
	{ " at ", NULL, "rd", FLOW_JOBS, "jobs" },
};

/* rm -rf $home, rm -rf /home/$user; but not what is below it. */
static bool takes_homes(const struct shell_word *words, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct shell_word *w = &words[i];
		size_t at = strncmp(w->text.s, "/home/", 6) == 0 ? 6 : 0;
		bool unknown = at < w->text.len && (w->kind[at] == SHELL_UNKNOWN ||
						    w->kind[at] == SHELL_UNKNOWN_FIELDS);

		if (unknown && (!w->text.s[at + 1] || strcmp(w->text.s + at + 1, "/") == 0))
			return true;
	}
	return false;
}

/* What of these devices is only read. */
static bool only_reads(const struct shell_word *words, size_t count)
{
	bool foreign;
	struct shell_text base = blocklist_base_name(&words[0], &foreign);

	if (blocklist_listed(" dd ", base.s, base.len)) {
		for (size_t i = 1; i < count; i++)
			if (strncmp(words[i].text.s, "of=", 3) == 0 && words[i].unknown_count)
				return false;
		return true;
	}
	if (blocklist_listed(" hdparm ", base.s, base.len))
		return !has_word(words, count, " --security-erase -Y --write-sector ");
	if (blocklist_listed(" cryptsetup ", base.s, base.len))
		return !has_word(words, count, " erase luksErase luksFormat reencrypt ");
	if (blocklist_listed(" badblocks ", base.s, base.len))
		return !has_letter(words, count, "wn");
	return blocklist_listed(" sgdisk sfdisk ", base.s, base.len) &&
	       has_word(words, count, " -p --print -l --list -d --dump -i -v ");
}

const char *blocklist_all_taken(const struct shell_word *words, size_t count, unsigned flow)
{
	bool foreign;
	struct shell_text base = blocklist_base_name(&words[0], &foreign);

	if (count > 1 && words[1].text.s[0] == '-' && has_word(words, count, " -0 --help -n -s "))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(takers); i++) {
		const struct taker *t = &takers[i];

		if (!(t->flow & flow) || !blocklist_listed(t->names, base.s, base.len) ||
		    (t->need && !has_word(words, count, t->need)) ||
		    (t->letters && !has_letter(words, count, t->letters)))
			continue;
		if ((t->flow == FLOW_DISKS && only_reads(words, count)) ||
		    (t->flow == FLOW_USERS && base.s[0] == 'r' && !takes_homes(words, count)))
			continue;
		return t->effect;
	}
	return NULL;
}
