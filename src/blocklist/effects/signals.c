/*
 * kill, pkill, killall: which processes get the signal; and commands that end each item of a
 * list. The table cannot describe kill's words: a negative number is a signal in one place and
 * a process group in another.
 */
#include "blocklist/effects/readers.h"

#include <stdlib.h>
#include <string.h>

#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/listing.h"

/* Steps of the budget for each word of pkill, which may be a pattern. */
#define WORK_PATTERN_WORD 70u

/* The index of the first id, after the signal. *@none: signal 0 or --list, which kill nothing. */
static size_t signals_skip_signal(const struct shell_word *words, size_t count, bool *none)
{
	size_t i = 1;

	*none = false;
	if (i < count && word_in(&words[i], " -s -n --signal ")) {
		*none = i + 1 < count && word_is(&words[i + 1], "0");
		i += 2;
	} else if (i < count && words[i].text.s[0] == '-' && !word_is(&words[i], "--")) {
		*none = word_in(&words[i], " -0 -l -L --list --help -V ");
		i++;
	}
	return i + (i < count && word_is(&words[i], "--"));
}

/* [0-9]* in /proc: the ids of all processes; or a number of {2..65535}. */
static bool signals_is_any(const struct shell_word *w)
{
	const struct shell_unknown *u = w->text.len ? shell_word_unknown(w, 0) : NULL;

	return (w->text.len > 1 && w->kind[0] == SHELL_GLOB) ||
	       (w->text.len == 1 && u && strcmp(u->name, SHELL_RANGE) == 0);
}

static const char *signals_kill_effect(const struct shell_word *words, size_t count)
{
	bool none;
	size_t i = signals_skip_signal(words, count, &none);

	if (none)
		return NULL;
	for (; i < count; i++) {
		const char *text = shell_word_constant(&words[i]);
		char *end;
		long id;

		if (!text) {
			if (signals_is_any(&words[i]))
				return "kill_all";
			continue;
		}
		id = strtol(text, &end, 10);
		if (*end || end == text)
			continue;
		if (id == -1)
			return "kill_all";
		if (id == 1)
			return "kill_init";
	}
	return NULL;
}

/* Does the pattern @w match every process, or nearly every? */
static bool signals_fits_everything(const struct shell_word *w)
{
	const char *s = w->text.s;

	if (!shell_word_constant(w))
		return false;
	if (w->text.len == 1 && *s >= 'a' && *s <= 'z')
		return true;
	return strspn(s, ".*^$?+|()[]/- :\\") == w->text.len || strcmp(s, "\\w") == 0 ||
	       strcmp(s, "[a-z]") == 0 || strcmp(s, "[a-z]*") == 0 ||
	       strcmp(s, "[[:alnum:]]") == 0 || strcmp(s, "[^ ]") == 0 || strcmp(s, "\\w+") == 0;
}

/* Is it a signal, -USR1 or -9, not a cluster of options? */
static bool signals_is_signal(const struct shell_word *w)
{
	return w->text.len > 2 && w->text.s[0] == '-' &&
	       strspn(w->text.s + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-") == w->text.len - 1 &&
	       w->text.s[1] != '-';
}

static const char *signals_pkill_effect(const struct shell_word *words, size_t count,
					struct action_list *out)
{
	static const char values[] = " -u -U -g -G -P -s -t -F --euid --uid --group "
				     "--signal --parent --session --terminal --pidfile --user "
				     "-y --younger-than --older-than --ns ";
	struct args *a = out->args;
	const char *effect = NULL;
	struct shell_word *rest = shell_alloc(out->arena, count * sizeof(*rest));
	size_t n = 0;
	bool of_user;

	for (size_t i = 0; i < count; i++)
		if (!signals_is_signal(&words[i]))
			rest[n++] = words[i];
	args_read(a, rest, n, values, false);
	of_user = args_has(a, " -u -U --euid --uid --user ");
	if (!args_has(a, " -l --list --help -V --version -0 ")) {
		if (args_has(a, " -v --inverse ") || (of_user && !a->operand_count))
			effect = "kill_pattern";
		if (args_has(a, " -P=1 --parent=1 ")) /* children of init: most daemons */
			effect = "kill_pattern";
		for (size_t i = 0; i < a->operand_count; i++)
			if (signals_fits_everything(a->operands[i]))
				effect = "kill_pattern";
	}
	return effect;
}

void read_kill(const struct command *cmd, struct action_list *out)
{
	const char *effect = signals_kill_effect(cmd->words, cmd->count);

	if (effect && !(cmd->at->elsewhere && !strcmp(effect, "kill_init")))
		action_found(out, effect, cmd->words, cmd->count);
}

void read_pkill(const struct command *cmd, struct action_list *out)
{
	const char *effect;

	if (!action_charge(out, WORK_PATTERN_WORD * cmd->count))
		return;
	effect = signals_pkill_effect(cmd->words, cmd->count, out);
	if (effect)
		action_found(out, effect, cmd->words, cmd->count);
}

/* kill $(ps -e), dpkg -l | xargs apt purge: the list comes from xargs, $(...) or a variable. */
void read_listed(const struct command *cmd, struct action_list *out)
{
	const struct place *at = cmd->at;
	bool fed = at->each || word_is(&cmd->words[cmd->count - 1], "-");
	unsigned flow = fed ? at->input_flow & FLOW_LISTS : 0;
	const char *effect;

	if (at->flows && (at->flows->flows & FLOW_LISTS) && at->index != SHELL_NONE)
		flow = dataflow_lists(at->flows, at->index, cmd->words, cmd->count, flow);
	effect = flow ? listing_taken(cmd->words, cmd->count, flow) : NULL;
	if (effect)
		action_found(out, effect, cmd->words, cmd->count);
}
