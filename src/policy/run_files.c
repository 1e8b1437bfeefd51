#include "policy/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "blocklist/altered.h"
#include "blocklist/command/list.h"
#include "blocklist/path.h"
#include "policy/dir.h"
#include "policy/run_command.h"
#include "shell/words.h"

#define FILES_MAX 32
/* In the set of files that commands may write: what is run is not there, and a command may make it.
 * Behind FILES_MAX, and in a JSON integer. */
#define OWN_MISSING ((uint64_t)1 << 62)
#define LOOKS_MAX 512           /* names of one text; each takes a system call or more */
#define BYTES_MAX (256u * 1024) /* read of all files: some milliseconds of the one thread */
#define NAME_MAX_SHOWN 512   /* bytes of a path, which people are shown */
#define TOLD_SIZE 160
#define FED "a script comes from a pipe or a redirection"
#define HEAD_SIZE 256 /* of a file, with a NUL; the kernel reads as much for a #! line */

/* When the file that a word names may be run. */
enum run_files_role {
	RUN_FILES_SCRIPT, /* whatever it is */
	RUN_FILES_WORD,   /* if it is executable, or a chmod may have made it so */
};

static bool run_files_refuse(struct run_files *f, const char *lacks)
{
	if (!f->lacks)
		f->lacks = lacks;
	return false;
}

/* ---- one file ---- */

static void run_files_tell_identity(const struct stat *st, char told[TOLD_SIZE])
{
	snprintf(told, TOLD_SIZE, "%" PRIuMAX ":%" PRIuMAX " %jd %jd.%09ld %jd.%09ld",
		 (uintmax_t)st->st_dev, (uintmax_t)st->st_ino, (intmax_t)st->st_size,
		 (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec,
		 st->st_ctim.tv_nsec);
}

static void run_files_read_head(int fd, char head[HEAD_SIZE])
{
	ssize_t len = pread(fd, head, HEAD_SIZE - 1, 0);

	head[len > 0 ? len : 0] = '\0';
}

static bool run_files_is_compiled(const char *head)
{
	return !strncmp(head, "\177ELF", 4);
}

/* All of the file, which is @size bytes long, and not a byte more. */
static bool run_files_hash(int fd, size_t size, char told[TOLD_SIZE])
{
	AUTO_FREE char *bytes = mem_zalloc(size + 1);
	unsigned char digest[DIGEST_SIZE];
	size_t len = 0;
	ssize_t n = 1;

	while (len <= size && n > 0) {
		n = pread(fd, bytes + len, size + 1 - len, (off_t)len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 || len != size)
		return false;
	digest_bytes(bytes, len, digest);
	digest_hex(digest, sizeof(digest), told);
	return true;
}

/* Does the open file @fd hold still while it is read? Then says into @told what is in it, and how
 * it begins. */
static bool run_files_tell(struct run_files *f, int fd, char head[HEAD_SIZE], char told[TOLD_SIZE])
{
	char before[TOLD_SIZE], after[TOLD_SIZE];
	struct stat st;

	if (fstat(fd, &st))
		return false;
	run_files_tell_identity(&st, before);
	strcpy(told, before);
	run_files_read_head(fd, head);
	if (run_files_is_compiled(head) || (uintmax_t)st.st_size > BYTES_MAX - f->bytes)
		return true;
	f->bytes += (size_t)st.st_size;
	if (!run_files_hash(fd, (size_t)st.st_size, told) || fstat(fd, &st))
		return false;
	run_files_tell_identity(&st, after);
	return !strcmp(before, after);
}

/* The place of @path in the list; its length: it is not there. */
static size_t run_files_place(const struct run_files *f, const char *path)
{
	json_t *one;
	size_t i;

	json_array_foreach(f->list, i, one)
		if (!strcmp(json_string_value(json_array_get(one, 0)), path))
			return i;
	return json_array_size(f->list);
}

static bool run_files_add(struct run_files *f, const char *path, bool compiled, const char *told)
{
	json_t *name = json_string(path);

	if (!name)
		return run_files_refuse(f, "the name of a file that it runs is not UTF-8");
	if (!f->list)
		f->list = json_array();
	if (!f->scripts)
		f->scripts = json_array();
	if (!compiled)
		json_array_append(f->scripts, name);
	json_array_append_new(f->list, json_pack("[o,s]", name, told));
	return true;
}

/* A descriptor to read from the regular file that @fd (O_PATH) is, and no other; -1 with errno. */
static int run_files_reopen(int fd)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void run_files_take_interpreter(struct run_files *f, char *head);

/* Take the file @path, if it is one that counts in its role, and what interprets it. Returns
 * whether it was taken. */
static bool run_files_take(struct run_files *f, const char *path, enum run_files_role role)
{
	AUTO_CLOSE int fd = dir_walk(AT_FDCWD, path, NULL, NULL), file = -1;
	AUTO_FREE char *name = NULL;
	char told[TOLD_SIZE], head[HEAD_SIZE];
	struct stat st;
	uint64_t own;
	size_t place;
	bool counts;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || role == RUN_FILES_WORD))
		return false;
	if (fd < 0 || fstat(fd, &st))
		return run_files_refuse(f, "a file that it runs cannot be read");
	if (S_ISFIFO(st.st_mode) && role == RUN_FILES_SCRIPT)
		return run_files_refuse(f, FED);
	counts = role == RUN_FILES_SCRIPT || st.st_mode & 0111;
	if (!S_ISREG(st.st_mode) || (!counts && !f->has_chmod))
		return false;
	name = dir_name(fd, path);
	place = run_files_place(f, name);
	if (!f->installed || f->installed->can_write(f->installed->ctx, name))
		f->own |= (uint64_t)1 << place;
	if (place < json_array_size(f->list))
		return counts;
	if (json_array_size(f->list) == FILES_MAX || strlen(name) > NAME_MAX_SHOWN)
		return run_files_refuse(f, "it names too many files, or too long ones");
	file = run_files_reopen(fd);
	if (file < 0 || !run_files_tell(f, file, head, told))
		return run_files_refuse(f, "a file that it runs cannot be read, or changes");
	if (!run_files_add(f, name, run_files_is_compiled(head), told))
		return false;
	own = f->own;
	if (!strncmp(head, "#!", 2))
		run_files_take_interpreter(f, head + 2);
	if (own) /* the script stands for its interpreters, which are taken once */
		f->own = own;
	return counts;
}

