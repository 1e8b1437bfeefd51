/*
 * Shell text in options of programs that are no wrappers: tar --to-command, git -c
 * alias.x='!...', vim -c ':!...', ssh -o ProxyCommand.
 */
#include "blocklist/effects/readers.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"

/*
 * For the programs in @names: the text is the rest of a word that begins with @prefix; with
 * @next, it is the word after the word @prefix, must begin with @mark, and lacks it. Arrays, for
 * the reason that base/strtab.h gives.
 */
static const struct hiding {
	char names[56];
	char prefix[40];
	bool next;
	char mark[32];
} hidings[] = {
	{ " tar gtar bsdtar ", "--checkpoint-action=exec=", false, "" },
	{ " tar gtar bsdtar ", "--to-command=", false, "" },
	{ " tar gtar bsdtar ", "--use-compress-program=", false, "" },
	{ " tar gtar bsdtar ", "--rsh-command=", false, "" },
	{ " tar gtar bsdtar ", "--rmt-command=", false, "" },
	{ " tar gtar bsdtar ", "--info-script=", false, "" },
	{ " tar gtar bsdtar ", "--new-volume-script=", false, "" },
	{ " tar gtar bsdtar ", "-I", true, "" },
	{ " tar gtar bsdtar ", "--use-compress-program", true, "" },
	{ " tar gtar bsdtar ", "--to-command", true, "" },
	{ " tar gtar bsdtar ", "-F", true, "" },
	{ " rsync ", "-e", true, "" },
	{ " rsync ", "--rsh=", false, "" },
	{ " rsync ", "--rsync-path=", false, "" },
	{ " ssh scp sftp ", "-o", true, "ProxyCommand=" },
	{ " ssh scp sftp ", "-o", true, "ProxyCommand " },
	{ " ssh scp sftp ", "-o", true, "LocalCommand=" },
	{ " ssh scp sftp ", "-oProxyCommand=", false, "" },
	{ " ssh scp sftp ", "-oLocalCommand=", false, "" },
	{ " scp sftp ", "-S", true, "" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-c", true, ":!" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-c", true, "!" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-c", true, "silent !" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-c", true, ":silent !" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-c", true, "call system(" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-c", true, ":call system(" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-sc", true, "!" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "-esc", true, "!" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "--cmd", true, "!" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "--cmd", true, ":!" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "+!", false, "" },
	{ " vi vim vim.tiny nvim ex view gvim vimdiff ", "+:!", false, "" },
	{ " less more man ", "+!", false, "" },
	{ " man ", "-P", true, "" },
	{ " man ", "--pager=", false, "" },
	{ " man ", "-H", false, "" },
	{ " gdb ", "-ex", true, "shell " },
	{ " gdb ", "-ex", true, "!" },
	{ " gdb ", "--eval-command=shell ", false, "" },
	{ " gdb ", "--args", true, "" },
	{ " capsh ", "-c", true, "" },
	{ " kubectl oc nerdctl crictl docker podman ", "--", true, "" },
	{ " dc ", "-e", true, "!" },
	{ " compgen complete ", "-C", true, "" },
	{ " fc ", "-e", true, "" },
	{ " ghci ", "-e", true, ":!" },
	{ " screen ", "stuff", true, "" },
	{ " systemd-run ", "-p", true, "ExecStart=" },
	{ " systemd-run ", "-p", true, "ExecStartPre=" },
	{ " systemd-run ", "-p", true, "ExecStartPost=" },
	{ " systemd-run ", "-p", true, "ExecStop=" },
	{ " systemd-run ", "-p", true, "ExecStopPost=" },
	{ " systemd-run ", "-p", true, "ExecCondition=" },
	{ " systemd-run ", "--property=ExecStart", false, "" },
	{ " systemd-run ", "--property=ExecStartPre=", false, "" },
	{ " systemd-run ", "--property=ExecStop=", false, "" },
	{ " watchexec reflex modd chokidar onchange ", "-c", true, "" },
	{ " watchexec reflex modd chokidar onchange ", "--", true, "" },
	{ " sqlite3 ", ".shell ", false, "" },
	{ " sqlite3 ", ".system ", false, "" },
	{ " psql mysql mariadb ", "-c", true, "\\!" },
	{ " psql mysql mariadb ", "-e", true, "\\!" },
	{ " psql mysql mariadb ", "-e", true, "system " },
	{ " lftp smbclient ", "-c", true, "!" },
	{ " lftp smbclient ", "-e", true, "!" },
	{ " gnuplot ", "-e", true, "!" },
	{ " zip ", "-TT", true, "" },
	{ " zip ", "--unzip-command", true, "" },
	{ " zip ", "--unzip-command=", false, "" },
	{ " git ", "--upload-pack=", false, "" },
	{ " git ", "--receive-pack=", false, "" },
	{ " git ", "--exec", true, "" },
	{ " git ", "--exec=", false, "" },
	{ " git ", "-O", false, "" },
	{ " git ", "ext::", false, "" },
	{ " git ", "-x", true, "" },
	{ " git ", "foreach", true, "" },
	{ " git ", "run", true, "" },
	{ " git ", "--tree-filter", true, "" },
	{ " git ", "--index-filter", true, "" },
	{ " git ", "--msg-filter", true, "" },
	{ " git ", "--extcmd=", false, "" },
	{ " hg ", "--config", true, "alias.x=!" },
	{ " npx npm yarn pnpm ", "-c", true, "" },
	{ " npx npm yarn pnpm ", "--call", true, "" },
	{ " npx npm yarn pnpm ", "exec", true, "" },
	{ " npx npm yarn pnpm ", "dlx", true, "" },
	{ " npx npm yarn pnpm ", "-T", true, "" },
	{ " bun ", "x", true, "" },
	{ " devbox ", "run", true, "" },
	{ " guix ", "--", true, "" },
	{ " fab fabric ", "--", true, "" },
	{ " podman buildah ", "unshare", true, "" },
	{ " podman buildah ", "ssh", true, "" },
	{ " machinectl ", ".host", true, "" },
	{ " machinectl ", "root@", true, "" },
	{ " machinectl ", "root@.host", true, "" },
	{ " ipython ipython3 ", "-c", true, "!" },
	{ " nix ", "-c", true, "" },
	{ " nix ", "--command", true, "" },
	{ " just ", "--command", true, "" },
	{ " cargo ", "-s", true, "" },
	{ " salt salt-call salt-ssh ", "cmd.run", true, "" },
	{ " concurrently ", "", false, "" },
	{ " nix-shell ", "--run", true, "" },
	{ " nix-shell ", "--command", true, "" },
	{ " vagrant ", "-c", true, "" },
	{ " vagrant ", "--command", true, "" },
	{ " vagrant ", "--", true, "" },
	{ " multipass ", "--", true, "" },
	{ " minikube colima ", "ssh", true, "" },
	{ " minikube colima ", "--", true, "" },
	{ " doppler infisical mise ", "--command", true, "" },
	{ " doppler infisical mise ", "--command=", false, "" },
	{ " infisical mise ", "-c", true, "" },
	{ " cmake ", "time", true, "" },
	{ " cmake ", "env", true, "" },
	{ " fly flyctl ", "-C", true, "" },
	{ " fly flyctl ", "--command", true, "" },
	{ " doctl ", "--ssh-command", true, "" },
	{ " doctl ", "--ssh-command=", false, "" },
	{ " ansible ", "-a", true, "" },
	{ " ansible ", "--args", true, "" },
	{ " gcloud ", "--command=", false, "" },
	{ " gcloud ", "--command", true, "" },
	{ " gcloud ", "--", true, "" },
	{ " nc ncat netcat ", "-c", true, "" },
	{ " nc ncat netcat ", "--sh-exec", true, "" },
	{ " socat ", "EXEC:", false, "" },
	{ " socat ", "SYSTEM:", false, "" },
	{ " make gmake ", "SHELL=", false, "" },
	{ " make gmake ", "--eval", true, "$(shell " },
	{ " make gmake ", "--eval=$(shell ", false, "" },
	{ " inotifywait fswatch nodemon ", "--exec", true, "" },
	{ " nodemon ", "-x", true, "" },
	{ " xterm urxvt rxvt konsole alacritty kitty ", "-e", true, "" },
	{ " kitty ", "launch", true, "" },
	{ " kitty ", "send-text", true, "" },
	{ " lxterminal mate-terminal tilix ", "-e", true, "" },
	{ " lxterminal mate-terminal tilix ", "-x", true, "" },
	{ " zellij wezterm flox devenv ", "--", true, "" },
	{ " zellij wezterm ", "write-chars", true, "" },
	{ " zellij wezterm ", "send-text", true, "" },
	{ " gnome-terminal xfce4-terminal terminator ", "-x", true, "" },
	{ " gnome-terminal xfce4-terminal terminator ", "-e", true, "" },
	{ " gnome-terminal ", "--command=", false, "" },
	{ " gnome-terminal ", "--", true, "" },
	{ " fzf sk ", "--preview", true, "" },
	{ " fzf sk ", "--preview=", false, "" },
	{ " pm2 ", "start", true, "" },
	{ " forever ", "-c", true, "" },
	{ " expect ", "-c", true, "spawn " },
	{ " emacs ", "--eval", true, "(shell-command " },
	{ " logrotate ", "--mail=", false, "" },
	{ " unshare ", "--fork=", false, "" },
	{ " split ", "--filter=", false, "" },
	{ " split ", "--filter", true, "" },
	{ " sort ", "--compress-program=", false, "" },
	{ " tcpdump ", "-z", true, "" },
	{ " entr ", "-s", true, "" },
	{ " start-stop-daemon ", "--exec", true, "" },
	{ " start-stop-daemon ", "--startas", true, "" },
	{ " start-stop-daemon ", "-x", true, "" },
	{ " start-stop-daemon ", "-a", true, "" },
	{ " run-one flatpak-spawn ", "--host", true, "" },
	{ " sed gsed ", "1e ", false, "" },
	{ " sed gsed ", "e ", false, "" },
	{ " sed gsed ", "-n1e ", false, "" },
};

/* At least blocklist_name_count. */
#define NAMES 2048
/* Steps for each character of a quoted word, and the characters that quoting adds to it. */
#define WORK_QUOTE 8u

/* Texts of one command; with more it is too complex. */
#define TEXTS_MAX 48

/*
 * The text is @w from @skip on. Quotes around all of it belong to the other language:
 * call system("TEXT"). A \n at its end is a key of a terminal: screen -X stuff 'TEXT\n'.
 */
static void options_add(const struct shell_word *w, size_t skip, struct action_list *out)
{
	const char *s = w->text.s;
	size_t to = w->text.len, end;

	if (to > skip + 2 && s[to - 2] == '\\' && s[to - 1] == 'n')
		to -= 2;
	end = to;
	if (to > skip + 1 && s[to - 1] == ')' && strchr("'\"", s[to - 2]))
		to--;
	if (to > skip + 1 && strchr("'\"", s[skip]) && s[to - 1] == s[skip] &&
	    (size_t)(strchr(s + skip + 1, s[skip]) - s) == to - 1) {
		skip++;
		to--;
	} else {
		to = end;
	}
	if (skip >= to)
		return;
	if (out->count >= TEXTS_MAX)
		shell_arena_exhaust(out->arena);
	else
		action_text_part(out, w, skip, to, ACTION_LENIENT);
}

/* Is a glob or an unknown part in @words, which quotes would make plain text? */
static bool options_has_more(const struct shell_word *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].unknown_count ||
		    (words[i].text.len && memchr(words[i].kind, SHELL_GLOB, words[i].text.len)))
			return true;
	return false;
}

