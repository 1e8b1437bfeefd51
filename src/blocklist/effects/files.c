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

/* The index of the file of that name, or files->count. */
static size_t files_index(const struct written_files *files, const char *name, size_t len)
{
	const struct written_file *f = files->list;
	size_t i = 0;

	while (i < files->count && (f[i].len != len || memcmp(f[i].name, name, len) != 0))
		i++;
	return i;
}

const struct written_file *files_find(const struct written_files *files,
				      const struct shell_word *name)
{
	char room[KEY_MAX];
	size_t len;
	const char *s = files->count ? files_key_of(name, room, &len) : NULL;

	size_t i = s ? files_index(files, s, len) : files->count;

	return i < files->count ? &files->list[i] : NULL;
}

const struct written_file *files_printed(const struct written_files *files,
					 const struct shell_command *c)
{
	const struct written_file *f = NULL;

	if (!files->count || !c->word_count || !name_in(&c->words[0], " cat "))
		return NULL;
	for (size_t i = 1; i < c->word_count && !f; i++)
		f = c->words[i].text.s[0] == '-' ? NULL : files_find(files, &c->words[i]);
	return f;
}

const struct shell_word *files_content(const struct written_file *file,
				       struct shell_budget *budget, struct shell_arena *arena)
{
	struct shell_word *all;
	size_t len = 0;

	if (!file || !file->piece_count || file->program)
		return NULL;
	if (file->piece_count == 1)
		return file->pieces;
	for (size_t i = 0; i < file->piece_count; i++)
		len += file->pieces[i].text.len;
	if (!shell_budget_take(budget, len))
		return NULL;
	all = shell_alloc(arena, sizeof(*all));
	*all = word_concat_all(file->pieces, file->piece_count, arena);
	return all;
}

/* The file of that name; of a new one, in place of the oldest if there are too many. */
static struct written_file *files_open(struct written_files *files, const char *name, size_t len,
				       struct shell_arena *arena)
{
	size_t i = files_index(files, name, len);
	struct written_file *f;

	if (i < files->count)
		return &files->list[i];
	f = &files->list[files->next];
	files->next = (files->next + 1) % FILES_MAX;
	files->count += files->count < FILES_MAX;
	*f = (struct written_file){ .name = shell_copy(arena, name, len), .len = len,
				    .may_be_skipped = true };
	return f;
}

/* Copies it: the script may be freed before the file is run. */
static void files_add_piece(struct written_file *f, const struct shell_word *content,
			    struct shell_arena *arena)
{
	struct shell_word *old = f->pieces;

	if (f->piece_count == f->piece_cap) {
		f->piece_cap = f->piece_cap ? 4 * f->piece_cap : 1;
		f->pieces = shell_alloc(arena, f->piece_cap * sizeof(*f->pieces));
		if (f->piece_count)
			memcpy(f->pieces, old, f->piece_count * sizeof(*old));
	}
	f->pieces[f->piece_count++] = word_slice(content, 0, content->text.len, arena);
}

/* How a file is written. */
struct writing {
	bool append, may_be_skipped;
	const struct shell_word *content; /* NULL: unknown */
	unsigned flow;
};

static void files_write(struct written_files *files, const char *name, size_t len,
			const struct writing *w, struct shell_arena *arena)
{
	struct written_file *f;

	if (!name || strncmp(name, "/dev/", 5) == 0 || (w->append && !w->content && !w->flow))
		return;
	f = files_open(files, name, len, arena);
	if (!w->append && (f->may_be_skipped || !w->may_be_skipped)) {
		f->piece_count = 0;
		f->flow = 0;
		f->program = false;
		f->may_be_skipped = w->may_be_skipped;
	}
	f->flow |= w->flow;
	if (w->content)
		files_add_piece(f, w->content, arena);
	files->version++;
}

