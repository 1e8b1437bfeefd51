#include "policy/rulebook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/schema.h"
#include "policy/tier.h"

#define PACK_NAMES_MAX 32

int rulebook_read_file(struct ruleset *set, const struct rulebook_file *file, enum tier decision,
		       struct err *e)
{
	json_t *rules = json_loads(file->rules, 0, NULL), *one;
	AUTO_FREE char *origin = mem_printf("pack %s", file->name);
	int status = 0;
	size_t i;

	BUG_IF(!rules);
	json_array_foreach(rules, i, one)
		if (!status)
			status = ruleset_add(set, one, origin, RULE_OF_PACK, decision, e);
	json_decref(rules);
	return status;
}

/* ---- the option ---- */

static const struct rulebook_file *rulebook_find(const char *name, size_t len)
{
	for (const struct rulebook_file *f = rulebook_files; f->name; f++)
		if (strlen(f->name) == len && !memcmp(f->name, name, len))
			return f;
	return NULL;
}

static int rulebook_fail_name(const char *entry, size_t len, struct err *e)
{
	const char *names[PACK_NAMES_MAX + 1] = { NULL };
	AUTO_FREE char *name = mem_strndup(entry, len);
	char list[256] = "";

	for (size_t i = 0; i < PACK_NAMES_MAX && rulebook_files[i].name; i++) {
		names[i] = rulebook_files[i].name;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 names[i]);
	}
	err_set(e, ERR_INVALID_PARAMS, "option packs: there is no pack \"%.64s\"", name);
	schema_say_nearest(e, name, names);
	return err_hint(e, "There are: %s.", list);
}

/* What follows the colon. An allow would only loosen: that is for rules of the operator's own. */
static int rulebook_read_decision(const char *text, enum tier *decision)
{
	for (*decision = TIER_NOTIFY; *decision <= TIER_DENY; (*decision)++)
		if (!strcmp(text, rule_decision_name(*decision)))
			return 0;
	return -1;
}

/* Add what @entry of the option names, without its rules. */
static int rulebook_add_pack(struct rulebook *book, const char *entry, struct err *e)
{
	size_t len = strcspn(entry, ":");
	const struct rulebook_file *file = rulebook_find(entry, len);
	struct rulebook_pack *p = &book->packs[book->pack_count];

	if (!file)
		return rulebook_fail_name(entry, len, e);
	for (size_t i = 0; i < book->pack_count; i++)
		if (book->packs[i].file == file)
			return err_set(e, ERR_INVALID_PARAMS, "option packs: %s is there twice",
				       file->name);
	if (!entry[len] || rulebook_read_decision(entry + len + 1, &p->decision)) {
		err_set(e, ERR_INVALID_PARAMS,
			"option packs: \"%.64s\" does not end in notify, confirm or deny", entry);
		return err_hint(e, "Write %s:notify, %s:confirm or %s:deny.", file->name,
				file->name, file->name);
	}
	p->file = file;
	book->pack_count++;
	return 0;
}

static int rulebook_add_packs(struct rulebook *book, const struct config *config, struct err *e)
{
	char *const *entries = config_names(config, CONFIG_PACKS);
	size_t count = 0;

	while (entries[count])
		count++;
	book->packs = mem_zalloc((count + 1) * sizeof(*book->packs));
	for (size_t i = 0; i < count; i++)
		if (rulebook_add_pack(book, entries[i], e) &&
		    config_fault_in(config, CONFIG_PACKS, e))
			return -1;
	return 0;
}

int rulebook_check(const struct config *config, struct err *e)
{
	struct rulebook book = { .own = NULL };
	int status = rulebook_add_packs(&book, config, e);

	rulebook_release(&book);
	return status;
}

int rulebook_open(struct rulebook *book, const struct config *config, struct err *e)
{
	book->own = &config->rules;
	if (rulebook_add_packs(book, config, e))
		return -1;
	for (size_t i = 0; i < book->pack_count; i++) {
		struct rulebook_pack *p = &book->packs[i];

		if (rulebook_read_file(&p->rules, p->file, p->decision, e))
			return -1;
	}
	return 0;
}

void rulebook_release(struct rulebook *book)
{
	for (size_t i = 0; i < book->pack_count; i++)
		ruleset_release(&book->packs[i].rules);
	free(book->packs);
	*book = (struct rulebook){ .own = NULL };
}

