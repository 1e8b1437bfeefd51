#include "policy/run_script.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/command/list.h"
#include "blocklist/command/names.h"

/* The options of an interpreter before its script: letters, and long ones. NULL: none. */
struct run_script_row {
	const char *programs;
	const char *text;     /* their value is the program; of shells the first operand is */
	const char *module;   /* their value names the program among the modules */
	const char *plain;    /* they have no value */
	const char *attached; /* a value is in the same word only */
	const char *values;   /* the value is the rest of the word, else the next word */
	const char *input;    /* standard input is read for commands, too */
	const char *inert;    /* nothing is run */
	const char *long_text, *long_plain, *long_values;
};

static const struct run_script_row run_script_rows[] = {
	{ .programs = " sh bash dash ash ksh ksh93 mksh pdksh lksh zsh rbash rksh yash posh "
		      "bash-static zsh-static ",
	  .text = "c", .plain = "aefhiklmnpruvxBCEHP", .values = "oO", .input = "s",
	  .long_plain = " --login --norc --noprofile --posix --verbose --restricted --noediting ",
	  .long_values = " --rcfile --init-file " },
	{ .programs = " csh tcsh fish elvish nu xonsh osh ysh hush ", .text = "c" },
	{ .programs = " python pypy python2 python3 ipython ipython3 ",
	  .text = "c", .module = "m", .plain = "3bBdEIOPqRsStuvx", .values = "QWX", .input = "i",
	  .inert = "hV", .long_values = " --check-hash-based-pycs --jit " },
	{ .programs = " perl ",
	  .text = "eE", .plain = "acflnpsStTuUwWX0123456789", .attached = "iCDFmMx",
	  .values = "I", .input = "d", .inert = "hvV" },
	{ .programs = " ruby jruby ",
	  .text = "e", .plain = "acdlnpsSUvwy0123456789", .attached = "iFKTWx",
	  .values = "CEIrX", .inert = "h",
	  .long_plain = " --disable-gems --jit --verbose --yjit " },
	{ .programs = " node nodejs ",
	  .text = "ep", .plain = "c", .values = "Cr", .input = "i", .inert = "hv",
	  .long_text = " --eval --print ",
	  .long_plain = " --enable-source-maps --experimental-strip-types "
			"--experimental-vm-modules --expose-gc --inspect --inspect-brk "
			"--no-deprecation --no-warnings --openssl-legacy-provider "
			"--trace-deprecation --trace-warnings --watch ",
	  .long_values = " --conditions --env-file --experimental-loader --import --input-type "
			 "--loader --require --title " },
	{ .programs = " php ",
	  .text = "BERr", .plain = "eCHlnqsw", .values = "cdfFStz", .input = "a", .inert = "hv",
	  .long_text = " --run " },
	{ .programs = " lua luajit texlua ",
	  .text = "e", .plain = "EvW", .values = "l", .input = "i" },
	{ .programs = " tclsh expect " },
	{ .programs = " elixir groovy julia racket raku Rscript ts-node tsx ", .text = "e" },
};

struct run_script_walk {
	const struct run_script_row *row;
	const struct shell_word *words;
	size_t count, at;
	bool is_shell, has_text;
	struct run_script *out;
};

static bool run_script_has(const char *letters, char letter)
{
	return letters && strchr(letters, letter);
}

static const struct run_script_row *run_script_row(const struct blocklist_run *run)
{
	const struct blocklist_name *name = name_lookup(run->program.s, run->program.len);

	for (size_t i = 0; name && i < COUNT_OF(run_script_rows); i++)
		if (list_has(run_script_rows[i].programs, name->name, strlen(name->name)))
			return &run_script_rows[i];
	return NULL;
}

/* The value of an option: what stands behind it in its word, else the next word, or NULL. */
static const char *run_script_value(struct run_script_walk *w, const char *rest)
{
	if (*rest)
		return rest;
	return w->at + 1 < w->count ? w->words[++w->at].text.s : NULL;
}

/* The program is @from, and no later word counts. Returns true. */
static bool run_script_end(struct run_script_walk *w, enum run_script_from from)
{
	w->out->from = from;
	return true;
}

/* Note @value as the program. Without one, or with one that looks like an option, as `node -p` may
 * have none, it is not certain. True: it is the end, as python reads no more. */
