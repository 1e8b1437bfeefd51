#include "blocklist/effects/files.h"

#include <stdio.h>
#include <string.h>

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "shell/parse.h"

static const char *files_plain_name(const struct shell_word *w, size_t *len)
{
	const char *s = shell_word_constant(w);

	while (s && s[0] == '.' && s[1] == '/')
		s += 2;
	*len = s ? strlen(s) : 0;
	return *len ? s : NULL;
}

#define KEY_MAX 256

/*
 * The key of a file name: its text, with the variables' names for the unknown parts, so that
 * "$TMP/x" is the same file each time. NULL: an unknown part has no name, or @w is too long.
 */
static const char *files_key_of(const struct shell_word *w, char *room, size_t *len)
{
	const char *s = files_plain_name(w, len);
	size_t n = 0;

	if (s || !w->unknown_count || w->text.len > KEY_MAX / 2)
		return s;
	for (size_t i = 0; i < w->text.len; i++) {
		bool is_unknown = word_unknown_at(w, i);
		const struct shell_unknown *u = is_unknown ? shell_word_unknown(w, i) : NULL;

		if ((is_unknown && !u) || n + (u ? strlen(u->name) : 0) + 2 >= KEY_MAX)
			return NULL;
		if (u)
			n += (size_t)sprintf(room + n, "\1%s", u->name);
		else
			room[n++] = w->text.s[i];
	}
	*len = n;
	return room;
}

const struct written_file *files_find(const struct written_files *files,
				      const struct shell_word *name)
{
	char room[KEY_MAX];
	size_t len;
	const char *s = files->count ? files_key_of(name, room, &len) : NULL;

	for (size_t i = files->count; s && i-- > 0;)
		if (files->list[i].len == len && memcmp(files->list[i].name, s, len) == 0)
			return &files->list[i];
	return NULL;
}

/* Copies everything: the script may be freed before the file is run. */
static void files_add(struct written_files *files, const char *name, size_t len,
		      const struct shell_word *content, unsigned flow, struct shell_arena *arena)
{
	struct written_file *f;

	if (!name || strncmp(name, "/dev/", 5) == 0 || files->count == FILES_MAX ||
	    (!content && !flow))
		return;
	f = &files->list[files->count++];
	*f = (struct written_file){ .name = shell_copy(arena, name, len), .len = len,
				      .known = content != NULL, .flow = flow };
	if (content)
		f->content = word_slice(content, 0, content->text.len, arena);
}

/* printf '%s\n' A B: printf repeats the format for each word. */
static struct shell_word files_format(const struct shell_word *words, size_t count,
				      struct shell_budget *budget, struct shell_arena *arena)
{
	struct shell_word *list = shell_alloc(arena, count * sizeof(*list));

	for (size_t i = 1; i < count; i++) {
		list[i - 1] = word_replace(&words[0], "%s", 2, &words[i], budget, arena);
		if (!budget->work)
			return words[0];
	}
	return word_join(list, count - 1, arena);
}

bool files_output(const struct shell_command *c, struct shell_budget *budget,
		  struct shell_arena *arena, struct shell_word *out)
{
	static const uint8_t kind[] = { SHELL_LITERAL };
	static const struct shell_word newline = { .text = { .s = "\n", .len = 1 }, .kind = kind };
	static const struct shell_word tab = { .text = { .s = "\t", .len = 1 }, .kind = kind };
	bool format;
	size_t i = 1;

	if (!c->word_count)
		return false;
	if (name_in(&c->words[0], " cat ") && c->input && c->word_count == 1) {
		*out = *c->input;
		return true;
	}
	format = name_in(&c->words[0], " printf ");
	if (!format && !name_in(&c->words[0], " echo "))
		return false;
	while (i < c->word_count && c->words[i].text.s[0] == '-')
		i++;
	*out = word_join(c->words + i, c->word_count - i, arena);
	if (format && i + 1 < c->word_count &&
	    strstr(c->words[i].text.s, "%s"))
		*out = files_format(c->words + i, c->word_count - i, budget, arena);
	if (format) { /* printf 'a\nb\n' */
		*out = word_replace(out, "\\n", 2, &newline, budget, arena);
		if (strstr(out->text.s, "\\t"))
			*out = word_replace(out, "\\t", 2, &tab, budget, arena);
	}
	if (out->text.len > 1 && strcmp(out->text.s + out->text.len - 2, "\\n") == 0)
		*out = word_slice(out, 0, out->text.len - 2, arena);
	return true;
}

/* Does the option @s of curl or wget take a file name: -o FILE, --output FILE? */
static bool files_names_output(const char *program, const char *s)
{
	bool curl = strcmp(program, "curl") == 0;
	size_t len = strlen(s);

	if (list_has(" --output --output-document --out ", s, len))
		return true;
	return s[0] == '-' && s[1] && s[1] != '-' &&
	       (s[len - 1] == 'o' || (s[len - 1] == 'O' && !curl));
}