/* As a text, whose files the rest of the script may run, and as words for what only those tell. */
static void options_add_words(const struct shell_word *words, size_t count,
			      struct action_list *out)
{
	struct shell_word joined;
	size_t len = 0;

	for (size_t k = 0; k < count; k++)
		len += words[k].text.len + WORK_QUOTE;
	if (!action_charge(out, WORK_QUOTE * len)) {
		shell_arena_exhaust(out->arena);
		return;
	}
	joined = word_quote(words, count, out->budget, out->arena);
	options_add(&joined, 0, out);
	if (options_has_more(words, count))
		action_words(out, words, count, 0);
}

/*
 * All words from @i on are one text, as xterm -e takes them. npm and start-stop-daemon leave out
 * a -- before the program or behind it.
 */
static void options_add_rest(const struct command *cmd, size_t i, struct action_list *out)
{
	const struct shell_word *words = cmd->words + i;
	size_t count = cmd->count - i;
	struct shell_word *list;

	options_add_words(words, count, out);
	if (word_is(&words[0], "--")) {
		options_add_words(words + 1, count - 1, out);
	} else if (word_is(&words[1], "--")) {
		list = shell_alloc(out->arena, count * sizeof(*list));
		list[0] = words[0];
		memcpy(list + 1, words + 2, (count - 2) * sizeof(*list));
		options_add_words(list, count - 1, out);
	}
}

