/*
 * The two layers on one input, and the reason in words. The literal layer, if set, comes
 * first, so that what it finds is reported under its own rules.
 */
#include "blocklist/blocklist.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "blocklist/literal.h"
#include "blocklist/evaluate.h"
#include "blocklist/command/word.h"

/* Bytes of a match that a reason quotes. */
#define QUOTE_MAX 64
/* Bytes of a reason before its rule. */
#define REASON_MAX 512

struct text {
	const char *s;
	size_t len;
};

struct span {
	size_t start, end;
};

/* The state of one verdict. */
struct judging {
	const struct blocklist_input *in;
	struct blocklist_verdict *v;
	struct text text; /* command, or command and args joined */
	struct text fed;  /* stdin */
	size_t arg_count;
};

/* ---- the verdict in words ---- */

/* Append the match in printable form: one line, valid UTF-8, bounded. */
static void verdict_quote_match(const struct text *t, struct span m, struct buf *out)
{
	const char *p = t->s + m.start;
	size_t left = m.end - m.start, from = out->len, used;

	for (; left > 0 && out->len - from < QUOTE_MAX; p += used, left -= used) {
		if (utf8_next(p, left, &used) != UTF8_VALID)
			buf_addc(out, '?');
		else if ((unsigned char)*p < ' ' || *p == 0x7f)
			buf_addc(out, ' ');
		else
			buf_add(out, p, used);
	}
	if (left > 0)
		buf_adds(out, "...");
}

static void verdict_set_place(struct judging *j, const char *rule, const char *suggestion,
			      struct span m, bool in_stdin)
{
	j->v->blocked = true;
	j->v->rule = rule;
	snprintf(j->v->suggestion, sizeof(j->v->suggestion), "%s", suggestion);
	j->v->has_span = !in_stdin;
	j->v->start = in_stdin ? 0 : m.start;
	j->v->end = in_stdin ? 0 : m.end;
}

static void verdict_set_reason(struct judging *j, const struct buf *text, const char *rule)
{
	snprintf(j->v->reason, sizeof(j->v->reason), "%s (rule %s).%s", text->data, rule,
		 j->v->unparsable ? "" : " No rule or tier overrides it.");
}

static void verdict_fill_literal(struct judging *j, const struct literal *l, bool in_stdin)
{
	struct span m = { l->start, l->end };
	struct buf text;

	buf_init(&text, REASON_MAX);
	buf_adds(&text, in_stdin ? "The stdin for a shell" : "The command");
	buf_adds(&text, " contains \"");
	verdict_quote_match(in_stdin ? &j->fed : &j->text, m, &text);
	buf_addf(&text,
		 "\", which matches the pattern %s. The option blocklist.literal_match is "
		 "anywhere%s%s, so text that is only data counts, too",
		 l->shape, j->in->literal_by ? " by " : "",
		 j->in->literal_by ? j->in->literal_by : "");
	verdict_set_place(j, l->id, l->suggestion, m, in_stdin);
	verdict_set_reason(j, &text, l->id);
	buf_release(&text);
}

/* "a system directory" */
static const char *verdict_target_text(uint64_t classes)
{
	for (unsigned i = 0; i < blocklist_target_count; i++)
		if (classes >> i & 1)
			return strtab_get(blocklist_targets[i].text);
	return "";
}

/* Does the part @m of @t contain "$X" or "${X"? */
static bool verdict_names_variable(const struct text *t, struct span m, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = m.start; len && i + len < m.end; i++) {
		size_t brace = t->s[i + 1] == '{';

		if (t->s[i] == '$' && i + 1 + brace + len <= m.end &&
		    memcmp(t->s + i + 1 + brace, name, len) == 0)
			return true;
	}
	return false;
}

/* ": if $X is empty, it means everything in /, the root directory" */
static void verdict_add_match(const struct finding *f, bool named, struct buf *out)
{
	const struct path_match_text *m = &f->match;
	const struct text path = { m->path, strlen(m->path) };
	/* The reason of a rule on one class names the class already. */
	bool one = (f->rule->targets & (f->rule->targets - 1)) == 0;

	if (!m->classes)
		return;
	buf_adds(out, ": ");
	if (m->if_empty) {
		buf_addf(out, "if %s%s is empty, it means ", named ? "$" : "an unknown part of it",
			 named ? m->name : "");
	}
	if (m->everything)
		buf_adds(out, "everything in ");
	verdict_quote_match(&path, (struct span){ 0, path.len }, out);
	if (one)
		return;
	buf_adds(out, m->if_empty || m->everything ? ", " : m->pattern ? " may be " : " is ");
	buf_adds(out, verdict_target_text(m->classes));
}