/* ---- names ---- */

/* Nothing is at @path, which this cuts, for us. May something be there for the command: behind a
 * link, or below /proc and /dev/fd? */
static bool run_files_is_elsewhere(char *path)
{
	struct statfs fs;
	struct stat st;
	char *slash;

	if (!lstat(path, &st))
		return true;
	while ((slash = strrchr(path, '/')) && slash > path) {
		*slash = '\0';
		if (!statfs(path, &fs))
			return fs.f_type == PROC_SUPER_MAGIC;
	}
	return false;
}

/* The path of @name in @directory; false: it is too long, or that is one look too many. */
static bool run_files_path(struct run_files *f, const char *directory, const char *name,
			   char path[PATH_MAX])
{
	bool absolute = *name == '/';

	if (snprintf(path, PATH_MAX, "%s%s%s", absolute ? "" : directory, absolute ? "" : "/",
		     name) >= PATH_MAX)
		return false;
	return ++f->looks <= LOOKS_MAX || run_files_refuse(f, "it has too many words");
}

static bool run_files_take_in(struct run_files *f, const char *directory, const char *name,
			      enum run_files_role role)
{
	char path[PATH_MAX];

	if (!run_files_path(f, directory, name, path))
		return false;
	if (!access(path, F_OK) || errno != ENOENT)
		return run_files_take(f, path, role);
	if (role == RUN_FILES_SCRIPT && run_files_is_elsewhere(path))
		(void)run_files_refuse(f, "a file that it runs cannot be read");
	return false;
}

/* What @name in @directory is; false: nothing is there, or @directory is NULL. */
static bool run_files_stat(struct run_files *f, const char *directory, const char *name,
			   struct stat *st)
{
	char path[PATH_MAX];

	return directory && run_files_path(f, directory, name, path) && !stat(path, st);
}

/* Take the file @name; a relative one from both directories, because a cd may fail. */
static bool run_files_take_name(struct run_files *f, const char *name, enum run_files_role role)
{
	bool taken = *name && run_files_take_in(f, f->here, name, role);

	if (*name && *name != '/' && f->there)
		taken |= run_files_take_in(f, f->there, name, role);
	return taken;
}