/* The word behind the option or subcommand @i, and behind options of the subcommand:
 * git submodule foreach -q TEXT. */
static size_t options_behind(const struct command *cmd, size_t i)
{
	bool option = cmd->words[i++].text.s[0] == '-';

	while (!option && i < cmd->count && cmd->words[i].text.s[0] == '-' &&
	       !word_is(&cmd->words[i], "--"))
		i++;
	return i;
}

static void options_search_next(const struct command *cmd, const struct hiding *rule, size_t i,
				struct action_list *out)
{
	size_t at = options_behind(cmd, i);

	if (at >= cmd->count || !word_begins(&cmd->words[at], rule->mark))
		return;
	options_add(&cmd->words[at], strlen(rule->mark), out);
	if (!*rule->mark && at + 1 < cmd->count)
		options_add_rest(cmd, at, out);
}

static void options_search(const struct command *cmd, const struct hiding *rule,
			   struct action_list *out)
{
	char first = rule->prefix[0];

	for (size_t i = 1; i < cmd->count && !shell_arena_spent(out->arena); i++) {
		const struct shell_word *w = &cmd->words[i];

		if (first && w->text.s[0] != first)
			continue;
		if (!rule->next && word_begins(w, rule->prefix))
			options_add(w, strlen(rule->prefix), out);
		if (rule->next && word_is(w, rule->prefix))
			options_search_next(cmd, rule, i, out);
	}
}

