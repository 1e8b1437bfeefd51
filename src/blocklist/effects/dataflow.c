#include "blocklist/effects/dataflow.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "blocklist/command/args.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/find.h"
#include "blocklist/effects/listing.h"

/* Words looked at to find the program behind wrappers like sudo. */
#define WRAPPERS_MAX 16
/* Stages of a pipeline that flows and file names are followed through. */
#define STAGES_MAX 16
/* Bytes searched for a letter; longer text counts as having one. */
#define FILTERED_MAX 64

/* The kind that @name has with some of its words, as the table says. */
static unsigned dataflow_kind_by_words(const struct blocklist_name *name,
				       const struct shell_command *c)
{
	if (name->flow_words == BLOCKLIST_NONE)
		return 0;
	const char *words = strtab_get(blocklist_flow_words[name->flow_words]);

	for (size_t i = 1; i < c->word_count; i++)
		if (args_word_fits(&c->words[i], words))
			return name->flow_if;
	return 0;
}

/* Does word @i stand before the program of @wrapper: an option, the value of one, A=b of env, the
 * 5 of timeout? *@skip: so many operands of the wrapper still stand there. */
static bool dataflow_is_before_program(const struct shell_command *c, size_t i,
				       const struct blocklist_wrapper *wrapper, unsigned *skip)
{
	const struct shell_word *word = &c->words[i];
	const char *values = strtab_get(wrapper->values);

	if (word->text.s[0] == '-' || (values && word_in(&c->words[i - 1], values)) ||
	    (wrapper->assigns && memchr(word->text.s, '=', word->text.len)))
		return true;
	return *skip && (*skip)--;
}

/* Does the text of sh -c, a word behind word @i, name a program that fetches? */
static unsigned dataflow_kind_of_text(const struct shell_command *c, size_t i)
{
	static const char ends[] = " \t\n;|&(){}`";
	const struct blocklist_name *name;
	const char *s;

	while (++i < c->word_count && c->words[i].text.s[0] == '-' &&
	       !(c->words[i].text.s[1] != '-' && strchr(c->words[i].text.s, 'c')))
		;
	if (i + 1 >= c->word_count || c->words[i].text.s[0] != '-')
		return 0;
	s = c->words[i + 1].text.s;
	for (size_t len; *s; s += len) {
		s += strspn(s, ends);
		len = strcspn(s, ends);
		name = name_lookup(s, len);
		if (name && name->flow & FLOW_KIND_FETCH)
			return FLOW_KIND_FETCH;
	}
	return 0;
}

/*
 * enum blocklist_flow_kind of the program behind wrappers like sudo, which is word *@program.
 * @words: also the kinds that its words give it. xargs keeps what it reads, and adds what its
 * program fetches.
 */
static unsigned dataflow_kind_of(const struct shell_command *c, bool words, size_t *program)
{
	const struct blocklist_wrapper *wrapper = NULL;
	unsigned kind = 0, kept = 0, skip = 0;

	*program = 0;
	for (size_t i = 0; i < c->word_count && i < WRAPPERS_MAX; i++) {
		const struct blocklist_name *name;

		if (wrapper && dataflow_is_before_program(c, i, wrapper, &skip))
			continue;
		name = name_of(&c->words[i]);
		wrapper = name ? name_wrapper(name) : NULL;
		if (name && (name->flow || name->flow_if)) {
			kind = name->flow | (words ? dataflow_kind_by_words(name, c) : 0);
			if (kept)
				return kept | (kind & FLOW_KIND_FETCH);
			*program = i;
			if (!wrapper || !wrapper->feeds)
				return kind;
			kept = kind;
		}
		if (wrapper && wrapper->kind == WRAPPER_SHELL)
			return kept | dataflow_kind_of_text(c, i);
		if (!wrapper || (wrapper->kind != WRAPPER_RUN && !wrapper->multicall))
			return kept;
		skip = wrapper->skip;
	}
	return kept;
}

static bool dataflow_has_word(const struct shell_command *c, const char *list)
{
	return words_have(c->words, c->word_count, list);
}

static bool dataflow_has_letter(const struct shell_command *c, const char *letters)
{
	return words_have_letter(c->words, c->word_count, letters);
}

static bool dataflow_decodes(const struct shell_command *c, unsigned kind)
{
	if (kind & FLOW_KIND_DECODE_D)
		return dataflow_has_letter(c, "dD") ||
		       dataflow_has_word(c, " --decode --decrypt --decompress ");
	if (kind & FLOW_KIND_DECODE_R)
		return dataflow_has_letter(c, "r");
	return kind & FLOW_KIND_DECODE;
}

