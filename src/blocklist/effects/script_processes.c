#include "blocklist/effects/script_processes.h"

#include <stdlib.h>
#include <string.h>

#include "blocklist/effects/script_loops.h"

/* Numbers of processes up to this are most of them. */
#define PROCESSES_MANY 30000
/* Tokens of a call that are looked at. */
#define CALL_MAX 10
/* Steps to look through a statement. */
#define STATEMENT_STEPS 16

static const char loops[] = " while until loop for ";

/* range(1, 65536) from token @i on */
static bool script_processes_range(const struct script_text *t, size_t i)
{
	if (!script_token_in(t, i, " range xrange "))
		return false;
	for (size_t k = i + 2; k < i + CALL_MAX && k < t->count && !script_is_char(t, k, ')'); k++)
		if (strtol(t->text->text.s + t->tokens[k].start, NULL, 10) >= PROCESSES_MANY)
			return true;
	return false;
}

void script_note_processes(struct script_reader *r, size_t i)
{
	const struct script_text *t = &r->t;
	size_t k = i + 2;

	if (script_token_in(t, k, " psutil os ") && script_is_char(t, k + 1, '.'))
		k += 2;
	if ((script_processes_range(t, k) || script_token_in(t, k, " process_iter pids ") ||
	     (script_token_in(t, k, " listdir ") && script_string_in(t, k + 2, " /proc "))) &&
	    !script_loop_picks(r, i))
		r->process = i;
	else if (r->process && script_same_text(t, r->process, i))
		r->process = 0; /* now of something else */
}

/* Is token @i, kill or the like, done to each process: kill(pid, 9), p.kill()? kill(pid, 0) only
 * asks if it is there. */
static bool script_processes_kills_each(const struct script_reader *r, size_t i)
{
	bool each = false;

	if (!r->process || !script_token_in(&r->t, i, " kill terminate "))
		return false;
	if (i >= 2 && script_is_char(&r->t, i - 1, '.') &&
	    script_same_text(&r->t, i - 2, r->process))
		return true;
	for (size_t k = i + 1; k < i + CALL_MAX && k < r->t.count &&
			       !script_is_char(&r->t, k, ';') && !script_new_line(&r->t, k); k++) {
		if (script_token_in(&r->t, k, " 0 "))
			return false;
		each |= script_same_text(&r->t, k, r->process);
	}
	return each;
}

/* os.kill(-1, 9), kill 9, -1, process.kill(1) */
void script_read_kill(struct script_reader *r, size_t i)
{
	const char *effect = NULL;

	if (script_processes_kills_each(r, i))
		effect = "kill_all";
	else if (!script_token_in(&r->t, i, " kill killpg posix_kill "))
		return;
	for (size_t k = i + 1; k < i + CALL_MAX && k < r->t.count &&
			       !script_is_char(&r->t, k, ')') && !script_is_char(&r->t, k, ';');
	     k++) {
		bool minus = script_is_char(&r->t, k - 1, '-');

		if (!script_token_in(&r->t, k, " 1 "))
			continue;
		if (minus)
			effect = "kill_all";
		else if (script_is_char(&r->t, k - 1, '(') || script_is_char(&r->t, k - 1, ','))
			effect = "kill_init";
	}
	if (effect)
		action_found(r->out, effect, r->t.text, 1);
}

/* Is token @i what names the script itself? sys.argv[1] of Python is an argument of it. */
static bool script_processes_is_self(const struct script_text *t, size_t i)
{
	if (!script_token_in(t, i, " argv "))
		return script_token_in(t, i, " __file__ __filename __FILE__ argv0 ");
	return !script_token_in(t, i - 2, " sys ") || !script_is_char(t, i + 1, '[') ||
	       script_token_in(t, i + 2, " 0 ");
}

/* me = __file__, cmd = [sys.executable] + sys.argv, with the script at token @i: the token of the
 * variable; t->count: there is none. What is only next to the script, dirname(__file__), is not it.
 */
