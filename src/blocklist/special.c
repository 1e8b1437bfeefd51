/* Programs with a reading of their own. Declared in blocklist_stage.h. */
#include "blocklist/stage.h"

#include "blocklist/container.h"
#include "blocklist/find.h"
#include "blocklist/hidden.h"
#include "blocklist/kill.h"
#include "blocklist/listing.h"
#include "blocklist/walk.h"

/* Steps to read one word, and one that may be a pattern of names; of find, besides its words. */
#define WORK_READ_WORD 12u
#define WORK_PATTERN_WORD 70u
#define WORK_FIND 60u
#define WORK_MOUNT 5u

static bool walk_find(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      bool is_fd, const struct blocklist_stage *at)
{
	struct blocklist_found_actions a;
	struct blocklist_stage inner = *at;

	if (walk_spent(w, WORK_FIND + WORK_READ_WORD * count))
		return walk_too_complex(w, words[0].start);
	a = blocklist_find_read(words, count, is_fd, &w->arena);
	inner.each = true;
	for (size_t i = 0; i < a.count; i++) {
		struct blocklist_found_action *action = &a.list[i];
		bool blocked = false;

		if (action->kind == FIND_DELETE)
			blocked = blocklist_judge_effect(&w->rules,
							 action->narrow ? "remove" : "remove_tree",
							 &action->subject, 0, false, &w->finding);
		else if (action->kind == FIND_WRITE)
			blocked = blocklist_judge_effect(&w->rules, "write", &action->subject, 0,
							 false, &w->finding);
		else if (action->kind == FIND_RUN && action->count)
			blocked = walk_words(w, action->words, action->count, &inner);
		if (blocked) {
			w->finding.start = words[0].start;
			w->finding.end = words[count - 1].end;
			return true;
		}
	}
	return false;
}

/* Lists of everything that these words take: by xargs, $(...), or a variable. */
static unsigned walk_lists(const struct shell_word *words, size_t count,
			   const struct blocklist_stage *at)
{
	bool fed = at->each || word_is(&words[count - 1], "-");
	unsigned input = fed ? at->input_flow : 0;

	if (at->flows && at->flows->lists && at->index != SHELL_NONE)
		return blocklist_flow_lists(at->flows, at->index, words, count, input);
	return input & FLOW_LISTS;
}

/* apt purge $(dpkg --get-selections) */
static bool walk_all(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		     const struct blocklist_stage *at)
{
	unsigned flow = walk_lists(words, count, at);
	const char *effect = flow ? blocklist_listing_taken(words, count, flow) : NULL;

	return effect && walk_found(w, effect, words[0].start, words[count - 1].end);
}

static bool walk_kill(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	const char *effect = blocklist_kill_effect(words, count);

	return effect && walk_found(w, effect, words[0].start, words[count - 1].end);
}

static bool walk_pkill(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	const char *effect;

	if (walk_spent(w, WORK_PATTERN_WORD * count))
		return walk_too_complex(w, words[0].start);
	effect = blocklist_pkill_effect(words, count);

	return effect && walk_found(w, effect, words[0].start, words[count - 1].end);
}

/* source FILE: of a file only what <(...) or standard input gives is known. */
static bool walk_source(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			const struct blocklist_stage *at)
{
	static const char stdin_names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";
	struct shell_wrap wrap = { .kind = WRAP_STDIN, .words = words, .count = count };
	struct blocklist_stage inner = *at;

	inner.same_shell = true;
	if (count < 2)
		return false;
	if (blocklist_listed(stdin_names, words[1].text.s, words[1].text.len))
		return walk_stdin(w, &wrap, words, count, &inner);
	wrap.words = words + 1;
	wrap.count = count - 1;
	return walk_file(w, &wrap, false, &inner);
}

/* trap TEXT SIGNAL */
static bool walk_trap(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct blocklist_stage *at)
{
	struct blocklist_stage inner = *at;
	size_t i = 1 + (count > 1 && word_is(&words[1], "--"));

	inner.same_shell = true;
	if (count < i + 2 || words[i].text.s[0] == '-' || !words[i].text.len)
		return false;
	return walk_remote(w, &words[i], at) || walk_nested(w, &words[i], NULL, 0, &inner);
}

/* eval: the parser opens what it knows; here only where the text comes from. */
static bool walk_eval(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct blocklist_stage *at)
{
	return count > 1 && walk_remote(w, &words[1], at);
}