static bool dataflow_holds_decoder(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (strstr(c->words[i].text.s, "b64decode") ||
		    strstr(c->words[i].text.s, "decode_base64") ||
		    strstr(c->words[i].text.s, "fromhex"))
			return true;
	return false;
}

/* Does program text among its words read standard input? */
static bool dataflow_reads_input(const struct shell_command *c)
{
	static const char *const asks[] = { "stdin", "STDIN", "input", "<>", "gets", "ARGF", "$_",
					    "readline", "fd 0", "fileinput" };

	for (size_t i = 1; i < c->word_count; i++)
		for (size_t k = 0; k < COUNT_OF(asks); k++)
			if (strstr(c->words[i].text.s, asks[k]))
				return true;
	return false;
}

/* awk 'BEGIN{...}' without another block reads no input. */
static bool dataflow_is_begin_only(const char *program)
{
	long level = 0;

	for (; *program && (level != 1 || *program != '}'); program++)
		level += (*program == '{') - (*program == '}');
	return *program && !program[1 + strspn(program + 1, " \t\n;")];
}

/* PYTHON=$(python3 -c 'import sys; print(sys.executable)'), NODE=$(node -p process.execPath): the
 * whole program, since what stands before it may assign the name. */
static bool dataflow_prints_itself(const struct shell_command *c)
{
	static const char *const programs[] = { "print(sys.executable)", "process.execPath",
						"console.log(process.execPath)" };
	static const char import[] = "import sys";
	const char *code = c->words[c->word_count - 1].text.s;

	if (c->word_count != 3)
		return false;
	if (strncmp(code, import, strlen(import)) == 0)
		code += strlen(import) + strspn(code + strlen(import), "; \t\n");
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (strcmp(code, programs[i]) == 0)
			return true;
	return false;
}

/* An interpreter makes text out of its program alone: -c or -e, or BEGIN of awk, no input. */
static bool dataflow_computes(const struct shell_command *c, unsigned kind)
{
	if ((kind & FLOW_KIND_PICK) && c->word_count == 2 &&
	    strncmp(c->words[1].text.s, "BEGIN", 5) == 0 &&
	    (c->piped_from == SHELL_NONE || dataflow_is_begin_only(c->words[1].text.s)))
		return strstr(c->words[0].text.s, "awk") != NULL;
	return (kind & FLOW_KIND_COMPUTE) && c->word_count > 2 && !dataflow_prints_itself(c) &&
	       (c->piped_from == SHELL_NONE || dataflow_holds_decoder(c) ||
		!dataflow_reads_input(c)) &&
	       dataflow_has_word(c, " -c -e -E -r -p --print -pe ") && !dataflow_has_letter(c, "n");
}

static bool dataflow_opens_socket(const struct shell_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const char *s = c->redirects[i].target.text.s;

		if (strncmp(s, "/dev/tcp/", 9) == 0 || strncmp(s, "/dev/udp/", 9) == 0)
			return true;
	}
	return false;
}

/* exec 5<>/dev/tcp/HOST/PORT */
static void dataflow_note_socket(struct dataflow *f, const struct shell_command *c)
{
	if (!dataflow_opens_socket(c))
		return;
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_BOTH && c->redirects[i].fd > 2)
			f->sockets |= 1u << (c->redirects[i].fd & 31);
}

/* sh <&5 */
static bool dataflow_reads_socket(const struct dataflow *f, const struct shell_command *c)
{
	for (size_t i = 0; f->sockets && i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		long fd = strtol(r->target.text.s, NULL, 10);

		if (r->op == SHELL_DUP && r->fd <= 0 && fd > 2 &&
		    (f->sockets & (1u << (fd & 31))))
			return true;
	}
	return false;
}