static size_t script_processes_self_name(const struct script_text *t, size_t i)
{
	static const char near[] = " dirname parent parents with_name with_suffix with_stem join "
				   "joinpath replace expand_path split splitext basename stem ";
	size_t end = 0, name = t->count;

	if (!script_processes_is_self(t, i) ||
	    (script_token_in(t, i, " argv ") && !script_token_in(t, i - 2, " sys ")))
		return name;
	for (size_t k = i; !end && k-- > 1 && i - k < CALL_MAX &&
			   !script_new_statement(t, k + 1) && !script_token_in(t, k, near);)
		if (script_is_char(t, k, '=') && t->tokens[k - 1].kind == TOKEN_NAME) {
			name = k - 1;
			end = script_statement_end(t, i);
		}
	for (size_t k = i + 1; k < end; k++)
		if (script_token_in(t, k, near) || script_is_char(t, k, '+'))
			return t->count;
	return name;
}

/* Popen([sys.executable] + sys.argv), fork(__filename), spawn(me) with me at token @name */
static bool script_processes_starts_self(struct script_reader *r, size_t i, size_t name)
{
	size_t end = 0;

	if (script_token_in(&r->t, i, " Popen spawn fork execFile ") &&
	    script_step(r, STATEMENT_STEPS))
		end = script_statement_end(&r->t, i);
	for (size_t k = i + 1; k < end; k++)
		if (script_processes_is_self(&r->t, k) ||
		    (name < r->t.count && script_same_text(&r->t, k, name)))
			return true;
	return false;
}

/* while True: Popen([sys.executable] + sys.argv) */
static bool script_processes_restart(struct script_reader *r)
{
	const struct script_text *t = &r->t;
	bool endless = script_any_name(t, " loop ") || strstr(t->text->text.s, "(;;)") ||
		       (script_any_name(t, " while until ") && script_any_name(t, " 1 True true "));

	for (size_t i = 0, name = t->count; endless && i < t->count; i++) {
		if (script_processes_starts_self(r, i, name))
			return true;
		if (name == t->count && script_processes_is_self(t, i) &&
		    script_step(r, STATEMENT_STEPS))
			name = script_processes_self_name(t, i);
	}
	return false;
}

/* fork(), fork while 1, {fork}: a call, not a word of prose, nor the fork("x.js") of Node, which
 * runs another script. */
static bool script_processes_fork(const struct script_text *t, size_t i)
{
	return script_token_in(t, i, " fork vfork pcntl_fork ") && !script_string(t, i + 2) &&
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
	if (script_token_in(t, i - 2, " os Process "))
		i -= 2;
	if (i && !script_is_char(t, i - 1, '{') && !script_is_char(t, i - 1, ':') &&
	    !script_is_char(t, i - 1, ';') && !script_is_char(t, i - 1, ')'))
		return false;
	return end >= t->count || script_is_char(t, end, ';') || script_is_char(t, end, '}') ||
	       script_statement_end(t, end - 1) == end ||
	       script_token_in(t, end, " while until ");
}

/* fork while 1, [os.fork() for x in y]; not fork { loop { ... } }, nor p = os.fork() with a loop
 * for the child in a later line. */
static bool script_processes_loop_follows(const struct script_text *t, size_t i)
{
	size_t depth = 0, end = script_statement_end(t, i);

	for (size_t k = i + 1; k < end; k++) {
		if (script_is_char(t, k, '{') || script_is_char(t, k, '('))
			depth++;
		else if (depth && (script_is_char(t, k, '}') || script_is_char(t, k, ')')))
			depth--;
		else if (!depth && script_token_in(t, k, loops))
			return true;
	}
	return false;
}

/* def f(): os.fork(), $f = sub { fork }, f = lambda: os.fork() and f = os.fork with the fork at
 * token @i: the token of the name of what forks; t->count: it has none. */
