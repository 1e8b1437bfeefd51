#include "blocklist/command/word.h"

/* Steps of the budget for an item. */
#define WORK_ITEM 30u
/* And for a byte of a word that grows and has unknown parts, which take more memory. */
#define WORK_GROW 4u

bool words_have(const struct shell_word *words, size_t count, const char *list)
{
	for (size_t i = 1; i < count; i++)
		if (word_in(&words[i], list))
			return true;
	return false;
}

bool words_have_letter(const struct shell_word *words, size_t count, const char *letters)
{
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s;

		if (s[0] == '-' && s[1] != '-' && strpbrk(s, letters))
			return true;
	}
	return false;
}

/* ---- building ---- */

static struct word_builder word_builder_make(struct shell_arena *arena, size_t room)
{
	return (struct word_builder){ .s = shell_alloc(arena, room + 1),
				      .at = shell_alloc(arena, (room + 1) * sizeof(uint32_t)),
				      .kind = shell_alloc(arena, room + 1),
				      .room = room, .arena = arena };
}

static void word_builder_add(struct word_builder *b, const struct shell_word *w, size_t from,
			     size_t to)
{
	size_t len = to - from;

	if (!len)
		return;
	memcpy(b->s + b->len, w->text.s + from, len);
	memcpy(b->kind + b->len, w->kind + from, len);
	for (size_t i = 0; i < len; i++)
		b->at[b->len + i] = w->text.at ? w->text.at[from + i] : (uint32_t)(from + i);
	/* Not from the first one on: many slices of one word would take them all each time. */
	for (uint32_t i = shell_word_unknowns_before(w, from);
	     i < w->unknown_count && w->unknowns[i].index < to; i++) {
		struct shell_unknown u = w->unknowns[i];

		if (!b->unknowns)
			b->unknowns = shell_alloc(b->arena, (b->room + 1) * sizeof(u));
		u.index = (uint32_t)(u.index - from + b->len);
		b->unknowns[b->unknown_count++] = u;
	}
	b->len += len;
}

static void word_builder_space(struct word_builder *b, uint32_t at)
{
	b->s[b->len] = ' ';
	b->kind[b->len] = SHELL_LITERAL;
	b->at[b->len++] = at;
}

static struct shell_word word_builder_word(const struct word_builder *b, uint32_t start,
					   uint32_t end)
{
	shell_word_settle(b->s, b->kind, b->len, b->unknowns, b->unknown_count);
	return (struct shell_word){ .text = { .s = b->s, .at = b->at, .len = b->len },
				    .kind = b->kind, .start = start, .end = end,
				    .unknowns = b->unknowns,
				    .unknown_count = (uint32_t)b->unknown_count };
}

/* Room for @more bytes, and for half as many as there are: many small additions copy little. */
static void word_builder_reserve(struct word_builder *b, size_t more, struct shell_arena *arena)
{
	struct shell_word old;

	if (b->arena && b->len + more <= b->room)
		return;
	old = word_builder_word(b, 0, 0);
	*b = word_builder_make(arena, (b->len + more) / 2 * 3 + 16);
	word_builder_add(b, &old, 0, old.text.len);
}

void word_grow(struct word_builder *b, const struct shell_word *more, struct shell_budget *budget,
	       struct shell_arena *arena)
{
	size_t unknowns = b->unknown_count;
	unsigned work = b->unknowns || more->unknown_count ? WORK_GROW : 1;

	if (shell_arena_spent(arena) || !shell_budget_take(budget, work * (more->text.len + 1)))
		return;
	word_builder_reserve(b, more->text.len, arena);
	word_builder_add(b, more, 0, more->text.len);
	for (; unknowns < b->unknown_count; unknowns++) {
		const char *name = b->unknowns[unknowns].name;
		size_t len = strlen(name);

		if (shell_budget_take(budget, len))
			b->unknowns[unknowns].name = shell_copy(arena, name, len);
		else
			b->unknowns[unknowns].name = "";
	}
}

struct shell_word word_grown(const struct word_builder *b)
{
	uint32_t start = b->len ? b->at[0] : 0;

	return word_builder_word(b, start, start);
}

struct shell_word word_join(const struct shell_word *words, size_t count,
			    struct shell_arena *arena)
{
	struct word_builder b;
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += words[i].text.len + 1;
	b = word_builder_make(arena, room);
	for (size_t i = 0; i < count; i++) {
		if (i)
			word_builder_space(&b, words[i].start);
		word_builder_add(&b, &words[i], 0, words[i].text.len);
	}
	return word_builder_word(&b, count ? words[0].start : 0, count ? words[count - 1].end : 0);
}

struct shell_word word_replace(const struct shell_word *word, const char *old, size_t len,
			       const struct shell_word *value, struct shell_budget *budget,
			       struct shell_arena *arena)
{
	const char *s = word->text.s;
	uint64_t hits = 0, room;
	size_t from = 0;
	struct word_builder b;