/* The first file in PATH that has @name; a shell's own command and a function have none. */
static bool run_files_search(struct run_files *f, const char *name, enum run_files_role role)
{
	const char *dir = f->path;

	for (size_t len; dir; dir = dir[len] ? dir + len + 1 : NULL) {
		char path[PATH_MAX];

		len = strcspn(dir, ":");
		if (snprintf(path, sizeof(path), "%.*s/%s", len ? (int)len : 1, len ? dir : ".",
			     name) < PATH_MAX &&
		    (run_files_take_name(f, path, role) || f->lacks))
			return true;
	}
	return false;
}

/* Take the program @name of @run, found in PATH, unless it was looked for before. */
static void run_files_search_once(struct run_files *f, const struct blocklist_run *run,
				  const char *name)
{
	const json_t *known = json_object_get(f->searched, name);

	if (known) {
		f->own |= (uint64_t)json_integer_value(known);
		return;
	}
	if (!f->searched)
		f->searched = json_object();
	if (!run_files_search(f, name, RUN_FILES_WORD) && !run->is_function &&
	    !shell_words_is_builtin(name))
		f->own |= OWN_MISSING;
	json_object_set_new(f->searched, name, json_integer((json_int_t)f->own));
}

/* Take the files that @text, a word behind the program, may name: as it stands, behind a =, behind
 * the letter of a short option. */
static bool run_files_take_word(struct run_files *f, const char *text, enum run_files_role role)
{
	const char *value = strchr(text, '=');
	bool taken = run_files_take_name(f, text, role);

	if (value)
		taken |= run_files_take_name(f, value + 1, role);
	else if (text[0] == '-' && text[1] && text[2])
		taken |= run_files_take_name(f, text + 2, role);
	return taken;
}

/* ---- the line #! ---- */

/* Is it unknown what @word leads to, if env takes it? With quotes, variables, assignments, blanks
 * that only env knows, another directory (-C, --chdir), and -S in one word with what it splits. */
static bool run_files_is_opaque(const char *word)
{
	return strpbrk(word, "\"'\\$#=\v\f\r") || !strncmp(word, "--c", 3) ||
	       (word[0] == '-' && strpbrk(word, "CS") && strcmp(word, "-S"));
}

/* Take what @word, behind the interpreter, may name: a script of its own, or, as for env, a
 * program. */
static void run_files_take_line_word(struct run_files *f, const char *word)
{
	if (run_files_is_opaque(word))
		(void)run_files_refuse(f, "what the first line of a script runs is not known");
	else if (!run_files_take_word(f, word, RUN_FILES_SCRIPT) && !strchr(word, '/'))
		(void)run_files_search(f, word, RUN_FILES_WORD);
}

/* @line: what is behind #!, and changed here. One interpreter may be interpreted by the next: each
 * file is taken once, and FILES_MAX bounds the depth. The kernel passes all words behind the
 * interpreter as one, which only env -S splits. */
static void run_files_take_interpreter(struct run_files *f, char *line)
{
	size_t len = strcspn(line, "\n");
	char *word, *rest = NULL;

	if (!line[len] && len == HEAD_SIZE - 1 - strlen("#!"))
		(void)run_files_refuse(f, "the first line of a script is too long");
	line[len] = '\0';
	word = strtok_r(line, " \t", &rest);
	if (!word || f->lacks)
		return;
	(void)run_files_take_name(f, word, RUN_FILES_SCRIPT);
	rest += strspn(rest, " \t");
	word = strtok_r(NULL, " \t", &rest);
	if (word && strcmp(word, "-S") && rest[strspn(rest, " \t")])
		(void)run_files_refuse(f, "what the first line of a script runs is not known");
	for (; word && !f->lacks; word = strtok_r(NULL, " \t", &rest))
		run_files_take_line_word(f, word);
}

/* ---- one command ---- */

/* Take the file of @module if it lies where python looks first, in the working directory. */
static bool run_files_take_module(struct run_files *f, const char *module)
{
	AUTO_FREE char *name = mem_zalloc(strlen(module) + sizeof("/__main__.py"));
	size_t len = strlen(module);
	bool taken;

	for (size_t i = 0; i < len; i++)
		name[i] = module[i] == '.' ? '/' : module[i];
	strcpy(name + len, ".py");
	taken = run_files_take_name(f, name, RUN_FILES_SCRIPT);
	strcpy(name + len, "/__main__.py");
	return run_files_take_name(f, name, RUN_FILES_SCRIPT) || taken;
}