/* ---- git ---- */

/* Keys whose value git runs, SECTION.NAME or SECTION.*.NAME; with @bang only behind a '!'. Git
 * takes them in any case. */
static const struct git_key {
	char section[16];
	char names[64];
	bool bang;
} git_keys[] = {
	{ "alias.", "", true },
	{ "core.", " pager editor sshcommand fsmonitor askpass gitproxy ", false },
	{ "credential.", " helper ", true },
	{ "diff.", " external command textconv ", false },
	{ "difftool.", " cmd ", false },
	{ "filter.", " smudge clean process ", false },
	{ "interactive.", " difffilter ", false },
	{ "merge.", " driver ", false },
	{ "mergetool.", " cmd ", false },
	{ "pager.", "", false },
	{ "sequence.", " editor ", false },
};

/* The row of the key, the first @len bytes of @word; NULL: git does not run its value. */
static const struct git_key *options_git_key(const struct shell_word *word, size_t len)
{
	const char *s = word->text.s, *dot = memrchr(s, '.', len);
	char name[24] = "";
	size_t n = dot ? len - (size_t)(dot + 1 - s) : sizeof(name);

	if (n >= sizeof(name))
		n = 0;
	for (size_t i = 0; i < n; i++)
		name[i] = (char)tolower((unsigned char)dot[1 + i]);
	for (size_t k = 0; dot && k < COUNT_OF(git_keys); k++) {
		const struct git_key *key = &git_keys[k];

		if (strncasecmp(s, key->section, strlen(key->section)) == 0 &&
		    (!*key->names || (n && list_has(key->names, name, n))))
			return key;
	}
	return NULL;
}

/* git -c core.pager=TEXT, git config core.pager TEXT, git config alias.NAME '!TEXT' */
static void options_search_git(const struct command *cmd, struct action_list *out)
{
	bool config = false;

	for (size_t i = 1; i < cmd->count && action_charge(out, 1); i++) {
		const struct shell_word *word = &cmd->words[i];
		size_t len = strcspn(word->text.s, "="), from = len + 1;
		bool here = word->text.s[len] && word_in(&cmd->words[i - 1], " -c --config ");
		const struct git_key *key;

		config |= word_is(word, "config");
		if (!here && !(config && i + 1 < cmd->count))
			continue;
		key = options_git_key(word, len);
		if (key && !here) {
			word = &cmd->words[i + 1];
			from = 0;
		}
		if (key && (!key->bang || word->text.s[from] == '!'))
			options_add(word, from + (word->text.s[from] == '!'), out);
	}
}

/*
 * For each name of the table, the groups of hidings[] that it is in, two at most: 1 + the
 * first row of the group; 0: none. A group is a run of rows with the same names.
 */
static uint8_t groups[NAMES][2];
/* For the first row of each group, the row after its last. */
static uint8_t group_ends[COUNT_OF(hidings)];

static void options_note_group(const struct hiding *row)
{
	uint8_t number = (uint8_t)(row - hidings + 1);

	for (const char *s = row->names; *s;) {
		size_t len;
		const struct blocklist_name *name;
		uint8_t *slot;

		s += *s == ' ';
		len = strcspn(s, " ");
		name = len ? name_lookup(s, len) : NULL;
		s += len;
		if (!name)
			continue;
		slot = groups[name - blocklist_names];
		slot[slot[0] != 0] = number;
	}
}

