#include "blocklist/effects/makefile_names.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "blocklist/command/word.h"
#include "shell/arena.h"

struct makefile_name {
	const char *name;
	size_t len;
	bool marked;
	const struct shell_word *value;
	struct word_builder text; /* of @grown, which is the value if more was added to it */
	struct shell_word grown;
	struct makefile_name *next; /* of the bucket */
};

static struct makefile_name *makefile_names_find(const struct makefile_names *names,
						 const char *name, size_t len, uint32_t hash)
{
	struct makefile_name *n = names->buckets[hash & names->mask];
	size_t passed = 0;

	for (; n && (n->len != len || memcmp(n->name, name, len) != 0); n = n->next)
		passed++;
	action_charge(names->out, passed);
	return n;
}

void makefile_names_init(struct makefile_names *names, size_t count, struct action_list *out)
{
	size_t buckets = 16;

	while (buckets < count)
		buckets *= 2;
	names->out = out;
	names->buckets = shell_alloc(out->arena, buckets * sizeof(*names->buckets));
	names->mask = buckets - 1;
	names->longest = 0;
}

/* The name, added if it is not there. */
static struct makefile_name *makefile_names_entry(struct makefile_names *names, const char *name,
						  size_t len)
{
	uint32_t hash = str_hash(name, len);
	struct makefile_name **bucket = &names->buckets[hash & names->mask];
	struct makefile_name *n = makefile_names_find(names, name, len, hash);

	if (n)
		return n;
	n = shell_alloc(names->out->arena, sizeof(*n));
	*n = (struct makefile_name){ .name = name, .len = len, .next = *bucket };
	*bucket = n;
	if (len > names->longest)
		names->longest = len;
	return n;
}

void makefile_names_add(struct makefile_names *names, const char *name, size_t len)
{
	makefile_names_entry(names, name, len);
}

void makefile_names_set(struct makefile_names *names, const char *name, size_t len,
			const struct shell_word *value, bool again)
{
	struct makefile_name *n = makefile_names_entry(names, name, len);

	if (again || !n->value)
		n->value = value;
}

void makefile_names_append(struct makefile_names *names, const char *name, size_t len,
			   const struct shell_word *more)
{
	struct makefile_name *n = makefile_names_entry(names, name, len);

	if (!n->value) {
		n->value = more;
		return;
	}
	if (n->value != &n->grown) {
		n->text = (struct word_builder){ .s = NULL };
		word_grow(&n->text, n->value, names->out->budget, names->out->arena);
	}
	word_grow(&n->text, more, names->out->budget, names->out->arena);
	if (n->text.s)
		n->value = &n->grown;
}

const struct shell_word *makefile_names_value(const struct makefile_names *names,
					      const char *name, size_t len)
{
	struct makefile_name *n =
		makefile_names_find(names, name, len, str_hash(name, len));

	if (!n)
		return NULL;
	if (n->value == &n->grown)
		n->grown = word_grown(&n->text);
	return n->value;
}

bool makefile_names_has(const struct makefile_names *names, const char *name, size_t len)
{
	return makefile_names_find(names, name, len, str_hash(name, len)) != NULL;
}

/* Mark the names that begin at @s: the word there, and those that dashes join with it. Returns how
 * many characters it has looked at. */
static size_t makefile_names_mark_at(struct makefile_names *names, const char *s,
				     const struct makefile_name *own)
{
	uint32_t hash = STR_HASH_INIT;
	size_t len = 0;

	while (len < names->longest && (str_is_name_char(s[len]) || s[len] == '-')) {
		struct makefile_name *n;

		hash = str_hash_byte(hash, s[len]);
		if (!str_is_name_char(s[len++]) || str_is_name_char(s[len]))
			continue;
		n = makefile_names_find(names, s, len, hash);
		if (n && n != own)
			n->marked = true;
	}
	return len;
}

const struct makefile_name *makefile_names_get(const struct makefile_names *names,
					       const char *name, size_t len)
{
	return makefile_names_find(names, name, len, str_hash(name, len));
}

void makefile_names_mark(struct makefile_names *names, const struct shell_word *line,
			 const struct makefile_name *own)
{
	const char *s = line->text.s;
	size_t looked_at;

	while (*s) {
		if (!str_is_name_char(*s)) {
			s++;
			continue;
		}
		looked_at = makefile_names_mark_at(names, s, own);
		while (str_is_name_char(*s))
			s++;
		if (!action_charge(names->out, 2 + looked_at))
			return;
	}
}

bool makefile_names_marked(const struct makefile_names *names, const char *name, size_t len)
{
	const struct makefile_name *n =
		makefile_names_find(names, name, len, str_hash(name, len));

	return n && n->marked;
}