/* Does the shell @run read files of its HOME at its start? */
static bool run_files_reads_home(const struct run_files *f, const struct blocklist_run *run)
{
	return list_has(" csh fish tcsh zsh ", run->program.s, run->program.len) ||
	       run_command_has_option(run, " -i -l --login ", "") ||
	       (f->has_tty && !run_command_has_operand(run));
}

/* S_IFREG, S_IFDIR ...; 0: nothing is there. */
static mode_t run_files_type(struct run_files *f, const char *name)
{
	struct stat st;
	bool found = run_files_stat(f, f->there, name, &st) ||
		     run_files_stat(f, f->here, name, &st);

	return found ? st.st_mode & S_IFMT : 0;
}

/* Does the interpreter @c run a file of a directory, as python and node do? Where the script is
 * not known, an operand may be it; behind an option a directory may be one to search. */
static bool run_files_runs_directory(struct run_files *f, const struct run_command *c)
{
	const struct run_script *script = &c->script;
	const struct blocklist_run *run = c->run;
	bool named = false;

	if (script->from == RUN_SCRIPT_FILE)
		return run_files_type(f, run->words[script->at].text.s) == S_IFDIR;
	for (size_t i = 1; script->from == RUN_SCRIPT_UNKNOWN && i < run->count; i++) {
		mode_t type = run_files_type(f, run->words[i].text.s);

		if (type && type != S_IFDIR)
			return false;
		if (type && run_command_is_operand(run, i))
			return true;
		named |= type != 0;
	}
	return named;
}

/* Does the interpreter @c find a file by less than its name, as `node -r ./a` finds a.js, or in
 * another directory? */
static bool run_files_finds_other(struct run_files *f, const struct run_command *c)
{
	const struct run_script *script = &c->script;
	const struct blocklist_run *run = c->run;
	size_t end = script->from == RUN_SCRIPT_FILE ? script->at : run->count;

	if (!c->program->load)
		return false;
	for (size_t i = 1; i < end; i++) {
		const char *name = run_command_loaded(c, i);

		if (name && (strchr("./", *name) || !c->program->has_modules) &&
		    run_files_type(f, name) != S_IFREG)
			return true;
	}
	if (c->program->elsewhere)
		return run_command_has_option(run, c->program->elsewhere, "EFIKTWeirx");
	return script->from == RUN_SCRIPT_FILE &&
	       run_files_type(f, run->words[script->at].text.s) != S_IFREG;
}

/* Take the module that the interpreter @c would run, and refuse what else it would run besides the
 * files that it names. Returns whether one was taken. */
static bool run_files_take_unnamed(struct run_files *f, const struct run_command *c)
{
	const struct run_script *script = &c->script;

	if (c->as->kind == WRAPPER_SHELL && f->sets_home && run_files_reads_home(f, c->run))
		(void)run_files_refuse(f, "a shell reads files of a HOME that is not its own");
	if (script->from == RUN_SCRIPT_UNKNOWN && script->has_modules)
		(void)run_files_refuse(f, "an option before its script is not known");
	if (script->from == RUN_SCRIPT_MODULE)
		return run_files_take_module(f, script->module);
	if (c->as->kind == WRAPPER_CODE && run_files_runs_directory(f, c))
		(void)run_files_refuse(f, "it runs a directory");
	if (run_files_finds_other(f, c))
		(void)run_files_refuse(f, "it may find another file than one of that name");
	return false;
}

/* Is the standard input of @run a text that is known, and from no file, which may be another by
 * then? */
static bool run_files_knows_input(const struct run_files *f, const struct blocklist_run *run)
{
	bool here = false;

	for (size_t i = 0; i < run->redirect_count; i++) {
		const struct shell_redirect *r = &run->redirects[i];

		if (r->op == SHELL_HERE || r->op == SHELL_STRING)
			here |= r->fd <= 0;
		else if (r->fd == 0 || r->op == SHELL_FROM || r->op == SHELL_BOTH)
			here = false;
	}
	return run->input && shell_word_constant(run->input) && (here || !f->reads_file);
}

static bool run_files_is_null(const struct shell_word *file)
{
	const char *name = shell_word_constant(file);

	return name && !strcmp(name, "/dev/null");
}