static void options_fill_groups(void)
{
	BUG_IF(blocklist_name_count > NAMES);
	for (size_t i = 0, from = 0; i < COUNT_OF(hidings); i++) {
		if (!i || strcmp(hidings[i].names, hidings[i - 1].names)) {
			options_note_group(&hidings[i]);
			from = i;
		}
		group_ends[from] = (uint8_t)(i + 1);
	}
}

/*
 * tsh ssh HOST COMMAND, k3s kubectl get pods: the words from @program on are one of it, without a
 * -- behind it, as in minikube kubectl -- get pods.
 */
static void options_run_from(const struct command *cmd, const char *program,
			     struct action_list *out)
{
	const struct shell_word *words = cmd->words + 1;
	size_t count = cmd->count - 1;
	struct shell_word *list;

	for (; count && !word_is(words, program); count--)
		words++;
	if (count > 1 && word_is(&words[1], "--")) {
		list = shell_alloc(out->arena, --count * sizeof(*list));
		list[0] = words[0];
		memcpy(list + 1, words + 2, (count - 1) * sizeof(*list));
		words = list;
	}
	if (count)
		action_words(out, words, count, 0);
}

/* kubectl exec POD -- COMMAND, minikube kubectl -- exec POD -- COMMAND */
static void options_run_elsewhere(struct action_list *out)
{
	for (size_t i = 0; i < out->count; i++)
		out->list[i].flags |= ACTION_ELSEWHERE;
}

/* go run x.go, java X.java: the source files among the words. */
void read_sources(const struct command *cmd, struct action_list *out)
{
	bool runs = command_in(cmd, " java jbang ") ||
		    (cmd->count > 1 && word_is(&cmd->words[1], "run"));

	for (size_t i = 1; runs && i < cmd->count; i++) {
		const char *dot = strrchr(cmd->words[i].text.s, '.');

		if (dot && list_has(" .go .java .dart ", dot, strlen(dot)))
			action_file(out, &cmd->words[i], NULL, 0, ACTION_FOREIGN);
	}
}

void read_options(const struct command *cmd, struct action_list *out)
{
	static bool filled;
	const uint8_t *of;

	if (!filled)
		options_fill_groups();
	filled = true;
	of = groups[cmd->name - blocklist_names];
	for (size_t g = 0; g < 2 && of[g] && cmd->count > 1; g++)
		for (size_t i = of[g] - 1u; i < group_ends[of[g] - 1]; i++)
			if (action_charge(out, 1 + cmd->count / 2))
				options_search(cmd, &hidings[i], out);
	if (strcmp(cmd->name->name, "git") == 0)
		options_search_git(cmd, out);
	if (command_in(cmd, " tailscale tsh docker-machine podman "))
		options_run_from(cmd, "ssh", out);
	if (command_in(cmd, " k3s k0s microk8s minikube "))
		options_run_from(cmd, "kubectl", out);
	if (command_in(cmd, " colima "))
		options_run_from(cmd, "nerdctl", out);
	if (command_in(cmd, " kubectl oc minikube "))
		options_run_elsewhere(out);
}

/* tar cf FILE: letters without a dash; their values are the next words, in order. */
void read_tar(const struct command *cmd, struct action_list *out)
{
	static const char letters[] = "AcdrtuxvzjJZfCTXIWkmOpPhSsBbGgLlUw";
	const char *s = cmd->count > 1 ? cmd->words[1].text.s : "-";
	size_t len = strlen(s), next = 2, n = 1;
	struct shell_word dash, letter, *list;
	struct command dashed = *cmd;

	if (s[0] == '-' || !len || len > 12 || strspn(s, letters) != len)
		return;
	list = shell_alloc(out->arena, (cmd->count + len + 2) * sizeof(*list));
	list[0] = cmd->words[0];
	dash = word_fixed("-", SHELL_LITERAL, &cmd->words[1], out->arena);
	for (size_t i = 0; i < len; i++) {
		letter = word_slice(&cmd->words[1], i, i + 1, out->arena);
		list[n++] = word_concat(&dash, &letter, out->arena);
		if (strchr("fCTXIbGgLV", s[i]) && next < cmd->count)
			list[n++] = cmd->words[next++];
	}
	memcpy(list + n, cmd->words + next, (cmd->count - next) * sizeof(*list));
	dashed.words = list;
	dashed.count = n + cmd->count - next;
	action_named(out, cmd->name, dashed.words, dashed.count);
	read_options(&dashed, out);
}