/* ", in line 2, at byte 14" */
static void verdict_add_numbers(const struct text *t, size_t at, struct buf *out)
{
	size_t line = 1, newlines = 0;

	for (size_t i = 0; i < t->len; i++) {
		newlines += t->s[i] == '\n';
		line += t->s[i] == '\n' && i < at;
	}
	if (newlines)
		buf_addf(out, ", in line %zu", line);
	buf_addf(out, ", at byte %zu", at);
}

/* ": \"done\"" */
static void verdict_add_rest(const struct text *t, size_t at, struct buf *out)
{
	char quote;

	if (at >= t->len)
		return;
	quote = memchr(t->s + at, '"', t->len - at) ? '\'' : '"';
	buf_addf(out, ": %c", quote);
	verdict_quote_match(t, (struct span){ at, t->len }, out);
	buf_addc(out, quote);
}

/* Invalid shell text, or text that is too complex to judge. */
static void verdict_add_text_reason(struct judging *j, const struct finding *f, bool in_stdin,
				    size_t at, struct buf *out)
{
	const struct text *t = in_stdin ? &j->fed : &j->text;

	j->v->unparsable = strcmp(strtab_get(f->rule->id), "text.unparsable") == 0;
	buf_addf(out, "%s %s", in_stdin ? "The stdin" : "The command",
		 strtab_get(f->rule->reason));
	if (f->detail)
		buf_addf(out, ": %s", f->detail);
	if (!j->v->unparsable)
		return;
	if (!in_stdin || !j->in->stdin_is_part)
		verdict_add_numbers(t, at, out);
	verdict_add_rest(t, at, out);
}

/* If only an empty variable is harmful, suggest ${X:?}, with which the shell refuses it. @name: it,
 * or NULL. @rm: the command is an rm, for which there is an example; @root: if the variable is
 * empty, it means the root directory. */
static void verdict_suggest_set(struct judging *j, const char *name, bool rm, bool root)
{
	char *out = j->v->suggestion;
	const size_t size = sizeof(j->v->suggestion);

	if (!name)
		snprintf(out, size,
			 "Store that part in a variable and let the shell stop if it is empty%s",
			 rm ? ", for example: DIR=$(pwd) && rm -rf \"${DIR:?}\"/build"
			    : ": \"${DIR:?}\"");
	else if (rm && root)
		snprintf(out, size,
			 "Write \"${%s:?}\" for $%s, so that the shell stops if it is empty, for "
			 "example: rm -rf \"${%s:?}\"/*", name, name, name);
	else
		snprintf(out, size,
			 "Write \"${%s:?}\" for $%s, so that the shell stops if it is empty.",
			 name, name);
}

static void verdict_suggest_end(struct judging *j)
{
	snprintf(j->v->suggestion, sizeof(j->v->suggestion),
		 "Close what is still open: a bracket or a here-document, if with fi, for and "
		 "while with done, case with esac.");
}

static struct span verdict_clamp(const struct text *t, uint32_t start, uint32_t end)
{
	struct span m = { start, end };

	if (m.end > t->len)
		m.end = t->len;
	if (m.start > m.end)
		m.start = m.end;
	return m;
}

static void verdict_fill_finding(struct judging *j, const struct finding *f)
{
	bool in_stdin = f->start >= BLOCKLIST_INPUT_BASE;
	const struct text *t = in_stdin ? &j->fed : &j->text;
	struct span m = verdict_clamp(t, f->start - (in_stdin ? BLOCKLIST_INPUT_BASE : 0),
			      f->end - (in_stdin ? BLOCKLIST_INPUT_BASE : 0));
	bool named = verdict_names_variable(t, m, f->match.name);
	const char *id = strtab_get(f->rule->id);
	size_t at = m.start;
	struct buf text;

	buf_init(&text, REASON_MAX);
	if (m.start == m.end)
		m.end = m.start + strnlen(t->s + m.start, t->len - m.start);
	verdict_set_place(j, id, strtab_get(f->rule->suggestion), m, in_stdin);
	if (strncmp(id, "text.", 5) == 0) {
		verdict_add_text_reason(j, f, in_stdin, at, &text);
		if (j->v->unparsable && at >= t->len)
			verdict_suggest_end(j);
	} else {
		buf_adds(&text, in_stdin ? "In the stdin: \"" : "\"");
		verdict_quote_match(t, m, &text);
		buf_addf(&text, "\" %s", strtab_get(f->rule->reason));
		verdict_add_match(f, named, &text);
		if (f->match.if_empty)
			verdict_suggest_set(j, named ? f->match.name : NULL,
					    m.end - m.start > 3 &&
						    !memcmp(t->s + m.start, "rm ", 3),
					    !strcmp(f->match.path, "/"));
	}
	verdict_set_reason(j, &text, id);
	buf_release(&text);
}