static bool run_files_reads_file(const struct blocklist_run *run)
{
	for (size_t i = 0; i < run->redirect_count; i++) {
		const struct shell_redirect *r = &run->redirects[i];

		if ((r->op == SHELL_FROM || r->op == SHELL_BOTH) && !run_files_is_null(&r->target))
			return true;
	}
	return false;
}

/* Note whether what is not known feeds @c, and what it may pass that on to: the commands of a
 * group, a function or a nested text; behind exec all. */
static void run_files_note_input(struct run_files *f, const struct run_command *c)
{
	const struct blocklist_run *run = c->run;
	bool empty = run->input_file && run_files_is_null(run->input_file);
	bool reads = run_files_reads_file(run), fed;

	f->reads_file |= reads;
	fed = reads || (run->is_fed && !empty && !run_files_knows_input(f, run));
	f->is_fed = f->feeds || fed;
	f->feeds |= fed && (!run->count || run->is_function || c->as);
	if (fed && f->runs_input && run->count && !strcmp(run->program.s, "exec")) /* in a loop */
		(void)run_files_refuse(f, FED);
}

/* Refuse @c if it may run a standard input that is not known. */
static void run_files_check_input(struct run_files *f, const struct run_command *c)
{
	if (run_files_knows_input(f, c->run) ||
	    !(run_command_runs_input(c) || (f->is_fed && run_command_passes_input(c))))
		return;
	f->runs_input = true;
	if (f->is_fed)
		(void)run_files_refuse(f, FED);
}

static void run_files_take_words(struct run_files *f, const struct run_command *c)
{
	const struct blocklist_run *run = c->run;
	bool taken = c->interprets && run_files_take_unnamed(f, c);
	bool scripted = c->interprets || c->has_script || f->sourced || run_command_runs_words(c);
	enum run_files_role role = scripted ? RUN_FILES_SCRIPT : RUN_FILES_WORD;
	bool searches = f->sourced || (c->as && c->as->kind == WRAPPER_SHELL) ||
			(c->interprets && run_command_has_option(run, " -S ", "")); /* perl, ruby */
	bool is_sed = list_has(" gsed sed ", run->program.s, run->program.len) &&
		      !run_command_has_option(run, " -l --line-length ", "");

	for (size_t i = run->program_kind ? 1 : 0; i < run->count && !f->lacks; i++) {
		const char *text = shell_word_constant(&run->words[i]);

		if (text)
			taken |= run_files_take_word(f, text, role);
		else if (c->as || scripted ||
			 (c->program->texts && !(is_sed && run_command_is_later_file(run, i))))
			(void)run_files_refuse(f, "a script's name is not known before it runs");
		if (text && searches && !strchr(text, '/'))
			taken |= run_files_search(f, text, role);
		searches &= f->sourced || !taken || !run_command_is_operand(run, i);
	}
	run_files_check_input(f, c);
	if (!taken && run_command_has_operand(run) &&
	    (c->has_script || f->sourced || (c->interprets && c->script.from != RUN_SCRIPT_TEXT)))
		f->own |= OWN_MISSING;
}

/* ---- what changes on the way ---- */

/* Does @c only start another command? */
static bool run_files_starts(const struct run_files *f, const struct run_command *c)
{
	return c->as && c->program->starts && c->run->count > 1 &&
	       !(f->has_tty && !strcmp(c->run->program.s, "nohup")) &&
	       !run_command_has_option(c->run, c->program->starts, "");
}

/* Is @file one of the list, by whatever name? */
static bool run_files_is_listed(const struct run_files *f, const struct stat *file)
{
	struct stat st;
	json_t *one;
	size_t i;

	json_array_foreach(f->list, i, one)
		if (!stat(json_string_value(json_array_get(one, 0)), &st) &&
		    st.st_dev == file->st_dev && st.st_ino == file->st_ino)
			return true;
	return false;
}

/* May a redirection to @name write a file that is run? NULL: its name is not known. */
static bool run_files_is_rewritten(struct run_files *f, const char *name)
{
	struct stat st;

	return !name || f->own & OWN_MISSING ||
	       (run_files_stat(f, f->here, name, &st) && run_files_is_listed(f, &st)) ||
	       (run_files_stat(f, f->there, name, &st) && run_files_is_listed(f, &st));
}

