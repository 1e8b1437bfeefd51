#include "blocklist/command/names.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "blocklist/command/args.h"
#include "blocklist/command/list.h"

#define NAME_MAX_BYTES 64
#define SLOTS 4096

/* blocklist_names by hash, filled once: the number of each, counted from 1; 0: empty. More than
 * twice as many slots as names. */
static uint16_t slots[SLOTS];

static void names_fill_slots(void)
{
	BUG_IF(blocklist_name_count * 2 > SLOTS);
	_Static_assert(SLOTS <= UINT16_MAX, "a number fits");
	for (unsigned i = 0; i < blocklist_name_count; i++) {
		uint32_t at = str_hash(blocklist_names[i].name, strlen(blocklist_names[i].name));

		while (slots[at % SLOTS])
			at++;
		slots[at % SLOTS] = (uint16_t)(i + 1);
	}
}

static const struct blocklist_name *names_search(const char *text, size_t len)
{
	static bool filled;

	if (!filled) {
		names_fill_slots();
		filled = true;
	}
	for (uint32_t at = str_hash(text, len); slots[at % SLOTS]; at++) {
		const struct blocklist_name *found = &blocklist_names[slots[at % SLOTS] - 1];

		if (*found->name == *text && strncmp(found->name, text, len) == 0 &&
		    !found->name[len])
			return found;
	}
	return NULL;
}

const struct blocklist_name *name_lookup(const char *text, size_t len)
{
	const struct blocklist_name *name;
	char prefix[NAME_MAX_BYTES];
	size_t cut = len;
	const char *dot;

	if (!len || len >= sizeof(prefix) - 2)
		return NULL;
	name = names_search(text, len);
	if (name)
		return name;
	while (cut && ((text[cut - 1] >= '0' && text[cut - 1] <= '9') || text[cut - 1] == '.' ||
		       text[cut - 1] == '-'))
		cut--;
	if (cut && cut < len)
		name = names_search(text, cut);
	dot = memchr(text, '.', len);
	if (name || !dot)
		return name;
	cut = (size_t)(dot - text);
	memcpy(prefix, text, cut);
	memcpy(prefix + cut, ".*", 2);
	return names_search(prefix, cut + 2);
}

struct shell_text name_base(const struct shell_word *word, bool *foreign)
{
	struct shell_text base = word->text;
	const char *slash = memrchr(base.s, '/', base.len);

	*foreign = false;
	if (!slash)
		return base;
	*foreign = base.s[0] != '/' && word->kind[0] == SHELL_LITERAL;
	base.len -= (size_t)(slash + 1 - base.s);
	base.s = slash + 1;
	return base;
}

const struct blocklist_name *name_of(const struct shell_word *word)
{
	bool foreign;
	struct shell_text base = name_base(word, &foreign);

	return name_lookup(base.s, base.len);
}

bool name_in(const struct shell_word *word, const char *list)
{
	bool foreign;
	struct shell_text base = name_base(word, &foreign);

	return list_has(list, base.s, base.len);
}

/* ---- patterns ---- */

/* Length of each name in blocklist_names. */
static uint8_t name_lengths[2048];

static void names_fill_lengths(void)
{
	BUG_IF(blocklist_name_count > COUNT_OF(name_lengths));
	for (unsigned i = 0; i < blocklist_name_count; i++)
		name_lengths[i] = (uint8_t)strlen(blocklist_names[i].name);
}

struct name_pattern name_pattern_make(const struct shell_text *base,
				      const uint8_t *kind, struct shell_arena *arena)
{
	struct name_pattern p = { .text = shell_alloc(arena, base->len * 2 + 1) };

	if (!name_lengths[0])
		names_fill_lengths();
	for (size_t i = 0; i < base->len; i++) {
		bool glob = kind[i] == SHELL_GLOB && base->s[i] != ']';
		bool plain = kind[i] == SHELL_LITERAL;

		if (glob && base->s[i] == '[')
			while (i + 1 < base->len && base->s[i] != ']')
				i++;
		if (plain && strchr("*?\\", base->s[i]))
			p.text[p.len++] = '\\';
		else if (plain && !p.len)
			p.first = base->s[i];
		p.text[p.len] = plain ? base->s[i] : glob && base->s[i] != '*' ? '?' : '*';
		p.last = plain ? base->s[i] : '\0';
		p.least += plain || p.text[p.len] == '?';
		p.open |= !plain && p.text[p.len] == '*';
		p.len++;
	}
	return p;
}

bool name_pattern_fits(const struct name_pattern *p, unsigned i)
{
	const char *name = blocklist_names[i].name;
	size_t len = name_lengths[i];

	if ((p->first && name[0] != p->first) || (p->last && name[len - 1] != p->last) ||
	    (p->open ? len < p->least : len != p->least))
		return false;
	return args_glob_fits(p->text, p->len, name, len);
}

bool name_is_pattern(const struct shell_text *base, const uint8_t *kind)
{
	for (size_t i = 0; i < base->len; i++)
		if (kind[i] != SHELL_LITERAL)
			return true;
	return false;
}

bool name_pattern_fits_any(const struct shell_word *word, const struct shell_text *base,
			   const uint8_t *kind)
{
	size_t letters = 0;
	bool open = false, unknown = false;

	for (size_t i = 0; i < base->len; i++) {
		char c = base->s[i];

		letters += kind[i] == SHELL_LITERAL &&
			   ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
		unknown |= kind[i] != SHELL_LITERAL && kind[i] != SHELL_GLOB;
		open |= c == '*' && kind[i] == SHELL_GLOB;
	}
	if (unknown)
		return letters < 2;
	return !letters && (open || word->text.s[0] != '/');
}
