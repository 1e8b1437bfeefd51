/* Words that are put together of others; each byte keeps its place. Declared in shell_wrap.h. */
#include "blocklist/wrap.h"

#include <string.h>

struct builder {
	char *s;
	uint32_t *at;
	uint8_t *kind;
	size_t len;
	struct shell_unknown *unknowns; /* room for one per byte, made when needed */
	size_t unknown_count;
	size_t room;
	struct shell_arena *arena;
};

static struct builder build(struct shell_arena *arena, size_t room)
{
	return (struct builder){ shell_alloc(arena, room + 1),
				 shell_alloc(arena, (room + 1) * sizeof(uint32_t)),
				 shell_alloc(arena, room + 1), 0, NULL, 0, room, arena };
}

static void add(struct builder *b, const struct shell_word *w, size_t from, size_t to)
{
	size_t len = to - from;

	if (!len)
		return;
	memcpy(b->s + b->len, w->text.s + from, len);
	memcpy(b->kind + b->len, w->kind + from, len);
	for (size_t i = 0; i < len; i++)
		b->at[b->len + i] = w->text.at ? w->text.at[from + i] : (uint32_t)(from + i);
	for (size_t i = 0; i < w->unknown_count; i++) {
		struct shell_unknown u = w->unknowns[i];

		if (u.index < from || u.index >= to)
			continue;
		if (!b->unknowns)
			b->unknowns = shell_alloc(b->arena, (b->room + 1) * sizeof(u));
		u.index = (uint32_t)(u.index - from + b->len);
		b->unknowns[b->unknown_count++] = u;
	}
	b->len += len;
}

static void add_space(struct builder *b, uint32_t at)
{
	b->s[b->len] = ' ';
	b->kind[b->len] = SHELL_LITERAL;
	b->at[b->len++] = at;
}

static struct shell_word built(const struct builder *b, uint32_t start, uint32_t end)
{
	return (struct shell_word){ .text = { .s = b->s, .at = b->at, .len = b->len },
				    .kind = b->kind, .start = start, .end = end,
				    .unknowns = b->unknowns,
				    .unknown_count = (uint32_t)b->unknown_count };
}

struct shell_word shell_wrap_join(const struct shell_word *words, size_t count,
				  struct shell_arena *arena)
{
	struct builder b;
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += words[i].text.len + 1;
	b = build(arena, room);
	for (size_t i = 0; i < count; i++) {
		if (i)
			add_space(&b, words[i].start);
		add(&b, &words[i], 0, words[i].text.len);
	}
	return built(&b, count ? words[0].start : 0, count ? words[count - 1].end : 0);
}

struct shell_word shell_wrap_replace(const struct shell_word *word, const char *old, size_t len,
				     const struct shell_word *value, struct shell_arena *arena)
{
	const char *s = word->text.s;
	size_t hits = 0, from = 0;
	struct builder b;

	for (size_t i = 0; i + len <= word->text.len; i++)
		hits += memcmp(s + i, old, len) == 0;
	if (hits && value->text.len > SHELL_WRAP_TEXT_MAX / hits) {
		shell_arena_exhaust(arena);
		return *word;
	}
	b = build(arena, word->text.len + hits * value->text.len);
	for (size_t i = 0; i + len <= word->text.len;) {
		if (memcmp(s + i, old, len)) {
			i++;
			continue;
		}
		add(&b, word, from, i);
		add(&b, value, 0, value->text.len);
		i += len;
		from = i;
	}
	add(&b, word, from, word->text.len);
	return built(&b, word->start, word->end);
}

struct shell_word shell_wrap_slice(const struct shell_word *word, size_t from, size_t to,
				   struct shell_arena *arena)
{
	struct builder b = build(arena, to - from);

	add(&b, word, from, to);
	return built(&b, word->start, word->end);
}

static struct shell_word fixed_word(const char *text, uint32_t at, struct shell_arena *arena)
{
	size_t len = strlen(text);
	uint32_t *where = shell_alloc(arena, (len + 1) * sizeof(*where));

	for (size_t i = 0; i < len; i++)
		where[i] = at;
	return (struct shell_word){ .text = { .s = text, .at = where, .len = len },
				    .kind = shell_alloc(arena, len + 1), .start = at, .end = at };
}

struct shell_word shell_wrap_quote(const struct shell_word *words, size_t count,
				   struct shell_arena *arena)
{
	struct shell_word *list = shell_alloc(arena, (count + 1) * sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		struct shell_word marker = fixed_word("'\1'", words[i].start, arena);
		struct shell_word escape = fixed_word("'\\''", words[i].start, arena);
		struct shell_word safe = shell_wrap_replace(&words[i], "'", 1, &escape, arena);

		list[i] = shell_wrap_replace(&marker, "\1", 1, &safe, arena);
	}
	return shell_wrap_join(list, count, arena);
}