static bool run_script_take_text(struct run_script_walk *w, const char *value)
{
	if (!value || *value == '-')
		return run_script_end(w, RUN_SCRIPT_UNKNOWN);
	w->has_text = true;
	return w->row->module && run_script_end(w, RUN_SCRIPT_TEXT);
}

/* A letter that is not a plain one, before @rest. True: it is the end. */
static bool run_script_read_letter(struct run_script_walk *w, char letter, const char *rest)
{
	const struct run_script_row *row = w->row;

	if (run_script_has(row->inert, letter))
		return run_script_end(w, RUN_SCRIPT_TEXT);
	if (run_script_has(row->attached, letter))
		return false;
	if (run_script_has(row->values, letter) && !(w->is_shell && *rest)) {
		(void)run_script_value(w, rest);
		return false;
	}
	if (run_script_has(row->module, letter)) {
		w->out->module = run_script_value(w, rest);
		return run_script_end(w, w->out->module ? RUN_SCRIPT_MODULE : RUN_SCRIPT_UNKNOWN);
	}
	if (!w->is_shell && run_script_has(row->text, letter))
		return run_script_take_text(w, run_script_value(w, rest));
	return run_script_end(w, RUN_SCRIPT_UNKNOWN);
}

/* A cluster. True: it is the end. */
static bool run_script_read_cluster(struct run_script_walk *w, const char *letters)
{
	for (; *letters; letters++) {
		bool shell_text = w->is_shell && run_script_has(w->row->text, *letters);
		bool input = run_script_has(w->row->input, *letters);

		w->has_text |= shell_text;
		w->out->reads_input |= input;
		if (!shell_text && !input && !run_script_has(w->row->plain, *letters))
			return run_script_read_letter(w, *letters, letters + 1);
	}
	return false;
}

/* A long option, or --. True: it is the end. */
static bool run_script_read_long(struct run_script_walk *w, const char *word)
{
	size_t len = strcspn(word, "=");
	const char *value = word[len] ? word + len + 1 : "";

	if (list_has(" --help --version ", word, strlen(word)))
		return run_script_end(w, RUN_SCRIPT_TEXT);
	if (w->is_shell && !w->has_text && !word[2] && w->at + 1 < w->count &&
	    !strchr("-+", *w->words[w->at + 1].text.s)) {
		w->at++;
		return run_script_end(w, RUN_SCRIPT_FILE);
	}
	if (list_has(w->row->long_text, word, len))
		return run_script_take_text(w, run_script_value(w, value));
	if (list_has(w->row->long_values, word, len))
		(void)run_script_value(w, value);
	else if (!word[len] && !list_has(w->row->long_plain, word, len))
		return run_script_end(w, w->has_text && !word[2] ? RUN_SCRIPT_TEXT
								 : RUN_SCRIPT_UNKNOWN);
	return false;
}

static void run_script_read(struct run_script_walk *w)
{
	for (; w->at < w->count; w->at++) {
		const char *word = w->words[w->at].text.s;
		bool dash = !strcmp(word, "-");

		w->out->reads_input |= dash; /* lua does so behind a text, too */
		if (dash || !*word || !strchr(w->is_shell ? "-+" : "-", *word)) {
			w->out->from = w->has_text ? RUN_SCRIPT_TEXT
				       : dash ? RUN_SCRIPT_INPUT : RUN_SCRIPT_FILE;
			return;
		}
		if (!strncmp(word, "--", 2) ? run_script_read_long(w, word)
					    : run_script_read_cluster(w, word + 1))
			return;
	}
	w->out->from = !w->has_text ? RUN_SCRIPT_INPUT
		       : w->is_shell ? RUN_SCRIPT_UNKNOWN : RUN_SCRIPT_TEXT;
}

void run_script_find(const struct blocklist_run *run, const struct blocklist_wrapper *as,
		     struct run_script *out)
{
	struct run_script_walk w = { .row = run_script_row(run), .words = run->words,
				     .count = run->count, .at = 1,
				     .is_shell = as->kind == WRAPPER_SHELL, .out = out };

	*out = (struct run_script){ .from = RUN_SCRIPT_UNKNOWN,
				    .has_modules = w.row && w.row->module };
	if (!strtab_get(as->text))
		out->from = RUN_SCRIPT_TEXT;
	else if (w.row)
		run_script_read(&w);
	out->at = w.at;
	/* python -m code does, and other modules that are not scripts of ours */
	out->reads_input |= out->from != RUN_SCRIPT_TEXT && out->from != RUN_SCRIPT_FILE;
}