static void files_add(struct written_files *files, const char *name, size_t len,
		      const struct shell_word *content, unsigned flow, struct shell_arena *arena)
{
	struct writing w = { .content = content, .flow = flow };

	files_write(files, name, len, &w, arena);
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
	struct writing w = {
		.append = words_have_letter(c->words, c->word_count, "a") ||
			  words_have(c->words, c->word_count, " --append "),
		.may_be_skipped = c->context & SHELL_CONDITIONAL,
		.content = c->input,
		.flow = c->input ? 0 : flow,
	};

	for (size_t i = 1; i < c->word_count; i++) {
		size_t len;
		char room[KEY_MAX];
		const char *name = files_key_of(&c->words[i], room, &len);

		if (name && name[0] != '-')
			files_write(files, name, len, &w, arena);
	}
}

/* @name is now what @from is. */
static void files_copy(struct written_files *files, const char *name, size_t len,
		       const struct written_file *from, struct shell_arena *arena)
{
	struct written_file copy = *from, *to;

	if (!name || from->program)
		return;
	to = files_open(files, name, len, arena);
	copy.name = to->name;
	copy.len = to->len;
	copy.piece_cap = copy.piece_count; /* so that another array is taken to add to it */
	*to = copy;
	files->version++;
}

/* cp /bin/rm x, ln -s /bin/rm x, mv: x now runs rm. The same of a file that was written. */
static void files_note_copy(struct written_files *files, const struct shell_command *c,
			    struct shell_arena *arena)
{
	static const char copiers[] = " cp ln mv install hash ";
	const struct shell_word *from, *to = &c->words[c->word_count - 1];
	const struct written_file *written;
	const char *name;
	size_t len;

	if (c->word_count < 3 ||
	    !name_in(&c->words[0], copiers))
		return;
	from = to - 1;
	name = files_plain_name(to, &len);
	written = files_find(files, from);
	if (written)
		files_copy(files, name, len, written, arena);
	if (!name || from->text.s[0] != '/' || !strstr(from->text.s, "bin/") ||
	    !name_of(from) || strcmp(from->text.s, to->text.s) == 0)
		return;
	files_add(files, name, len, from, 0, arena);
	files->list[files_index(files, name, len)].program = true;
}

/* What command @index, whose output has @flow, writes to files by redirections. If it is the one
 * before with other values, any of them may be there. */
static void files_note_redirects(struct written_files *files, const struct shell_script *s,
				 uint32_t index, unsigned flow, struct shell_arena *arena)
{
	const struct shell_command *c = &s->commands[index];
	const struct written_file *printed = files_printed(files, c);
	bool again = index > 0 && c[-1].start == c->start;
	struct writing w = { .may_be_skipped = c->context & SHELL_CONDITIONAL,
			     .content = c->output,
			     .flow = c->output && c->word_count ? 0 : flow };
	char room[KEY_MAX];

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		size_t len;
		const char *name;

		if ((r->op != SHELL_TO && r->op != SHELL_APPEND) || r->fd > 1)
			continue;
		name = files_key_of(&r->target, room, &len);
		w.append = again || r->op == SHELL_APPEND;
		if (printed && !w.append)
			files_copy(files, name, len, printed, arena);
		else
			files_write(files, name, len, &w, arena);
	}
}

/* What the commands in the compound command @index print. */
static unsigned files_flow_inside(const struct dataflow *flows, uint32_t index,
				  struct shell_budget *budget)
{
	const struct shell_script *s = flows->script;
	uint32_t end = s->commands[index].end;
	unsigned flow = 0;

	for (uint32_t i = index + 1; i < s->command_count && s->commands[i].start < end; i++)
		if (shell_budget_take(budget, 1))
			flow |= dataflow_output(flows, i);
	return flow & FLOW_TEXTS;
}

void files_note(struct written_files *files, const struct dataflow *flows, uint32_t index,
		struct shell_budget *budget, struct shell_arena *arena)
{
	const struct shell_command *c = &flows->script->commands[index];
	unsigned flow = c->word_count ? dataflow_output(flows, index)
				      : files_flow_inside(flows, index, budget);

	files_note_redirects(files, flows->script, index, flow, arena);
	if (!c->word_count)
		return;
	if (name_in(&c->words[0], " tee "))
		files_note_tee(files, c, dataflow_input(flows, index), arena);
	else
		files_note_download(files, c, arena);
	files_note_copy(files, c, arena);
}