static void verdict_fill_too_long(struct judging *j, const char *what)
{
	struct finding f = { 0 };
	struct buf text;
	const char *id;

	rules_find_effect("text.too_complex", 0, 0, &f);
	id = strtab_get(f.rule->id);
	buf_init(&text, REASON_MAX);
	buf_addf(&text, "The %s is longer than %u bytes, too long to judge", what,
		 BLOCKLIST_TEXT_MAX);
	verdict_set_place(j, id, strtab_get(f.rule->suggestion), (struct span){ 0, 0 }, true);
	verdict_set_reason(j, &text, id);
	buf_release(&text);
}

/* ---- the literal layer ---- */

static void verdict_judge_literal(struct judging *j)
{
	struct literal l;

	if (literal_find(j->text.s, j->text.len, &l))
		verdict_fill_literal(j, &l, false);
	else if (j->fed.len && literal_names_shell(j->text.s, j->text.len) &&
		 literal_find(j->fed.s, j->fed.len, &l))
		verdict_fill_literal(j, &l, true);
}

/* ---- the structural layer ---- */

/* @len bytes of @s, at offset @at of the outermost text, as a word. */
static struct shell_word verdict_known_word(struct shell_arena *arena, const char *s, size_t len,
					    uint32_t at, bool fixed)
{
	uint32_t *where = shell_alloc_raw(arena, (len + 1) * sizeof(*where)), here = at;

	where[len] = 0;
	for (size_t i = 0; i < len; i++, here += !fixed)
		where[i] = here;
	return (struct shell_word){ .text = { .s = shell_copy(arena, s, len), .at = where,
					      .len = len },
				    .kind = shell_alloc(arena, len + 1), .start = at,
				    .end = at + (uint32_t)len, .quoted = true };
}

static void verdict_read_environment(struct evaluation *e, const char *const *environment)
{
	struct shell_assign *list;
	size_t n = 0;

	while (environment && environment[n])
		n++;
	list = shell_alloc(&e->arena, (n + 1) * sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		const char *equals = strchr(environment[i], '=');
		size_t len = equals ? (size_t)(equals - environment[i]) : strlen(environment[i]);

		list[i].name = shell_copy(&e->arena, environment[i], len);
		list[i].value = verdict_known_word(&e->arena, equals ? equals + 1 : "",
					   equals ? strlen(equals + 1) : 0, 0, true);
	}
	e->variables = list;
	e->variable_count = n;
}

/* BASH_FUNC_name%%=() { ... } defines a function in every bash. */
static bool verdict_judge_functions(struct evaluation *e)
{
	for (size_t i = 0; i < e->variable_count; i++) {
		const struct shell_word *value = &e->variables[i].value;
		struct shell_word text;
		char *s;

		if (strncmp(e->variables[i].name, "BASH_FUNC_", 10) ||
		    strncmp(value->text.s, "()", 2))
			continue;
		s = shell_alloc(&e->arena, value->text.len + 2);
		s[0] = 'f';
		memcpy(s + 1, value->text.s, value->text.len);
		text = verdict_known_word(&e->arena, s, value->text.len + 1, 0, true);
		if (evaluate_text(e, &text.text, NULL, 0, NULL))
			return true;
	}
	return false;
}

/* Command and args as words of the joined text. */
static struct shell_word *verdict_argv_words(struct judging *j, struct shell_arena *arena)
{
	struct shell_word *words = shell_alloc(arena, (j->arg_count + 1) * sizeof(*words));
	size_t at = strlen(j->in->command);

	words[0] = verdict_known_word(arena, j->in->command, at, 0, false);
	for (size_t i = 0; i < j->arg_count; i++) {
		size_t len = strlen(j->in->args[i]);

		words[i + 1] =
			verdict_known_word(arena, j->in->args[i], len, (uint32_t)at + 1, false);
		at += 1 + len;
	}
	return words;
}

static bool verdict_has_blank(const char *s)
{
	return s[strcspn(s, " \t\n;|&<>")] != '\0';
}

/* "rm -rf" with args "/": no such program exists, but the intent is clear. */
static bool verdict_judge_split_command(struct judging *j, struct evaluation *e,
					const struct shell_word *words)
{
	struct shell_word two[2], all;

	if (!verdict_has_blank(j->in->command))
		return false;
	two[0] = words[0];
	two[1] = word_quote(words + 1, j->arg_count, &e->budget, &e->arena);
	all = word_join(two, 2, &e->arena);
	return evaluate_text(e, &all.text, NULL, 0, NULL) &&
	       strncmp(strtab_get(e->finding.rule->id), "text.", 5) != 0;
}

