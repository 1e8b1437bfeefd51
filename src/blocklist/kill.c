#include "blocklist/kill.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/args.h"
#include "shell/parse.h"

static bool is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

/* The signal options before the ids: where these begin. *@none: signal 0, or only a list. */
static size_t skip_signal(const struct shell_word *words, size_t count, bool *none)
{
	size_t i = 1;

	*none = false;
	if (i < count &&
	    (is(&words[i], "-s") || is(&words[i], "-n") || is(&words[i], "--signal"))) {
		*none = i + 1 < count && is(&words[i + 1], "0");
		i += 2;
	} else if (i < count && words[i].text.s[0] == '-' && !is(&words[i], "--")) {
		*none = is(&words[i], "-0") || is(&words[i], "-l") || is(&words[i], "-L") ||
			is(&words[i], "--list") || is(&words[i], "--help") || is(&words[i], "-V");
		i++;
	}
	return i + (i < count && is(&words[i], "--"));
}

const char *blocklist_kill_effect(const struct shell_word *words, size_t count)
{
	bool none;
	size_t i = skip_signal(words, count, &none);

	if (none)
		return NULL;
	for (; i < count; i++) {
		const char *text = shell_word_constant(&words[i]);
		char *end;
		long id;

		if (!text) {
			/* [0-9]* out of /proc: ids that a pattern stands for */
			if (words[i].text.len > 1 && words[i].kind[0] == SHELL_GLOB)
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

/* A pattern that fits every process, or nearly. */
static bool fits_everything(const struct shell_word *w)
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

/* -USR1 is a signal, not a cluster of letters. */
static bool is_signal(const struct shell_word *w)
{
	return w->text.len > 2 && w->text.s[0] == '-' &&
	       strspn(w->text.s + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-") == w->text.len - 1 &&
	       w->text.s[1] != '-';
}

const char *blocklist_pkill_effect(const struct shell_word *words, size_t count)
{
	static const char values[] = " -u -U -g -G -P -s -t -F --euid --uid --group "
				     "--signal --parent --session --terminal --pidfile --user "
				     "-y --younger-than --older-than --ns ";
	struct blocklist_args a = { 0 };
	const char *effect = NULL;
	struct shell_word *rest = mem_zalloc(count * sizeof(*rest));
	size_t n = 0;
	bool of_user;

	for (size_t i = 0; i < count; i++)
		if (!is_signal(&words[i]))
			rest[n++] = words[i];
	blocklist_args_read(&a, rest, n, values, false);
	of_user = blocklist_args_has(&a, " -u -U --euid --uid --user ");
	if (!blocklist_args_has(&a, " -l --list --help -V --version -0 ")) {
		if (blocklist_args_has(&a, " -v --inverse ") || (of_user && !a.operand_count))
			effect = "kill_pattern";
		if (blocklist_args_has(&a, " -P=1 --parent=1 ")) /* most of what runs */
			effect = "kill_pattern";
		for (size_t i = 0; i < a.operand_count; i++)
			if (fits_everything(a.operands[i]))
				effect = "kill_pattern";
	}
	blocklist_args_release(&a);
	free(rest);
	return effect;
}