/* Has @input a known letter? A number is not a command. */
static bool dataflow_has_text(const struct shell_word *input)
{
	for (size_t i = 0; i < input->text.len && i < FILTERED_MAX; i++) {
		char c = input->text.s[i];

		if (input->kind[i] == SHELL_LITERAL &&
		    ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return true;
	}
	return input->text.len > FILTERED_MAX;
}

/* sed 's/x//' <<< 'xhalt', also after echo; a list of file names is no such text. */
static bool dataflow_filters_text(const struct shell_command *c, unsigned in)
{
	return c->input && (c->piped_from == SHELL_NONE || (in & FLOW_PRINTED)) &&
	       dataflow_has_text(c->input);
}

static unsigned dataflow_children_of(const struct dataflow *f, uint32_t index)
{
	return f->children ? f->children[index] : 0;
}

/* The flow that the name "$(curl)" of an unknown part implies. */
static unsigned dataflow_of_name(const char *name)
{
	size_t len = strlen(name);
	const struct blocklist_name *program;

	if (len < 4 || name[0] != '$' || name[1] != '(')
		return 0;
	program = name_lookup(name + 2, len - 3);
	if (!program)
		return 0;
	if (program->flow & FLOW_KIND_FETCH)
		return FLOW_REMOTE;
	return strncmp(name, "$(base", 6) == 0 || (program->flow & FLOW_KIND_DECODE_R)
		       ? FLOW_DECODED : 0;
}

/* The flow of what the unknown parts of @word are named after. */
static unsigned dataflow_of_names(const struct dataflow *f, const struct shell_word *word)
{
	for (uint32_t i = 0; i < word->unknown_count; i++)
		if (dataflow_of_name(word->unknowns[i].name))
			return dataflow_of_name(word->unknowns[i].name);
	for (uint32_t i = 0; i < word->unknown_count; i++)
		for (size_t k = 0; k < COUNT_OF(f->text_names) && f->text_names[k]; k++)
			if (strcmp(f->text_names[k], word->unknowns[i].name) == 0)
				return f->text_flows[k];
	return 0;
}

static unsigned dataflow_of_word_in(const struct dataflow *f, uint32_t index,
				    const struct shell_word *word)
{
	unsigned flow = dataflow_of_names(f, word);

	return flow || !word_has_unknown(word) ? flow : dataflow_children_of(f, index);
}

/* echo "$x", printf '%s' "$x": the flow in what is printed first. */
static unsigned dataflow_of_printed(const struct dataflow *f, uint32_t index)
{
	const struct shell_command *c = &f->script->commands[index];
	size_t i = 1;

	if (!f->text_names[0] || name_in(&c->words[0], " cat "))
		return 0;
	while (i < c->word_count && (c->words[i].text.s[0] == '-' || c->words[i].text.s[0] == '%'))
		i++;
	if (i == c->word_count || !word_unknown_at(&c->words[i], 0))
		return 0;
	return dataflow_of_word_in(f, index, &c->words[i]) & FLOW_TEXTS;
}

/* Flows on the output of @index. @first: the first pass, which adds what the command lists. */
static unsigned dataflow_out_of(const struct dataflow *f, uint32_t index, bool first)
{
	const struct shell_command *c = &f->script->commands[index];
	unsigned flow = 0, in = dataflow_input(f, index), kind = f->kinds[index];

	if (!kind)
		return in;
	if ((kind & FLOW_KIND_FETCH) ||
	    ((kind & FLOW_KIND_DECODE_D) && dataflow_has_word(c, " s_client "))) /* openssl */
		flow |= FLOW_REMOTE;
	if (dataflow_decodes(c, kind) || dataflow_computes(c, kind))
		flow |= FLOW_DECODED;
	if (first && (kind & FLOW_KIND_ALL)) {
		size_t program;

		dataflow_kind_of(c, false, &program);
		flow |= listing_of(c->words + program, c->word_count - program);
	}
	if (first && (kind & FLOW_KIND_SERVICE))
		flow |= FLOW_SERVICES;
	if ((kind & FLOW_KIND_PICK) && (in & FLOW_LISTS) && listing_picks(c))
		in &= ~(unsigned)FLOW_LISTS | FLOW_DISKS | FLOW_SERVICES; /* one is bad enough */
	if ((kind & FLOW_KIND_FILTER) && dataflow_filters_text(c, in))
		flow |= FLOW_FILTERED;
	/* echo $(...) passes the output of its substitution on. */
	if (kind & FLOW_KIND_PRINT)
		flow |= FLOW_PRINTED | f->children[index] | dataflow_of_printed(f, index);
	return flow | in;
}

static void dataflow_add_name(struct dataflow *f, const char *name, unsigned flow)
{
	for (size_t k = 0; *name && k < COUNT_OF(f->text_names); k++)
		if (!f->text_names[k]) {
			f->text_names[k] = name;
			f->text_flows[k] = (uint16_t)flow;
			return;
		}
}

/* Does a later command read the output of @index through a pipe? */
static bool dataflow_is_piped(const struct dataflow *f, uint32_t index)
{
	const struct shell_script *s = f->script;

	for (uint32_t i = index + 1; i < s->command_count && i < index + STAGES_MAX; i++)
		if (s->commands[i].piped_from == index)
			return true;
	return false;
}

/* Is the output of @index the value of a substitution around it, in one of @context? */
static bool dataflow_ends_substitution(const struct dataflow *f, uint32_t index, unsigned context)
{
	const struct shell_command *c = &f->script->commands[index];

	return c->word_count && (c->context & context) && !dataflow_is_piped(f, index);
}

/* The name that the parser gives the unknown output of @c. */
static const char *dataflow_output_name(const struct shell_command *c, struct shell_arena *arena)
{
	char name[SHELL_OUTPUT_NAME_SIZE];

	shell_output_name(c->words[0].text.s, name);
	return shell_copy(arena, name, strlen(name));
}

/* Does @program assign its input to the variables that its operands name? */
static bool dataflow_reads_names(const char *program)
{
	return program[0] == 'm' ? strcmp(program, "mapfile") == 0
				 : program[0] == 'r' && (strcmp(program, "read") == 0 ||
							 strcmp(program, "readarray") == 0);
}

static void dataflow_note_names(struct dataflow *f, uint32_t index, struct shell_arena *arena)
{
	const struct shell_command *c = &f->script->commands[index];
	unsigned flow = 0;

	if (!c->word_count && (f->children[index] & FLOW_TEXTS))
		for (size_t i = 0; i < c->assign_count; i++)
			dataflow_add_name(f, c->assigns[i].name, f->children[index] & FLOW_TEXTS);
	if ((f->out[index] & FLOW_TEXTS) &&
	    dataflow_ends_substitution(f, index, SHELL_IN_SUBSTITUTION | SHELL_IN_PROCESS))
		dataflow_add_name(f, dataflow_output_name(c, arena), f->out[index] & FLOW_TEXTS);
	/* curl | while read x */
	if (c->word_count > 1 && dataflow_reads_names(c->words[0].text.s))
		flow = dataflow_input(f, index) & (FLOW_REMOTE | FLOW_FILTERED);
	for (size_t i = 1; flow && i < c->word_count; i++)
		if (c->words[i].text.s[0] != '-')
			dataflow_add_name(f, c->words[i].text.s, flow);
}

static void dataflow_add_list(struct dataflow *f, const char *name, unsigned flow)
{
	size_t k = 0;

	while (k < COUNT_OF(f->list_names) && f->list_names[k] && strcmp(f->list_names[k], name))
		k++;
	if (k == COUNT_OF(f->list_names) || !*name)
		return;
	f->list_names[k] = name;
	f->list_flows[k] |= (uint16_t)flow;
}

/* Is @c a read into several variables? Then it is taken to select by them. */
static bool dataflow_reads_columns(const struct shell_command *c)
{
	return c->word_count > 2 && strcmp(c->words[0].text.s, "read") == 0 &&
	       shell_read_names(c->words, c->word_count) != c->word_count - 1;
}

/* Does a loop read <(...) with @index in it by columns: while read pid name; do ...? */
static bool dataflow_feeds_columns(const struct dataflow *f, uint32_t index)
{
	const struct shell_script *s = f->script;

	if (!(s->commands[index].context & SHELL_IN_PROCESS))
		return false;
	for (uint32_t i = index + 1; i < s->command_count && i < index + STAGES_MAX; i++)
		if (dataflow_reads_columns(&s->commands[i]))
			return true;
	return false;
}

/* Name the variable or substitution with a list: for x in $(ps), mapfile x < <(ps),
 * ps | while read x. */
static void dataflow_note_lists(struct dataflow *f, uint32_t index, struct shell_arena *arena)
{
	const struct shell_command *c = &f->script->commands[index];
	unsigned out = f->out[index] & FLOW_LISTS, in = dataflow_input(f, index) & FLOW_LISTS;

	if (out && dataflow_ends_substitution(f, index, SHELL_IN_SUBSTITUTION | SHELL_IN_PROCESS) &&
	    !dataflow_feeds_columns(f, index))
		dataflow_add_list(f, dataflow_output_name(c, arena), out);
	if (in && c->word_count > 1 && strcmp(c->words[0].text.s, "read") == 0 &&
	    !dataflow_reads_columns(c))
		dataflow_add_list(f, c->words[c->word_count - 1].text.s, in);
}

static bool dataflow_is_sink(const struct shell_word *w)
{
	for (uint32_t i = 0; i < w->unknown_count; i++)
		if (strcmp(w->unknowns[i].name, ">(") == 0)
			return true;
	return false;
}

/* Is a word or redirection of @c >(...)? */
static bool dataflow_has_sink(const struct shell_command *c)
{
	for (size_t i = 0; i < c->word_count; i++)
		if (dataflow_is_sink(&c->words[i]))
			return true;
	for (size_t i = 0; i < c->redirect_count; i++)
		if (dataflow_is_sink(&c->redirects[i].target))
			return true;
	return false;
}

/* Does the output of any command reach another one, by a pipe or a substitution? */
static bool dataflow_is_connected(const struct shell_script *script)
{
	for (uint32_t i = 0; i < script->command_count; i++)
		if (script->commands[i].piped_from != SHELL_NONE ||
		    script->commands[i].parent != SHELL_NONE ||
		    (script->commands[i].context & SHELL_IN_SUBSTITUTION))
			return true;
	return false;
}

/* Compute the flows on all outputs. Returns if one reaches a command before it. */
static bool dataflow_pass(struct dataflow *f, bool first)
{
	const struct shell_script *script = f->script;
	bool back = false;

	for (uint32_t i = 0; i < script->command_count; i++) {
		const struct shell_command *c = &script->commands[i];

		f->out[i] |= (uint16_t)dataflow_out_of(f, i, first);
		f->flows |= f->out[i];
		if (!f->out[i] || c->parent == SHELL_NONE || c->parent >= script->command_count)
			continue;
		back = true;
		f->children[c->parent] |=
			f->out[i] & ~(dataflow_is_piped(f, i) ? FLOW_LISTS : 0);
	}
	return back;
}

void dataflow_read(struct dataflow *f, const struct shell_script *script,
		   struct shell_arena *arena)
{
	size_t program;

	memset(f, 0, sizeof(*f));
	f->script = script;
	for (uint32_t i = 0; i < script->command_count; i++)
		if (script->commands[i].redirect_count)
			dataflow_note_socket(f, &script->commands[i]);
	if (!dataflow_is_connected(script))
		return;
	f->out = shell_alloc(arena, (script->command_count + 1) * sizeof(*f->out));
	f->kinds = shell_alloc(arena, (script->command_count + 1) * sizeof(*f->kinds));
	for (uint32_t i = 0; i < script->command_count; i++)
		f->kinds[i] = dataflow_kind_of(&script->commands[i], true, &program);
	f->children = shell_alloc(arena, (script->command_count + 1) * sizeof(*f->children));
	f->sinks = shell_alloc(arena, script->command_count + 1);
	for (uint32_t i = 0; i < script->command_count; i++)
		f->sinks[i] = dataflow_has_sink(&script->commands[i]);
	/* Two passes: a substitution may come before or after the command that it is part of. One
	 * more for variables that are printed. */
	if (dataflow_pass(f, true))
		dataflow_pass(f, false);
	for (uint32_t i = 0; i < script->command_count; i++)
		dataflow_note_names(f, i, arena);
	if (f->text_names[0])
		dataflow_pass(f, false);
	for (uint32_t i = 0; (f->flows & FLOW_LISTS) && i < script->command_count; i++)
		dataflow_note_lists(f, i, arena);
}

/* Does the standard output of @c go to a file, by its redirections alone? */
static bool dataflow_writes_file(const struct shell_command *c)
{
	bool file = false;

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if ((r->fd >= 0 && r->fd != 1) ||
		    (r->op != SHELL_TO && r->op != SHELL_APPEND && r->op != SHELL_DUP))
			continue;
		if (r->op == SHELL_DUP || word_has_unknown(&r->target) ||
		    strstr(r->target.text.s, "dev/") || strstr(r->target.text.s, "proc/"))
			return false;
		file = true;
	}
	return file;
}