/* Does curl save under the name in the URL (-O)? Otherwise it writes to standard output. */
static bool files_has_remote_name(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		const char *s = c->words[i].text.s;

		if (strncmp(s, "--remote-name", 13) == 0 ||
		    (s[0] == '-' && s[1] != '-' && strchr(s, 'O')))
			return true;
	}
	return false;
}

/* scp HOST:X DEST, rsync, sftp: the copy comes from another machine. */
static void files_note_remote_copy(struct written_files *files, const struct shell_command *c,
				   struct shell_arena *arena)
{
	const struct shell_word *to = &c->words[c->word_count - 1];
	bool here = strcmp(to->text.s, ".") == 0 || strcmp(to->text.s, "./") == 0;

	for (size_t i = 1; i < c->word_count; i++) {
		const char *s = c->words[i].text.s, *colon = strchr(s, ':'), *base;
		size_t len;

		if (!colon || s[0] == '-' || memchr(s, '/', (size_t)(colon - s)))
			continue;
		base = strrchr(colon, '/') ? strrchr(colon, '/') + 1 : colon + 1;
		if (here || to == &c->words[i])
			files_add(files, base, strlen(base), NULL, FLOW_REMOTE, arena);
		else if (files_plain_name(to, &len))
			files_add(files, files_plain_name(to, &len), len, NULL, FLOW_REMOTE, arena);
	}
}

/* curl -o FILE, wget -O FILE; wget URL saves under the last part of the URL. */
static void files_note_download(struct written_files *files, const struct shell_command *c,
				struct shell_arena *arena)
{
	const struct blocklist_name *program = name_of(&c->words[0]);
	bool named = false, keeps = true;
	char room[KEY_MAX];

	if (name_in(&c->words[0], " scp rsync sftp ") && c->word_count > 1)
		files_note_remote_copy(files, c, arena);
	if (!program || !(program->flow & FLOW_KIND_FETCH))
		return;
	if (strcmp(program->name, "curl") == 0)
		keeps = files_has_remote_name(c);
	for (size_t i = 1; i < c->word_count; i++) {
		const char *s = c->words[i].text.s, *slash = strrchr(s, '/');
		size_t len;

		if (files_names_output(program->name, s) &&
		    i + 1 < c->word_count && c->words[i + 1].text.s[0] != '-' &&
		    !strstr(c->words[i + 1].text.s, "://")) {
			const char *name = files_key_of(&c->words[++i], room, &len);

			files_add(files, name, len, NULL, FLOW_REMOTE, arena);
			named = true;
		} else if (!named && keeps && strstr(s, "/") && s[0] != '-' && slash[1]) {
			files_add(files, slash + 1, strlen(slash + 1), NULL, FLOW_REMOTE, arena);
		}
	}
}

static void files_note_tee(struct written_files *files, const struct shell_command *c,
			   unsigned flow, struct shell_arena *arena)
{
	for (size_t i = 1; i < c->word_count; i++) {
		size_t len;
		char room[KEY_MAX];
		const char *name = files_key_of(&c->words[i], room, &len);

		if (name && name[0] != '-')
			files_add(files, name, len, c->input, c->input ? 0 : flow, arena);
	}
}

/* cp /bin/rm x, ln -s /bin/rm x, mv: x now runs rm. */
static void files_note_copy(struct written_files *files, const struct shell_command *c,
			    struct shell_arena *arena)
{
	static const char copiers[] = " cp ln mv install hash ";
	const struct shell_word *from, *to = &c->words[c->word_count - 1];
	const char *name;
	size_t len, before;

	if (c->word_count < 3 ||
	    !name_in(&c->words[0], copiers))
		return;
	from = to - 1;
	name = files_plain_name(to, &len);
	if (!name || from->text.s[0] != '/' || !strstr(from->text.s, "bin/") ||
	    !name_of(from) || strcmp(from->text.s, to->text.s) == 0)
		return;
	before = files->count;
	files_add(files, name, len, from, 0, arena);
	if (files->count > before) {
		files->list[before].program = true;
		files->list[before].known = false;
	}
}

void files_note(struct written_files *files, const struct dataflow *flows,
		uint32_t index, struct shell_budget *budget, struct shell_arena *arena)
{
	const struct shell_command *c = &flows->script->commands[index];
	struct shell_word content;
	bool known = false, looked = false;
	char room[KEY_MAX];

	if (files->count == FILES_MAX || !c->word_count)
		return;
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		size_t len;
		const char *name;

		if ((r->op != SHELL_TO && r->op != SHELL_APPEND) || r->fd > 1)
			continue;
		name = files_key_of(&r->target, room, &len);
		if (!looked)
			known = files_output(c, budget, arena, &content);
		looked = true;
		files_add(files, name, len, known ? &content : NULL,
			  known ? 0 : dataflow_output(flows, index), arena);
	}
	if (name_in(&c->words[0], " tee "))
		files_note_tee(files, c, dataflow_input(flows, index), arena);
	else
		files_note_download(files, c, arena);
	files_note_copy(files, c, arena);
}
