#include "blocklist/command/action.h"

#include <string.h>

#include "blocklist/command/word.h"

bool action_charge(struct action_list *out, uint64_t steps)
{
	return shell_budget_take(out->budget, steps) && !shell_arena_spent(out->arena);
}

struct action *action_add(struct action_list *out, enum action_kind kind, unsigned flags)
{
	struct action *action;

	if (out->count == out->room)
		out->list = shell_grow(out->arena, out->list, &out->room, 4, sizeof(*out->list));
	action = &out->list[out->count++];
	*action = (struct action){ .kind = kind, .flags = flags };
	return action;
}

void action_script(struct action_list *out, const struct shell_word *word,
		   const struct shell_word *words, size_t count, unsigned flags)
{
	struct action *a = action_add(out, ACTION_TEXT, flags);

	a->word = word;
	a->words = words;
	a->count = count;
}

static const struct shell_word *action_copy(struct action_list *out, const struct shell_word *word)
{
	struct shell_word *copy = shell_alloc_raw(out->arena, sizeof(*copy));

	*copy = *word;
	return copy;
}

void action_words(struct action_list *out, const struct shell_word *words, size_t count,
		  unsigned flags)
{
	struct action *a = action_add(out, ACTION_WORDS, flags);

	a->words = words;
	a->count = count;
}

void action_named(struct action_list *out, const struct blocklist_name *name,
		  const struct shell_word *words, size_t count)
{
	struct action *a = action_add(out, ACTION_NAMED, 0);

	a->name = name;
	a->words = words;
	a->count = count;
}

void action_text(struct action_list *out, const struct shell_word *word, unsigned flags)
{
	action_add(out, ACTION_TEXT, flags)->word = action_copy(out, word);
}

void action_text_part(struct action_list *out, const struct shell_word *word, size_t from,
		      size_t to, unsigned flags)
{
	struct shell_word text = word_slice(word, from, to, out->arena);

	action_text(out, &text, flags);
}

void action_touch(struct action_list *out, const char *effect, const struct shell_word *word)
{
	struct action *a = action_add(out, ACTION_TOUCH, 0);

	a->effect = effect;
	a->word = action_copy(out, word);
}

void action_file(struct action_list *out, const struct shell_word *file,
		 const struct shell_word *words, size_t count, unsigned flags)
{
	struct action *a = action_add(out, ACTION_FILE, flags);

	a->word = file;
	a->words = words;
	a->count = count;
}

void action_found(struct action_list *out, const char *effect, const struct shell_word *words,
		  size_t count)
{
	struct action *a = action_add(out, ACTION_FOUND, 0);

	a->effect = effect;
	a->words = words;
	a->count = count;
}

void action_flow(struct action_list *out, unsigned flow, const struct shell_word *words,
		 size_t count)
{
	struct action *a;

	if (!(flow & FLOW_TEXTS))
		return;
	a = action_add(out, ACTION_FLOW, 0);
	a->flow = flow;
	a->words = words;
	a->count = count;
}

void action_chdir(struct action_list *out, const struct shell_word *word, unsigned flags)
{
	struct action *a = action_add(out, ACTION_CHDIR, flags);

	a->word = word ? action_copy(out, word) : NULL;
}