/* May @run write a file that it runs, while it runs it? */
static bool run_files_writes_own(struct run_files *f, const struct blocklist_run *run)
{
	for (size_t i = 0; f->own && run->writes && i < run->redirect_count; i++) {
		const struct shell_redirect *r = &run->redirects[i];

		if (altered_writes(r) && run_files_is_rewritten(f, shell_word_constant(&r->target)))
			return true;
	}
	return false;
}

/* A chmod makes files programs; the names that were looked for before may find them. */
static void run_files_note_chmod(struct run_files *f, const struct blocklist_run *run)
{
	if (strcmp(run->program.s, "chmod"))
		return;
	f->has_chmod = true;
	json_object_clear(f->searched);
	if (f->is_apart)
		(void)run_files_refuse(f, "a command in it may make a file a program");
}

/* Note what @c may change, and refuse if it runs a file that may have changed by then.
 * @is_own: it is such a file that decides what it does. */
static void run_files_follow_changes(struct run_files *f, const struct run_command *c, bool is_own)
{
	const struct blocklist_run *run = c->run;
	bool harmless = !is_own && (run_files_starts(f, c) || run_command_is_harmless(c));
	bool changes = !is_own && !harmless;

	f->is_apart |= run->is_apart || run->is_loop || run->is_inner;
	if (run->count)
		run_files_note_chmod(f, run);
	if ((f->own && (f->is_changed || (f->ran_own && f->own != f->ran_own))) ||
	    (changes && (f->is_exposed || (run->is_inner && f->ran_own))) ||
	    run_files_writes_own(f, run))
		(void)run_files_refuse(f, "a command in it may change a file that it runs");
	f->is_changed |= changes;
	f->ran_own |= harmless ? 0 : f->own;
	f->is_exposed |= f->own && f->is_apart;
}

/* Does @text begin with the name of a variable by which names lead elsewhere, or files are run that
 * no word names? */
static bool run_files_begins_path(const char *text)
{
	size_t len = 0;

	while (str_is_name_char(text[len]))
		len++;
	return strchr("+=[%", text[len]) &&
	       shell_names_files(text, len, text[len] == '=' ? text + len + 1 : NULL);
}

/* Does @text name such a variable: as it stands, behind each =, behind the letter of a short option
 * that begins at one of these? */
static bool run_files_names_path(const char *text)
{
	bool here = true, option = false; /* a name may begin here; behind the next letter */

	for (const char *s = text; *s; s++) {
		bool dash = here && *s == '-', behind_letter = option;

		if (here && run_files_begins_path(s))
			return true;
		option = dash;
		here = *s == '=' || behind_letter;
	}
	return false;
}

/* Is the name of the variable that @word sets not known? */
static bool run_files_sets_unknown(const struct shell_word *word)
{
	for (size_t i = 0; i < word->text.len && word->text.s[i] != '='; i++)
		if (word->kind[i] != SHELL_LITERAL)
			return true;
	return false;
}

/* By the shell, or by what its commands are told: env, read, printf -v, declare -n. */
static bool run_files_changes_path(const struct blocklist_run *run)
{
	bool sets = list_has(" declare export local readonly typeset ", run->program.s,
			     run->program.len);

	for (size_t i = 1; i < run->count; i++)
		if (run_files_names_path(run->words[i].text.s) ||
		    (sets && run_files_sets_unknown(&run->words[i])))
			return true;
	return run->sets_path;
}

/* Does @text name a variable by which shells find the files of a HOME? Others end in HOME, too. */
static bool run_files_names_home(const char *text)
{
	const char *at = text;

	if (strstr(text, "ZDOTDIR") || strstr(text, "XDG_CONFIG_HOME"))
		return true;
	while ((at = strstr(at, "HOME")) && at > text && at[-1] == '_')
		at++;
	return at;
}

/* Note a HOME that the shell sets, or that its commands are told: shells may read it later. */
static void run_files_note_home(struct run_files *f, const struct blocklist_run *run)
{
	f->sets_home |= run->sets_home;
	for (size_t i = 1; i < run->count; i++)
		f->sets_home |= run_files_names_home(run->words[i].text.s);
}

/* Is @run a plain `cd DIRECTORY` that is done once at most, and so what the text begins with? */
static bool run_files_is_plain_cd(const struct blocklist_run *run)
{
	const char *to = run->count == 2 ? shell_word_constant(&run->words[1]) : NULL;

	return to && to[0] != '-' && run->is_direct && !run->is_idle && !run->is_loop;
}

