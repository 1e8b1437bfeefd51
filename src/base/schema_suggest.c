/* Suggests a parameter for an unknown name. Declared in schema.h. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/schema.h"
#include "base/strtab.h"

#define NAME_MAX_LEN 64 /* longer names get no suggestion */

/* Name endings that stand for a unit. */
static const struct unit {
	const char *word, *name;
	bool of_time; /* else of text */
} units[] = {
	{ "ms", "milliseconds", true }, { "msec", "milliseconds", true },
	{ "msecs", "milliseconds", true }, { "millis", "milliseconds", true },
	{ "milliseconds", "milliseconds", true },
	{ "s", "seconds", true }, { "sec", "seconds", true }, { "secs", "seconds", true },
	{ "seconds", "seconds", true },
	{ "min", "minutes", true }, { "mins", "minutes", true }, { "minutes", "minutes", true },
	{ "hours", "hours", true },
	{ "bytes", "bytes", false }, { "kb", "KB", false }, { "kib", "KiB", false },
	{ "mb", "MB", false }, { "mib", "MiB", false }, { "gb", "GB", false },
	{ "gib", "GiB", false }, { "lines", "lines", false }, { "chars", "characters", false },
	{ "tokens", "tokens", false },
};

/* A name in lower case without its separators, and the start of its last word. */
struct folded {
	char text[NAME_MAX_LEN + 1];
	size_t last; /* 0: it has one word */
	const struct unit *unit; /* that the last word names, or NULL */
};

static void schema_suggest_fold(const char *name, struct folded *f)
{
	size_t len = 0;
	bool was_lower = false;

	*f = (struct folded){ 0 };
	for (; *name && len < NAME_MAX_LEN; name++) {
		bool lower = islower((unsigned char)*name) || isdigit((unsigned char)*name);

		if (!isalnum((unsigned char)*name)) {
			f->last = len;
			continue;
		}
		if (was_lower && !lower)
			f->last = len;
		was_lower = lower;
		f->text[len++] = (char)tolower((unsigned char)*name);
	}
	for (size_t i = 0; f->last && i < COUNT_OF(units); i++)
		if (!strcmp(f->text + f->last, units[i].word))
			f->unit = &units[i];
	if (!f->unit)
		f->last = len;
}

/* Does @candidate, a name of @field, take a value of the unit that @name ends in? */
static bool schema_suggest_unit_fits(const struct folded *name, const struct folded *candidate,
				     const struct schema_field *field)
{
	const char *unit = candidate->unit ? candidate->unit->name : field->unit;

	return !name->unit || !strcmp(name->unit->name, unit);
}

/* Does @field take a time, or a size of text, as @unit is one? */
static bool schema_suggest_is_alike(const struct schema_field *field, const struct unit *unit)
{
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (!strcmp(field->unit, units[i].name))
			return units[i].of_time == unit->of_time;
	return false;
}

/* Are @candidate and @name the same? @stems: apart from their units. A name without one may mean a
 * time (wait: wait_ms), but stdout is not stdout_lines. */
static bool schema_suggest_is_same(const struct folded *name, const struct folded *candidate,
				   bool stems)
{
	bool differ = !name->unit && candidate->unit && !candidate->unit->of_time;

	if (!stems || differ)
		return !strcmp(name->text, candidate->text);
	return name->last == candidate->last && !memcmp(name->text, candidate->text, name->last);
}

static bool schema_suggest_is(const struct folded *name, const char *candidate, bool stems)
{
	struct folded folded;

	schema_suggest_fold(candidate, &folded);
	return schema_suggest_is_same(name, &folded, stems);
}

/* The name of @field, or of its @synonyms, that @name is, or NULL. @stems: apart from the units. */
static const char *schema_suggest_match(const struct folded *name, const struct schema_field *field,
					bool synonyms, bool stems)
{
	const char *one = synonyms && *field->synonyms ? field->synonyms : NULL;

	if (!synonyms && schema_suggest_is(name, field->name, stems))
		return field->name;
	if (!synonyms && *field->alias && schema_suggest_is(name, field->alias, stems))
		return field->alias;
	while (one && !schema_suggest_is(name, one, stems))
		one = strtab_next(one);
	return one;
}

/* The name of @field (its own or its alias) that has this unit, or NULL. */
static const char *schema_suggest_with_unit(const struct schema_field *field,
					    const struct folded *name)
{
	const char *const names[] = { field->name, field->alias };

	for (size_t i = 0; i < COUNT_OF(names) && *names[i]; i++) {
		struct folded candidate;

		schema_suggest_fold(names[i], &candidate);
		if (schema_suggest_unit_fits(name, &candidate, field))
			return names[i];
	}
	return NULL;
}

/* The nearest by edit distance among those whose unit fits. */
static const char *schema_suggest_find_near(const struct schema *s, const char *given,
					    const struct folded *name)
{
	AUTO_FREE const char **names = NULL;
	size_t count = 0;

	for (const struct schema_field *f = s->fields; *f->name; f++)
		count += 2;
	names = mem_zalloc((count + 1) * sizeof(*names));
	count = 0;
	for (const struct schema_field *f = s->fields; *f->name; f++) {
		const char *const both[] = { f->name, f->alias };
		bool may = schema_may_name(s, f);

		for (size_t i = 0; i < COUNT_OF(both) && *both[i] && may; i++) {
			struct folded candidate;

			schema_suggest_fold(both[i], &candidate);
			if (schema_suggest_unit_fits(name, &candidate, f))
				names[count++] = both[i];
		}
	}
	return schema_nearest(given, names);
}

/* What @name means: names come before synonyms. @stems: apart from the units. */
static const char *schema_suggest_find_same(const struct schema *s, const struct folded *name,
					    bool stems)
{
	const char *found = NULL;

	for (int synonyms = 0; synonyms < 2; synonyms++)
		for (const struct schema_field *f = s->fields; *f->name && !found; f++) {
			if (!schema_may_name(s, f))
				continue;
			found = schema_suggest_match(name, f, synonyms, stems);
			if (found && (synonyms || stems))
				found = schema_suggest_with_unit(f, name);
		}
	return found;
}

/* The field that @name means but for its unit: a time for a time. Names come before synonyms. */
static const struct schema_field *schema_suggest_find_other(const struct schema *s,
							    const struct folded *name)
{
	for (int synonyms = 0; name->unit && synonyms < 2; synonyms++)
		for (const struct schema_field *f = s->fields; *f->name; f++)
			if (schema_may_name(s, f) && schema_suggest_is_alike(f, name->unit) &&
			    schema_suggest_match(name, f, synonyms, true))
				return f;
	return NULL;
}

const char *schema_suggest(const struct schema *s, const char *given,
			   const struct schema_field **other)
{
	const char *found = NULL;
	struct folded name;

	*other = NULL;
	if (strlen(given) > NAME_MAX_LEN)
		return NULL;
	schema_suggest_fold(given, &name);
	for (int stems = 0; stems < 2 && !found; stems++)
		found = schema_suggest_find_same(s, &name, stems);
	if (!found)
		*other = schema_suggest_find_other(s, &name);
	return found || *other ? found : schema_suggest_find_near(s, given, &name);
}