/*
 * (cd x; curl y) | sh, also for if, a loop or a function: piped_from names the first command of
 * the group, but its other commands write too, up to the subshell that reads from the group.
 */
static unsigned dataflow_group_output(const struct dataflow *f, uint32_t first, uint32_t index)
{
	const struct shell_command *c = f->script->commands;
	unsigned flow = dataflow_writes_file(&c[first]) ? 0 : f->out[first];

	if (!(f->flows & FLOW_TEXTS))
		return flow;
	for (uint32_t i = first + 1; i < index && i < first + STAGES_MAX; i++) {
		bool reads = c[i].piped_from == first &&
			     (c[i].context ^ c[index].context) >> SHELL_DEPTH_SHIFT == 0;

		if ((f->out[i] & FLOW_TEXTS) && c[i].parent == c[index].parent && !reads &&
		    !dataflow_writes_file(&c[i]) && !dataflow_is_piped(f, i))
			flow |= f->out[i] & FLOW_TEXTS;
	}
	return flow;
}

unsigned dataflow_input(const struct dataflow *f, uint32_t index)
{
	const struct shell_command *c = &f->script->commands[index];
	unsigned flow = dataflow_opens_socket(c) || dataflow_reads_socket(f, c) ? FLOW_REMOTE : 0;

	if (f->out && c->piped_from != SHELL_NONE && c->piped_from < f->script->command_count)
		flow |= dataflow_group_output(f, c->piped_from, index);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if (r->op == SHELL_STRING || r->op == SHELL_HERE || r->op == SHELL_FROM)
			flow |= dataflow_of_word_in(f, index, &r->target);
	}
	/* tee >(sh): sh reads the output of tee, its parent. */
	if ((c->context & SHELL_IN_PROCESS) && c->parent != SHELL_NONE &&
	    f->out && c->parent < f->script->command_count && c->piped_from == SHELL_NONE &&
	    f->sinks[c->parent])
		flow |= f->out[c->parent];
	return flow;
}