static bool walk_git(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	struct blocklist_dir before;
	static const uint8_t dot_kind[] = { SHELL_LITERAL };
	struct shell_word here = { .text = { .s = ".", .len = 1 }, .kind = dot_kind,
				   .start = words[0].start, .end = words[count - 1].end };
	bool blocked = false, clean = false, force = false, dry = false;

	blocklist_dir_copy(&before, &w->rules.dir);
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s;

		if (!clean && word_is(&words[i], "-C") && i + 1 < count)
			blocklist_chdir(&w->rules.dir, &words[++i]);
		else if (!clean && strncmp(s, "--work-tree=", 12) == 0) {
			struct shell_word dir = shell_wrap_slice(&words[i], 12, words[i].text.len,
								 &w->arena);
			blocklist_chdir(&w->rules.dir, &dir);
		} else if (word_is(&words[i], "clean"))
			clean = true;
		else if (clean && s[0] == '-') {
			force |= strchr(s, 'f') != NULL;
			dry |= strchr(s, 'n') != NULL;
		} else if (clean && force && !dry)
			blocked |= blocklist_judge_effect(&w->rules, "clean", &words[i], 0, false,
							  &w->finding);
	}
	if (clean && force && !dry && !blocked)
		blocked = blocklist_judge_effect(&w->rules, "clean", &here, 0, false, &w->finding);
	blocklist_dir_copy(&w->rules.dir, &before);
	return blocked;
}

static bool walk_cd(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	static const uint8_t home_kind[] = { SHELL_TILDE };
	static const struct shell_word home = { .text = { .s = "~", .len = 1 }, .kind = home_kind };
	size_t i = 1;

	while (i < count && words[i].text.s[0] == '-' && words[i].text.len > 1)
		i++;
	if (i == count)
		blocklist_chdir(&w->rules.dir, &home);
	else if (word_is(&words[i], "-"))
		w->rules.dir.known = false;
	else
		blocklist_chdir(&w->rules.dir, &words[i]);
	return false;
}

bool walk_hidden(struct blocklist_walk *w, const struct blocklist_name *name,
		 const struct shell_word *words, size_t count, const struct blocklist_stage *at)
{
	struct shell_word texts[WALK_NAMES_MAX];
	struct blocklist_stage inner = *at;
	size_t n = blocklist_hidden_texts(name, words, count, &w->arena, &w->budget, texts,
					  WALK_NAMES_MAX);

	if (walk_spent(w, 0))
		return walk_too_complex(w, words[0].start);
	inner.lenient = true;
	for (size_t i = 0; i < n; i++)
		if (walk_nested(w, &texts[i], NULL, 0, &inner))
			return true;
	return false;
}

static bool walk_container(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			   const struct blocklist_stage *at)
{
	struct blocklist_container c;
	struct blocklist_stage inner = *at;
	size_t mounts = 0;

	for (size_t i = 1; i < count; i++)
		mounts += words[i].text.s[0] == '-' && strpbrk(words[i].text.s, "vm");
	/* Each word is held against each mount. */
	if (walk_spent(w, count * (WORK_READ_WORD + WORK_MOUNT * (mounts < 32 ? mounts : 32))))
		return walk_too_complex(w, words[0].start);
	c = blocklist_container_open(words, count, &w->arena);
	inner.lenient = true;
	return c.count && walk_words(w, c.words, c.count, &inner);
}

static bool name_is(const char *s, size_t len, const char *list)
{
	return blocklist_listed(list, s, len);
}

static bool walk_by_name(struct blocklist_walk *w, const char *s, size_t len,
			 const struct shell_word *words, size_t count,
			 const struct blocklist_stage *at)
{
	switch (s[0]) {
	case 'k':
		if (name_is(s, len, " kill "))
			return walk_kill(w, words, count);
		return name_is(s, len, " killall ") && walk_pkill(w, words, count);
	case 'p':
		if (name_is(s, len, " podman "))
			return walk_container(w, words, count, at);
		if (name_is(s, len, " pkill "))
			return walk_pkill(w, words, count);
		return name_is(s, len, " pushd ") && walk_cd(w, words, count);
	case 's':
		if (name_is(s, len, " skill slay snice "))
			return walk_pkill(w, words, count);
		return name_is(s, len, " source ") && walk_source(w, words, count, at);
	case '.':
		return len == 1 && walk_source(w, words, count, at);
	case 'f':
		if (name_is(s, len, " find "))
			return walk_find(w, words, count, false, at);
		return name_is(s, len, " fd fdfind ") && walk_find(w, words, count, true, at);
	case 'g':
		if (name_is(s, len, " gfind "))
			return walk_find(w, words, count, false, at);
		return name_is(s, len, " git ") && walk_git(w, words, count);
	case 'c':
		return name_is(s, len, " cd chdir ") && walk_cd(w, words, count);
	case 'n':
		return name_is(s, len, " nerdctl ") && walk_container(w, words, count, at);
	case 't':
		return name_is(s, len, " trap ") && walk_trap(w, words, count, at);
	case 'e':
		return name_is(s, len, " eval ") && walk_eval(w, words, count, at);
	case 'd':
		return name_is(s, len, " docker ") && walk_container(w, words, count, at);
	case 'b':
		return name_is(s, len, " bfs ") && walk_find(w, words, count, false, at);
	}
	return false;
}

bool walk_special(struct blocklist_walk *w, const char *s, size_t len,
		  const struct shell_word *words, size_t count, const struct blocklist_stage *at)
{
	if (((at->flows && at->flows->lists) || (at->input_flow & FLOW_LISTS)) &&
	    walk_all(w, words, count, at))
		return true;
	return walk_by_name(w, s, len, words, count, at) ||
	       walk_lines(w, s, len, words, count, at);
}