	if (!shell_budget_take(budget, word->text.len))
		return *word;
	for (size_t i = 0; i + len <= word->text.len; i++)
		hits += memcmp(s + i, old, len) == 0;
	room = word->text.len + hits * value->text.len;
	if (!shell_budget_take(budget, room))
		return *word;
	b = word_builder_make(arena, (size_t)room);
	for (size_t i = 0; i + len <= word->text.len;) {
		if (memcmp(s + i, old, len)) {
			i++;
			continue;
		}
		word_builder_add(&b, word, from, i);
		word_builder_add(&b, value, 0, value->text.len);
		i += len;
		from = i;
	}
	word_builder_add(&b, word, from, word->text.len);
	return word_builder_word(&b, word->start, word->end);
}

struct shell_word word_slice(const struct shell_word *word, size_t from, size_t to,
			     struct shell_arena *arena)
{
	struct word_builder b = word_builder_make(arena, to - from);

	word_builder_add(&b, word, from, to);
	return word_builder_word(&b, word->start, word->end);
}

struct shell_word word_concat(const struct shell_word *a, const struct shell_word *b,
			      struct shell_arena *arena)
{
	const struct shell_word both[] = { *a, *b };

	return word_concat_all(both, 2, arena);
}

struct shell_word word_concat_all(const struct shell_word *words, size_t count,
				  struct shell_arena *arena)
{
	struct word_builder out;
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += words[i].text.len;
	out = word_builder_make(arena, room);
	for (size_t i = 0; i < count; i++)
		word_builder_add(&out, &words[i], 0, words[i].text.len);
	return word_builder_word(&out, words[0].start, words[0].end);
}

struct shell_word word_fixed(const char *text, uint8_t kind, const struct shell_word *near,
			     struct shell_arena *arena)
{
	size_t len = strlen(text);
	uint8_t *kinds = shell_alloc(arena, len + 1);
	uint32_t *at = shell_alloc(arena, (len + 1) * sizeof(*at));

	memset(kinds, kind, len);
	for (size_t i = 0; i < len; i++)
		at[i] = near ? near->start : 0;
	return (struct shell_word){ .text = { .s = text, .at = at, .len = len }, .kind = kinds,
				    .start = near ? near->start : 0, .end = near ? near->end : 0 };
}

struct shell_word word_quote(const struct shell_word *words, size_t count,
			     struct shell_budget *budget, struct shell_arena *arena)
{
	struct shell_word *list = shell_alloc(arena, (count + 1) * sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		struct shell_word quote = word_fixed("'", SHELL_LITERAL, &words[i], arena);
		struct shell_word escape = word_fixed("'\\''", SHELL_LITERAL, &words[i], arena);
		struct shell_word safe = word_replace(&words[i], "'", 1, &escape, budget, arena);
		const struct shell_word parts[] = { quote, safe, quote };

		list[i] = word_concat_all(parts, 3, arena);
	}
	return word_join(list, count, arena);
}

struct shell_word word_path(const struct shell_word *place, const struct shell_word *name,
			    struct shell_arena *arena)
{
	struct shell_word slash = word_fixed("/", SHELL_LITERAL, place, arena);
	const struct shell_word parts[] = { *place, slash, *name };
	struct shell_word path = word_concat_all(parts, 3, arena);

	path.gone_from = place->gone_from;
	path.gone_to = place->gone_to;
	return path;
}

struct shell_word word_below(const struct shell_word *place, struct shell_arena *arena)
{
	struct shell_word star;

	if (!place || !place->text.len ||
	    (place->text.len == 1 && place->kind[0] >= SHELL_UNKNOWN))
		return word_fixed("?", SHELL_UNKNOWN, place, arena);
	star = word_fixed("*", SHELL_GLOB, place, arena);
	return word_path(place, &star, arena);
}

/* ---- items ---- */

struct items {
	struct shell_word *list;
	size_t count, room;
};

static void word_items_add(struct items *items, struct shell_word item, struct shell_arena *arena)
{
	if (items->count == items->room)
		items->list = shell_grow(arena, items->list, &items->room, 0, sizeof(item));
	items->list[items->count++] = item;
}

size_t word_items(const struct shell_word *text, bool lines, struct shell_budget *budget,
		  struct shell_arena *arena, struct shell_word **list)
{
	const char *stops = lines ? "\n" : " \t\n", *s = text->text.s;
	struct items items = { .room = 8 };
	size_t i = 0;

	items.list = shell_alloc_raw(arena, items.room * sizeof(*items.list));
	while (i < text->text.len && shell_budget_take(budget, WORK_ITEM) &&
	       !shell_arena_spent(arena)) {
		size_t from, quoted = 0;

		while (i < text->text.len && (strchr(stops, s[i]) || !s[i]))
			i++;
		from = i;
		if (!lines && i < text->text.len && (s[i] == '"' || s[i] == '\'')) {
			const char *end = memchr(s + i + 1, s[i], text->text.len - i - 1);

			quoted = end != NULL;
			i = end ? (size_t)(end - s) : i;
		}
		while (i < text->text.len && s[i] && !strchr(stops, s[i]))
			i++;
		if (i > from)
			word_items_add(&items, word_slice(text, from + quoted, i - quoted, arena),
				       arena);
	}
	shell_budget_take(budget, i); /* many commands may read the same input */
	*list = items.list;
	return items.count;
}