unsigned dataflow_output(const struct dataflow *f, uint32_t index)
{
	const struct shell_command *c = &f->script->commands[index];
	size_t program;
	unsigned kind;

	if (f->out)
		return f->out[index];
	kind = f->kinds ? f->kinds[index] : dataflow_kind_of(c, false, &program);
	return (kind & FLOW_KIND_FETCH ? FLOW_REMOTE : 0) |
	       (dataflow_decodes(c, kind) ? FLOW_DECODED : 0);
}

/* Flows in the unknown parts of @word, a word of the command at @at: variables and $(...). */
static unsigned dataflow_of_word(const struct place *at, const struct shell_word *word)
{
	return at->flows && at->index != SHELL_NONE
		       ? dataflow_of_word_in(at->flows, at->index, word)
		       : 0;
}

/* May a program of unknown name take @word, or the one behind it, for a program that is to run? */
static bool dataflow_may_be_code(const struct shell_word *word)
{
	const char *s = word->text.s;
	const struct shell_unknown *u = shell_word_unknown(word, 0);

	if (word_unknown_at(word, 0)) /* <(...) and $(...), but not "$URL" */
		return !u || !u->name || (!isalnum((unsigned char)*u->name) && *u->name != '_');
	if (s[0] == '-' && s[1] != '-')
		return strpbrk(s + 1, "ce") != NULL;
	return word_in(word, " --command --eval --exec ");
}