static bool run_files_moves(const char *program)
{
	return list_has(" cd chdir popd pushd ", program, strlen(program));
}

/* Note where @run is run: where the text begins, or where the cd at its beginning leads. Which
 * commands a later one would concern depends on what runs and what fails. */
static bool run_files_follow(struct run_files *f, const struct blocklist_run *run,
			     const char *program)
{
	char directory[PATH_MAX];
	bool known = path_dir_text(run->directory, directory, sizeof(directory));

	if (list_has(" arch-chroot chroot proot ", run->program.s, run->program.len))
		return run_files_refuse(f, "a command in it has another root directory");
	if (run_files_moves(program) && (f->here || !run_files_is_plain_cd(run)))
		return run_files_refuse(f, "its text changes the directory, other than by one cd "
					   "at its beginning");
	if (!known)
		return run_files_refuse(f, "its directory is not known before it runs");
	if (!f->here) {
		f->here = mem_strdup(directory);
		f->moves = run_files_moves(program);
	}
	if (!f->there && f->moves && strcmp(directory, f->here))
		f->there = mem_strdup(directory);
	if (strcmp(directory, f->here) && (!f->there || strcmp(directory, f->there)))
		return run_files_refuse(f, "a command in it has another directory");
	return true;
}

/* Take the files of @c, a command of a known @program. Returns whether one that commands may write
 * decides what it does. */
static bool run_files_take_all(struct run_files *f, const struct run_command *c,
			       const char *program)
{
	bool is_own;

	f->sourced = !strcmp(program, "source") || !strcmp(program, ".");
	if (!strchr(program, '/'))
		run_files_search_once(f, c->run, program);
	else if (!run_files_take_name(f, program, RUN_FILES_SCRIPT))
		f->own |= OWN_MISSING;
	is_own = f->own;
	run_files_take_words(f, c);
	return is_own || (f->own && (f->sourced || c->script.from == RUN_SCRIPT_FILE ||
				     c->script.from == RUN_SCRIPT_MODULE));
}

static bool run_files_has_command(const struct shell_word *word)
{
	return strstr(word->text.s, "$(") || strchr(word->text.s, '`');
}

static bool run_files_assigns_command(const struct shell_assign *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (run_files_has_command(&list[i].value))
			return true;
	return false;
}

/* May a command of the shell run what stands in its words, as the index of an array is, or the
 * library of enable -f, or arithmetic what a variable gets? */
static bool run_files_hides_command(const struct blocklist_run *run, const char *program)
{
	if (run_files_assigns_command(run->assigns, run->assign_count) ||
	    run_files_assigns_command(run->more_assigns, run->more_assign_count))
		return true;
	if (!run->is_test && !(run->is_direct && shell_words_is_builtin(program)))
		return false;
	if (!strcmp(program, "enable"))
		return true;
	for (size_t i = 1; i < run->count && strcmp(program, "echo"); i++)
		if (run_files_has_command(&run->words[i]))
			return true;
	return false;
}

void run_files_look(struct run_files *f, const struct blocklist_run *run)
{
	const char *program = run->count ? shell_word_constant(&run->words[0]) : "";
	struct run_command c;
	bool is_own = false;

	if (f->lacks)
		return;
	run_files_note_home(f, run);
	if (f->sourced)
		(void)run_files_refuse(f, "what a sourced file changes is not known");
	else if (run_files_changes_path(run))
		(void)run_files_refuse(f, "its text sets a variable that leads to files, "
				       "such as PATH or BASH_ENV, or that of a redirection");
	else if (!program)
		(void)run_files_refuse(f, "a program is not known before it runs");
	else if (run_files_hides_command(run, program))
		(void)run_files_refuse(f, "a word of it may be run as a command");
	if (f->lacks || !run_files_follow(f, run, program))
		return;
	f->own = 0;
	c = run_command_read(run);
	run_files_note_input(f, &c);
	if (*program && !run->is_test)
		is_own = run_files_take_all(f, &c, program);
	run_files_follow_changes(f, &c, is_own);
}

void run_files_release(struct run_files *f)
{
	json_decref(f->list);
	json_decref(f->scripts);
	json_decref(f->searched);
	free(f->here);
	free(f->there);
	*f = (struct run_files){ .path = NULL };
}
