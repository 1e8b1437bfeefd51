/* Redirections: what they open, and what they make of struct streams. */
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

/* Steps of a redirection. */
#define WORK_REDIRECT 24u

/* ---- input ---- */

void redirect_set_input(struct expander *e, struct value *v)
{
	e->io.input = v;
	e->io.input_word = NULL;
	e->io.piped_from = SHELL_NONE;
}

const struct shell_word *redirect_input_word(struct expander *e)
{
	if (!e->io.input_word && e->io.input) {
		e->io.input_word = shell_alloc(e->arena, sizeof(*e->io.input_word));
		word_make(e, e->io.input->v, e->io.input->len, e->io.input_word);
	}
	return e->io.input_word;
}

/* A here-string adds a newline to its word. */
static struct value *redirect_here_string(struct expander *e, const struct shell_word *word)
{
	const struct value *v = word_value(e, word);
	struct chars c = { 0 };

	chars_copy(e, &c, v->v, v->len);
	chars_add(e, &c, '\n', CHAR_QUOTED, word_last(word), 0);
	return value_take(e, &c);
}

/* What can be read behind the redirection; NULL: not known. */
static struct value *redirect_opened(struct expander *e, const struct shell_redirect *r)
{
	switch (r->op) {
	case SHELL_HERE:
		return word_value(e, &r->target);
	case SHELL_STRING:
		return redirect_here_string(e, &r->target);
	case SHELL_FROM:
	case SHELL_BOTH:
		return r->target.content ? word_value(e, r->target.content) : NULL;
	default:
		return NULL;
	}
}

/* ---- descriptors ---- */

/* Descriptors looked at for one. */
#define DESCRIPTORS_MAX 32

const struct descriptor *redirect_descriptor(const struct expander *e, long fd)
{
	const struct descriptor *d = e->io.descriptors;

	for (unsigned i = 0; d && i < DESCRIPTORS_MAX; i++, d = d->older)
		if (d->fd == fd)
			return d;
	return NULL;
}

static bool redirect_is_descriptor(const struct shell_word *w)
{
	const char *s = shell_word_constant(w);
	size_t digits = s ? strspn(s, "0123456789") : 0;

	return s && s[0] && (s[digits] == '\0' || strcmp(s + digits, "-") == 0);
}

/* Note what N<FILE, N<&0 and the like open. */
static void redirect_note_descriptor(struct expander *e, const struct shell_redirect *r)
{
	long from = strtol(r->target.text.s, NULL, 10);
	const struct descriptor *old = r->op == SHELL_DUP ? redirect_descriptor(e, from) : NULL;
	struct descriptor *d;

	if (r->fd <= 2 || (r->op == SHELL_DUP && from > 2 && !old))
		return;
	d = shell_alloc_raw(e->arena, sizeof(*d));
	if (old)
		*d = *old;
	else if (r->op == SHELL_DUP && redirect_is_descriptor(&r->target) &&
		 r->target.text.s[0] == '0')
		*d = (struct descriptor){ .input = e->io.input, .piped_from = e->io.piped_from };
	else
		*d = (struct descriptor){ .input = redirect_opened(e, r),
					  .piped_from = SHELL_NONE };
	d->fd = r->fd;
	d->older = e->io.descriptors;
	e->io.descriptors = d;
}

/* <&N: what N is; the input stays if that is not known. */
static void redirect_input_from(struct expander *e, const struct shell_word *target)
{
	long fd = strtol(target->text.s, NULL, 10);
	const struct descriptor *d = redirect_descriptor(e, fd);

	if (!redirect_is_descriptor(target) || target->text.s[0] == '0' || (fd > 2 && !d))
		return;
	redirect_set_input(e, d ? d->input : NULL);
	if (d)
		e->io.piped_from = d->piped_from;
}

/* ---- one after the other ---- */

static bool redirect_is_device(const struct shell_word *w)
{
	return strncmp(w->text.s, "/dev/", 5) == 0;
}

/* Set e->io.input and e->io.capture as the redirection does. */
static void redirect_effect(struct expander *e, const struct ast_redirect *r,
			    const struct shell_redirect *out)
{
	bool input = out->fd <= 0, output = out->fd == -1 || out->fd == 1;

	switch (out->op) {
	case SHELL_HERE:
	case SHELL_STRING:
	case SHELL_FROM:
	case SHELL_BOTH:
		if (input)
			redirect_set_input(e, redirect_opened(e, out));
		break;
	case SHELL_TO:
	case SHELL_APPEND:
		if (output)
			e->io.capture = redirect_is_device(&out->target) ? NULL : e->io.to_file;
		break;
	case SHELL_DUP:
		if (out->fd == 0)
			redirect_input_from(e, &out->target);
		if (output && r->op == SHELL_DUP && out->fd != 0)
			e->io.capture = NULL;
		break;
	}
}

static void redirect_one(struct expander *e, const struct ast_redirect *r,
			 struct shell_redirect *out)
{
	out->op = (enum shell_redirect_op)r->op;
	out->fd = r->fd;
	if (r->target)
		expand_one(e, r->target, &out->target);
	else
		word_make(e, NULL, 0, &out->target);
	/* >&FILE redirects both streams to FILE; <& never writes. */
	if (r->ampersand && !redirect_is_descriptor(&out->target) && r->fd != 0)
		out->op = SHELL_TO;
	redirect_note_descriptor(e, out);
	redirect_effect(e, r, out);
}

void redirect_all(struct expander *e, const struct ast_redirect *list, uint32_t index)
{
	struct shell_redirect *redirects;
	size_t count = 0;

	for (const struct ast_redirect *r = list; r; r = r->next)
		count++;
	if (count == 0)
		return;
	redirects = shell_alloc(e->arena, count * sizeof(*redirects));
	expand_charge(e, WORK_REDIRECT * count);
	count = 0;
	for (const struct ast_redirect *r = list; r && !expand_failed(e); r = r->next) {
		e->script->sets_variables |= r->named;
		e->script->sets_path |= r->named;
		redirect_one(e, r, &redirects[count++]);
	}
	struct shell_command *c = &e->script->commands[index];

	c->redirects = redirects;
	c->redirect_count = count;
}