static bool verdict_judge_argv(struct judging *j, struct evaluation *e,
			       const struct shell_word *input)
{
	struct shell_word *words = verdict_argv_words(j, &e->arena);
	struct shell_text text = { .s = j->in->command, .len = strlen(j->in->command) };
	const char *name;

	if (!j->in->shell)
		return evaluate_program(e, words, j->arg_count + 1, input) ||
		       verdict_judge_split_command(j, e, words);
	name = basename(j->in->shell_path ? j->in->shell_path : "sh");
	words[0] = verdict_known_word(&e->arena, name, strlen(name), 0, true);
	return evaluate_text(e, &text, words, j->arg_count + 1, input);
}

/* Bytes of the request's variables. */
static size_t verdict_environment_bytes(const char *const *environment)
{
	size_t bytes = 0;

	for (; environment && *environment; environment++)
		bytes += strlen(*environment) + 1;
	return bytes;
}

/* Is the command the name of a program and nothing else, which no shell reads? */
static bool verdict_is_bare_program(const struct blocklist_input *in)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./+-";

	return (in->args || in->no_shell) && !in->shell && in->command[0] &&
	       !in->command[strspn(in->command, plain)];
}

static bool verdict_judge_input(struct judging *j, struct evaluation *e)
{
	struct shell_word fed, *input = NULL;
	struct shell_text text = { .s = j->text.s, .len = j->text.len };

	if (j->fed.len) {
		fed = verdict_known_word(&e->arena, j->fed.s, j->fed.len, BLOCKLIST_INPUT_BASE,
					 false);
		input = &fed;
	}
	verdict_read_environment(e, j->in->environment);
	if (j->in->directory) {
		struct shell_word dir = verdict_known_word(&e->arena, j->in->directory,
						   strlen(j->in->directory), 0, true);
		path_chdir(&e->directories.now, &dir);
	}
	if (verdict_judge_functions(e))
		return true;
	return (j->in->args && j->in->args[0]) || verdict_is_bare_program(j->in)
		       ? verdict_judge_argv(j, e, input)
		       : evaluate_text(e, &text, NULL, 0, input);
}

static void verdict_judge_structure(struct judging *j)
{
	struct evaluation e;
	uint64_t work;

	evaluation_init(&e, j->in,
			j->text.len + j->fed.len + verdict_environment_bytes(j->in->environment));
	work = e.budget.work;
	if (verdict_judge_input(j, &e))
		verdict_fill_finding(j, &e.finding);
	j->v->work = work - e.budget.work;
	j->v->reader = e.input_is_text ? BLOCKLIST_READS_SHELL
		       : e.input_is_code ? BLOCKLIST_READS_CODE : BLOCKLIST_READS_DATA;
	j->v->reads_stdin = e.input_was_read || j->in->literal_anywhere;
	evaluation_release(&e);
}

/* ---- entry ---- */

/* Join command and arguments by single spaces. The caller frees *@heap. */
static void verdict_join(struct judging *j, char **heap)
{
	const struct blocklist_input *in = j->in;
	size_t len = strlen(in->command);
	char *end;

	*heap = NULL;
	j->text = (struct text){ in->command, len };
	if (!in->args || !in->args[0])
		return;
	for (; in->args[j->arg_count]; j->arg_count++)
		len += 1 + strlen(in->args[j->arg_count]);
	*heap = mem_zalloc(len + 1);
	end = stpcpy(*heap, in->command);
	for (size_t i = 0; in->args[i]; i++)
		end = stpcpy(stpcpy(end, " "), in->args[i]);
	j->text = (struct text){ *heap, len };
}

void blocklist_judge(const struct blocklist_input *in, struct blocklist_verdict *v)
{
	AUTO_FREE char *heap = NULL;
	struct judging j = { .in = in, .v = v, .fed = { in->stdin_bytes, in->stdin_len } };

	memset(v, 0, sizeof(*v));
	verdict_join(&j, &heap);
	if (j.text.len > BLOCKLIST_TEXT_MAX) {
		verdict_fill_too_long(&j, "command");
		return;
	}
	if (!in->stdin_bytes)
		j.fed.len = 0;
	if (j.fed.len > BLOCKLIST_TEXT_MAX) {
		if (literal_names_shell(j.text.s, j.text.len)) {
			verdict_fill_too_long(&j, "stdin for a shell");
			return;
		}
		j.fed.len = 0;
	}
	if (in->literal_anywhere)
		verdict_judge_literal(&j);
	if (!v->blocked)
		verdict_judge_structure(&j);
}