static bool rulebook_is_blocked(const char *command, const char *const *args)
{
	struct blocklist_verdict v;

	blocklist_judge(&(struct blocklist_input){ .command = command, .args = args }, &v);
	return v.blocked;
}

/* Append @text up to one of @ends, without a * at its end, to the @count words. */
static void rulebook_add_simplest(char **words, size_t *count, const char *text, const char *ends)
{
	size_t len = strcspn(text, ends);

	len -= len && text[len - 1] == '*';
	if (len)
		words[(*count)++] = mem_strndup(text, len);
}

/* The simplest words that the rule @r matches. mem_list_free() it. */
static char **rulebook_simplest_words(const struct rule *r)
{
	char **words = mem_zalloc((RULE_LIST_MAX + RULE_ONE_MAX + 1) * sizeof(*words));
	const char *operand = r->subcommand ? r->subcommand[0] : "";
	size_t count = 0;

	for (; *operand && *operand != '|'; operand += *operand == ' ') {
		rulebook_add_simplest(words, &count, operand, " |");
		operand += strcspn(operand, " |");
	}
	for (const char **one = r->words; one && *one; one++)
		rulebook_add_simplest(words, &count, *one, "|");
	return words;
}

/* Find a command that the rule @r, an allow, matches and the blocklist blocks. */
static bool rulebook_find_blocked(const struct rule *r, struct buf *command)
{
	char **words = rulebook_simplest_words(r);
	bool found = false;

	for (const char **one = r->examples; one && *one && !found; one++)
		if ((found = rulebook_is_blocked(*one, NULL)))
			buf_adds(command, *one);
	for (const char **one = r->programs; *one && !found; one++)
		if ((found = rulebook_is_blocked(*one, (const char *const *)words))) {
			buf_adds(command, *one);
			for (char **word = words; *word; word++)
				buf_addf(command, " %s", *word);
		}
	mem_list_free(words);
	return found;
}

static void rulebook_note_blocked(const struct rule *r, void (*note)(void *ctx, const char *text),
				  void *ctx)
{
	char text[2 * RULE_TEXT_MAX];
	struct buf command;

	buf_init(&command, RULE_TEXT_MAX);
	if (rulebook_find_blocked(r, &command)) {
		snprintf(text, sizeof(text), "%.300s: rule \"%s\" has no effect on \"%.*s\", "
			 "which is always blocked", r->origin, r->id, (int)command.len,
			 command.data);
		note(ctx, text);
	}
	buf_release(&command);
}

/* The capability whose tier denies all that the rule @r lets happen; or NULL. */
static const char *rulebook_always_denied(const struct rule *r, const struct config *config)
{
	if (r->decision == TIER_DENY)
		return NULL;
	if (tier_of(config, CONFIG_TIER_PROCESS_RUN, TIER_NOTIFY) == TIER_DENY)
		return "process.run"; /* then there is no run to write to either */
	return r->capabilities == RULE_INPUT &&
			       tier_of(config, CONFIG_TIER_PROCESS_INPUT, TIER_NOTIFY) == TIER_DENY
		       ? "process.input"
		       : NULL;
}

void rulebook_each_idle(const struct rulebook *book, const struct config *config,
			void (*note)(void *ctx, const char *text), void *ctx)
{
	char text[2 * RULE_TEXT_MAX];

	for (size_t i = 0; book->own && i < book->own->count; i++) {
		const struct rule *r = &book->own->list[i];
		const char *denied = rulebook_always_denied(r, config);

		if (rule_is_over(r)) {
			snprintf(text, sizeof(text), "%.300s: " RULE_IS_OVER, r->origin, r->id,
				 r->until);
			note(ctx, text);
		}
		if (r->decision == TIER_AUTONOMOUS)
			rulebook_note_blocked(r, note, ctx);
		if (denied) {
			snprintf(text, sizeof(text), "%.300s: rule \"%s\" has no effect: "
				 "tier.%s is deny", r->origin, r->id, denied);
			note(ctx, text);
		}
	}
}

size_t rulebook_count(const struct rulebook *book)
{
	size_t count = ruleset_in_force(book->own) + ruleset_in_force(book->project);

	for (size_t i = 0; i < book->pack_count; i++)
		count += book->packs[i].rules.count;
	return count;
}
