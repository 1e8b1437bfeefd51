#include "blocklist/effects/script_processes.h"

#include <string.h>

/* os.kill(-1, 9), kill 9, -1, process.kill(1) */
void script_read_kill(struct script_reader *r, size_t i)
{
	const char *s = r->t.text->text.s, *effect = NULL;

	if (!script_token_in(&r->t, i, " kill killpg posix_kill "))
		return;
	for (size_t k = i + 1; k < r->t.count && k < i + 10 && !script_is_char(&r->t, k, ')') &&
			       !script_is_char(&r->t, k, ';'); k++) {
		bool minus = script_is_char(&r->t, k - 1, '-');

		if (r->t.tokens[k].kind != TOKEN_NAME ||
		    r->t.tokens[k].end - r->t.tokens[k].start != 1 ||
		    s[r->t.tokens[k].start] != '1')
			continue;
		if (minus)
			effect = "kill_all";
		else if (script_is_char(&r->t, k - 1, '(') || script_is_char(&r->t, k - 1, ','))
			effect = "kill_init";
	}
	if (effect)
		action_found(r->out, effect, r->t.text, 1);
}

/* while True: Popen([sys.executable] + sys.argv) */
static bool script_processes_restart(const struct script_text *t)
{
	bool endless = script_any_name(t, " loop ") || strstr(t->text->text.s, "(;;)") ||
		       (script_any_name(t, " while until ") && script_any_name(t, " 1 True true "));

	return endless && script_any_name(t, " Popen spawn fork execFile ") &&
	       script_any_name(t, " __file__ __filename __FILE__ argv argv0 ");
}

/* fork(), fork while 1, {fork}: a call, not a word of prose. */
static bool script_processes_fork(const struct script_text *t, size_t i)
{
	return script_token_in(t, i, " fork vfork pcntl_fork ") &&
	       (i + 1 >= t->count || t->tokens[i + 1].kind != TOKEN_NAME ||
		script_token_in(t, i + 1,
				" while until for foreach if unless or and fork end do "));
}

/* while True: os.fork(): both that come back from it go on alike. */
static bool script_processes_fork_blindly(const struct script_text *t, size_t i)
{
	size_t end = i + 1;

	if (!script_processes_fork(t, i))
		return false;
	if (script_is_char(t, end, '(') && script_is_char(t, end + 1, ')'))
		end += 2;
	if (i >= 2 && script_token_in(t, i - 2, " os Process "))
		i -= 2;
	if (i && !script_is_char(t, i - 1, '{') && !script_is_char(t, i - 1, ':') &&
	    !script_is_char(t, i - 1, ';') && !script_is_char(t, i - 1, ')'))
		return false;
	return end >= t->count || script_is_char(t, end, ';') || script_is_char(t, end, '}') ||
	       script_statement_end(t, end - 1) == end ||
	       script_token_in(t, end, " while until ");
}

bool script_is_fork_bomb(const struct script_text *t)
{
	static const char ends[] = " exit _exit wait waitpid wait3 wait4 execv execvp execve execl "
				   "execlp isMaster isPrimary isWorker ";

	if (script_any_name(t, ends) && !script_any(t, script_processes_fork_blindly))
		return false;
	return script_processes_restart(t) ||
	       (script_any(t, script_processes_fork) &&
		script_any_name(t, " while until loop for "));
}