/* "$dir/$name" is a path, whatever printed the parts: no text that a shell would split and run. */
static bool dataflow_is_path(const struct shell_word *w)
{
	bool slash = false;

	for (size_t i = 0; i < w->text.len; i++) {
		if (w->kind[i] == SHELL_UNKNOWN_FIELDS)
			return false;
		slash |= w->kind[i] == SHELL_LITERAL && w->text.s[i] == '/';
	}
	return slash;
}

unsigned dataflow_of_program(const struct place *at, const struct shell_word *words,
			     size_t count)
{
	/* A known word is that program, but behind options it may be the value of one. */
	bool known = count > 1 && !word_unknown_at(&words[1], 0) &&
		     !strchr("-+", words[1].text.s[0]) && !strchr(words[1].text.s, '=');
	bool code = count == 1;

	if (dataflow_is_path(&words[0]))
		return 0;
	for (size_t i = 1; i < count && !known; i++)
		code |= dataflow_may_be_code(&words[i]);
	if (!code)
		return at->flows ? dataflow_of_names(at->flows, &words[0]) : 0;
	return dataflow_of_word(at, &words[0]);
}

unsigned dataflow_origin(const struct place *at, const struct shell_word *text)
{
	return word_unknown_at(text, strspn(text->text.s, " \t\n\"'")) ? dataflow_of_word(at, text)
									 : 0;
}