static size_t script_processes_forker(const struct script_text *t, size_t i)
{
	bool code = script_token_in(t, i - 2, " os ") && !script_is_char(t, i + 1, '(');

	for (size_t k = i; k-- > 1 && i - k < CALL_MAX;) {
		code |= script_token_in(t, k, " lambda sub ") ||
			(script_is_char(t, k, '>') && script_is_char(t, k - 1, '-'));
		if (t->tokens[k].kind == TOKEN_NAME &&
		    script_token_in(t, k - 1, " def sub function "))
			return k;
		if (code && script_is_char(t, k, '=') && t->tokens[k - 1].kind == TOKEN_NAME)
			return k - 1;
	}
	return t->count;
}

/* Is there a fork behind the head of a loop, or in front of it? What has a name and forks counts
 * where it is called. */
static bool script_processes_forks_in_loop(struct script_reader *r)
{
	bool loop = false, endless = false;

	for (size_t i = 0, name = r->t.count; i < r->t.count; i++) {
		loop |= script_token_in(&r->t, i, loops);
		endless |= script_token_in(&r->t, i, " while until loop ");
		if (name < r->t.count && script_same_text(&r->t, i, name) &&
		    script_step(r, STATEMENT_STEPS) &&
		    (endless || script_processes_loop_follows(&r->t, i)))
			return true;
		if (!script_processes_fork(&r->t, i) || !script_step(r, STATEMENT_STEPS))
			continue;
		if (loop || script_processes_loop_follows(&r->t, i))
			return true;
		if (name == r->t.count)
			name = script_processes_forker(&r->t, i);
	}
	return false;
}

/* for (;;), while (true), while True: and loop { with the first word at token @i: where the body
 * begins; 0: it is none of these. */
static size_t script_processes_endless(const struct script_text *t, size_t i)
{
	size_t k = i + 1 + script_is_char(t, i + 1, '(');

	if (script_token_in(t, i, " loop ") &&
	    (script_is_char(t, i + 1, '{') || script_token_in(t, i + 1, " do ")))
		return i + 1;
	if (script_token_in(t, i, " for ") && script_is_char(t, k, ';') &&
	    script_is_char(t, k + 1, ';') && script_is_char(t, k + 2, ')'))
		return k + 3;
	return script_token_in(t, i, " while ") && script_token_in(t, k, " 1 True true ") &&
			       (script_is_char(t, k + 1, ')') || script_is_char(t, k + 1, ':'))
		       ? k + 2 : 0;
}

static const char starts[] = " Popen spawn fork execFile Process ";

/* for(;;) fork("x.js"), while True: Popen(["x"]): nothing in the loop waits, or may end it. */
static bool script_processes_starts_endlessly(struct script_reader *r, size_t i)
{
	static const char goes_on[] = " require print log start node_modules child_process cp ";
	static const char ends[] = " if unless case switch break return await yield throw raise "
				   "sleep wait die exit next gets read and or with stdout ";
	size_t body = script_processes_endless(&r->t, i), end;
	bool any = false;

	if (!body)
		return false;
	end = script_is_char(&r->t, body - 1, ':') ? script_loop_end(r, i)
						   : script_loop_body_end(r, body);
	for (size_t k = body; k < end && script_step(r, 1); k++) {
		bool start = script_token_in(&r->t, k, starts);

		if (script_token_in(&r->t, k, ends) || script_is_char(&r->t, k, '?') ||
		    script_is_char(&r->t, k, '&') || script_is_char(&r->t, k, '|') ||
		    (r->t.tokens[k].kind == TOKEN_NAME && script_is_char(&r->t, k + 1, '(') &&
		     !start && !script_token_in(&r->t, k, goes_on)))
			return false;
		any |= start;
	}
	return any;
}

bool script_is_fork_bomb(struct script_reader *r)
{
	static const char ends[] = " exit _exit wait waitpid wait3 wait4 execv execvp execve execl "
				   "execlp isMaster isPrimary isWorker ";

	if (script_any_name(&r->t, starts) && script_step(r, STATEMENT_STEPS))
		for (size_t i = 0; i < r->t.count; i++)
			if (script_processes_starts_endlessly(r, i))
				return true;
	if (script_any_name(&r->t, ends) && !script_any(&r->t, script_processes_fork_blindly))
		return false;
	return script_processes_restart(r) || script_processes_forks_in_loop(r);
}
