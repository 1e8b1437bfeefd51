#include "blocklist/effects/script_awk.h"

#include <string.h>

#include "blocklist/effects/script_run.h"

/* print "x" > "/dev/sda", print | "sh", "cmd" | getline */
static void script_awk_read_string(struct script_reader *r, size_t i)
{
	const struct shell_word *w = &r->t.tokens[i].string;

	if (script_is_char(&r->t, i - 1, '>'))
		action_touch(r->out, "write", w);
	if (strncmp(w->text.s, "/inet/", 6) == 0 && r->getline)
		action_found(r->out, "pipe.remote", r->t.text, 1);
	if (script_is_char(&r->t, i - 1, '|') || script_is_char(&r->t, i + 1, '|'))
		action_text(r->out, w, ACTION_LENIENT);
}

/* It runs text of its input: system($1), system("rm " $1). */
static void script_awk_read_system(struct script_reader *r, size_t i)
{
	const struct shell_word *text = script_string(&r->t, i + 2);

	if (script_is_char(&r->t, i + 1, '(') && script_is_char(&r->t, i + 2, '$'))
		script_run_input(r, NULL);
	if (text && script_is_char(&r->t, i + 3, '$'))
		script_run_input(r, text);
}

void script_read_awk(struct script_reader *r, size_t i)
{
	if (script_string(&r->t, i))
		script_awk_read_string(r, i);
	else if (script_token_in(&r->t, i, " system "))
		script_awk_read_system(r, i);
}