unsigned dataflow_lists(const struct dataflow *f, uint32_t index,
			const struct shell_word *words, size_t count, unsigned input)
{
	unsigned flow = (input | f->children[index]) & FLOW_LISTS;

	for (size_t i = 1; i < count; i++)
		for (uint32_t u = 0; u < words[i].unknown_count; u++)
			for (size_t k = 0; k < COUNT_OF(f->list_names) && f->list_names[k]; k++)
				if (strcmp(f->list_names[k], words[i].unknowns[u].name) == 0)
					flow |= f->list_flows[k];
	return flow;
}

/* ---- names ---- */

static bool dataflow_has_glob(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] == SHELL_GLOB)
			return true;
	return false;
}

/* ls DIR prints the files in DIR; ls -d and echo print their operands, as a glob does. */
static size_t dataflow_names_of_ls(const struct shell_command *c, struct shell_arena *arena,
				   struct shell_word names[DATAFLOW_NAMES_MAX])
{
	static const uint8_t dot_kind[] = { SHELL_LITERAL };
	static const struct shell_word dot = { .text = { .s = ".", .len = 1 }, .kind = dot_kind };
	bool itself = dataflow_has_letter(c, "d") ||
		      (name_of(&c->words[0])->flow & FLOW_KIND_PRINT);
	size_t n = 0;

	for (size_t i = 1; i < c->word_count && n < DATAFLOW_NAMES_MAX; i++)
		if (c->words[i].text.s[0] != '-')
			names[n++] = itself || dataflow_has_glob(&c->words[i])
					     ? c->words[i]
					     : word_below(&c->words[i], arena);
	if (!n)
		names[n++] = word_below(&dot, arena);
	return n;
}

static size_t dataflow_names_of_find(const struct shell_command *c, bool is_fd,
				     struct shell_budget *budget, struct shell_arena *arena,
				     struct shell_word names[DATAFLOW_NAMES_MAX])
{
	struct action_list found = { .arena = arena, .budget = budget };
	size_t n = 0;

	find_read(c->words, c->word_count, is_fd, &found);
	for (size_t i = 0; i < found.count && n < DATAFLOW_NAMES_MAX; i++)
		if (found.list[i].kind == ACTION_PRINT)
			names[n++] = *found.list[i].word;
	return n;
}

/* ls / | awk '{print "/"$1}': of the @n names below directories those that are whole by @filter. */
static size_t dataflow_names_whole(const struct shell_command *filter, size_t n,
				   struct shell_word names[DATAFLOW_NAMES_MAX])
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct shell_text *name = &names[i].text;
		size_t len = name->len ? name->len - 1 : 0;

		while (len > 1 && name->s[len - 1] == '/' && name->s[len - 2] == '/') /* of ls / */
			len--;
		if (len && listing_puts_before(filter, name->s, len))
			names[kept++] = names[i];
	}
	return kept;
}

/* grep -v x, tail -n +2 */
static bool dataflow_leaves_most(const struct shell_command *c, unsigned kind)
{
	return (kind & FLOW_KIND_PICK) &&
	       (dataflow_has_word(c, " -v ") ||
		(word_in(&c->words[0], " tail ") && !listing_picks(c)));
}

size_t dataflow_names(const struct dataflow *f, uint32_t index, struct shell_budget *budget,
		      struct shell_arena *arena, struct shell_word names[DATAFLOW_NAMES_MAX])
{
	const struct shell_command *filter = NULL; /* it may put a directory before names */

	for (int stage = 0; stage < STAGES_MAX && index < f->script->command_count; stage++) {
		const struct shell_command *c = &f->script->commands[index];
		const struct blocklist_name *name = c->word_count ? name_of(&c->words[0])
								  : NULL;
		unsigned kind = name ? name->flow : 0;

		if (kind & FLOW_KIND_LIST) {
			size_t n = dataflow_names_of_ls(c, arena, names);

			return filter ? dataflow_names_whole(filter, n, names) : n;
		}
		if (kind & (FLOW_KIND_FIND | FLOW_KIND_FD))
			return filter ? 0 : dataflow_names_of_find(c, kind & FLOW_KIND_FD, budget,
								   arena, names);
		if (!(kind & FLOW_KIND_KEEP) && !dataflow_leaves_most(c, kind)) {
			if (filter || !(kind & FLOW_KIND_PICK))
				return 0;
			filter = c;
		}
		index = c->piped_from;
	}
	return 0;
}
