#include "blocklist/effects/files.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"

static const char *files_plain_name(const struct shell_word *w, size_t *len)
{
	const char *s = shell_word_constant(w);

	while (s && s[0] == '.' && s[1] == '/')
		s += 2;
	*len = s ? strlen(s) : 0;
	return *len ? s : NULL;
}

#define KEY_MAX 256
/* Steps of the budget to look for a name. */
#define WORK_FIND 60u

/*
 * The key of a file name: its text, with the variables' names for the unknown parts, so that
 * "$TMP/x" is the same file each time. NULL: an unknown part has no name, @w is too long, or it is
 * a >(...).
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

		if ((is_unknown && !u) || n + (u ? strlen(u->name) : 0) + 2 >= KEY_MAX ||
		    (u && u->name[0] == '>'))
			return NULL;
		if (u)
			n += (size_t)sprintf(room + n, "\1%s", u->name);
		else
			room[n++] = w->text.s[i];
	}
	*len = n;
	return room;
}

/* A file by its name, and by its path where that is known. */
struct key {
	const char *name; /* NULL: none that is remembered */
	size_t len;
	const char *path; /* NULL: the directory is not known */
	char room[KEY_MAX], path_room[KEY_MAX];
};

static void files_key(const struct written_files *files, const struct shell_word *w, struct key *k)
{
	k->name = files_key_of(w, k->room, &k->len);
	k->path = NULL;
	if (!k->name || !shell_word_constant(w) || w->text.len > KEY_MAX / 2)
		return;
	if (files->find_path(files->find_path_ctx, w, k->path_room, sizeof(k->path_room)))
		k->path = k->path_room;
}

/* The index of the file of that path or, where one path is not known or @any, that name; or
 * files->count. */
static size_t files_index(const struct written_files *files, const struct key *k, bool any)
{
	const struct written_file *f = files->list;
	size_t i = 0;

	while (k->path && i < files->count && (!f[i].path || strcmp(f[i].path, k->path) != 0))
		i++;
	if (k->path && i < files->count)
		return i;
	for (i = 0; i < files->count; i++)
		if (f[i].len == k->len && memcmp(f[i].name, k->name, k->len) == 0 &&
		    (any || !f[i].path || !k->path))
			return i;
	return i;
}

const struct written_file *files_find(const struct written_files *files,
				      const struct shell_word *name)
{
	struct key k;
	size_t i;

	if (!files || !files->count)
		return NULL;
	files_key(files, name, &k);
	i = k.name ? files_index(files, &k, true) : files->count;
	return i < files->count ? &files->list[i] : NULL;
}

const struct written_file *files_redirected(const struct written_files *files,
					    const struct shell_command *c,
					    struct shell_budget *budget)
{
	const struct written_file *f = NULL;

	for (size_t i = 0; files->count && i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_FROM && c->redirects[i].fd <= 0 &&
		    shell_budget_take(budget, WORK_FIND))
			f = files_find(files, &c->redirects[i].target);
	return f;
}

const struct written_file *files_printed(const struct written_files *files,
					 const struct shell_command *c, struct shell_budget *budget)
{
	const struct written_file *f = files_redirected(files, c, budget);

	if (!files->count || !c->word_count || !name_in(&c->words[0], " cat "))
		return NULL;
	for (size_t i = 1; i < c->word_count && !f && shell_budget_take(budget, WORK_FIND); i++)
		f = c->words[i].text.s[0] == '-' ? NULL : files_find(files, &c->words[i]);
	return f;
}

const struct shell_word *files_content(const struct written_file *file,
				       struct shell_budget *budget, struct shell_arena *arena)
{
	struct shell_word *all;

	/* Known text is missing where the budget or the memory was at its end. */
	if (!file || !file->is_known || !file->text.len ||
	    !shell_budget_take(budget, file->text.unknown_count + 1))
		return NULL;
	all = shell_alloc(arena, sizeof(*all));
	*all = word_grown(&file->text);
	return all;
}

const struct shell_word *files_text(const struct written_files *files,
				    const struct shell_word *name, struct action_list *out)
{
	return name->content ? name->content
			     : files_content(files_find(files, name), out->budget, out->arena);
}

/* The file of that name; of a new one, in place of the oldest if there are too many. */
static struct written_file *files_open(struct written_files *files, const struct key *k,
				       struct shell_arena *arena)
{
	size_t i = files_index(files, k, false);
	struct written_file *f;

	if (i < files->count)
		return &files->list[i];
	f = &files->list[files->next];
	files->next = (files->next + 1) % FILES_MAX;
	files->count += files->count < FILES_MAX;
	*f = (struct written_file){ .name = shell_copy(arena, k->name, k->len), .len = k->len };
	if (k->path)
		f->path = shell_copy(arena, k->path, strlen(k->path));
	return f;
}

/* How a file is written. */
struct writing {
	bool append, may_be_skipped, is_copy;
	const struct shell_word *content; /* NULL: unknown */
	unsigned flow;
	struct shell_budget *budget;
	struct shell_arena *arena;
};

static bool files_may_go_on(const struct writing *w)
{
	return w->budget->work && !shell_arena_spent(w->arena);
}

/* Lines that are not known, but are there. */
static void files_add_unknown(struct written_file *f, const struct writing *w)
{
	static const struct shell_unknown name = { .is_set = true, .name = "..." };
	static const uint8_t kind[] = { SHELL_UNKNOWN, SHELL_LITERAL, SHELL_LITERAL };
	static const struct shell_word unknown = { .text = { .s = "?\n", .len = 2 }, .kind = kind,
						   .unknowns = &name, .unknown_count = 1 };

	if (f->text.len < 2 || f->text.kind[f->text.len - 2] != SHELL_UNKNOWN)
		word_grow(&f->text, &unknown, w->budget, w->arena);
}

/* A file is written. What may be skipped leaves what was there, behind which it is then. */
static void files_write(struct written_files *files, const struct key *k, const struct writing *w)
{
	bool is_new = k->name && files_index(files, k, false) == files->count;
	bool keeps = w->append || w->may_be_skipped;
	struct written_file *f;

	if (!k->name || strncmp(k->name, "/dev/", 5) == 0 || (is_new && !w->content && !w->flow))
		return;
	f = files_open(files, k, w->arena);
	files->version++;
	if (!keeps)
		*f = (struct written_file){ .name = f->name, .len = f->len, .path = f->path };
	if (w->append ? is_new : !is_new && keeps)
		files_add_unknown(f, w);
	f->flow |= w->flow;
	f->is_copy = w->is_copy;
	f->is_known |= w->content != NULL;
	if (w->content)
		word_grow(&f->text, w->content, w->budget, w->arena);
	else
		files_add_unknown(f, w);
}

/* It gets the text of @from. */
static void files_copy(struct written_files *files, const struct key *k,
		       const struct written_file *from, struct writing w)
{
	if (from->program)
		return;
	w.content = files_content(from, w.budget, w.arena);
	w.flow = from->flow;
	w.is_copy = true;
	files_write(files, k, &w);
}

static void files_copy_program(struct written_files *files, const struct key *k,
			       const struct shell_word *program, struct shell_arena *arena)
{
	struct written_file *f = files_open(files, k, arena);
	struct shell_word *copy = shell_alloc(arena, sizeof(*copy));

	*copy = word_slice(program, 0, program->text.len, arena);
	*f = (struct written_file){ .name = f->name, .len = f->len, .path = f->path,
				    .program = copy };
	files->version++;
}

/* It comes from the network. */
static void files_fetch(struct written_files *files, const struct shell_word *name,
			const struct writing *w)
{
	struct writing fetched = *w;
	struct key k;

	fetched.append = false;
	fetched.content = NULL;
	fetched.flow = FLOW_REMOTE;
	files_key(files, name, &k);
	files_write(files, &k, &fetched);
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

/* A command that writes files by its words: behind wrappers, as sudo. */
struct writer {
	const struct shell_word *words;
	size_t count;
	struct writing w;
};

/* Does curl save under the name in the URL (-O)? Otherwise it writes to standard output. */
static bool files_has_remote_name(const struct writer *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const char *s = c->words[i].text.s;

		if (strncmp(s, "--remote-name", 13) == 0 ||
		    (s[0] == '-' && s[1] != '-' && strchr(s, 'O')))
			return true;
	}
	return false;
}

/* scp HOST:X DEST, rsync, sftp HOST:X: the copy comes from another machine. */
static void files_note_remote_copy(struct written_files *files, const struct writer *c)
{
	const struct shell_word *to = &c->words[c->count - 1];
	bool here = strcmp(to->text.s, ".") == 0 || strcmp(to->text.s, "./") == 0;

	for (size_t i = 1; i < c->count; i++) {
		const char *s = c->words[i].text.s, *colon = strchr(s, ':'), *base;
		struct shell_word last;

		if (!colon || s[0] == '-' || memchr(s, '/', (size_t)(colon - s)) ||
		    (to == &c->words[i] && c->count > 2))
			continue;
		base = str_base_name(colon + 1);
		last = word_slice(&c->words[i], (size_t)(base - s), c->words[i].text.len,
				  c->w.arena);
		files_fetch(files, here || to == &c->words[i] ? &last : to, &c->w);
	}
}

/* Find the directory to save in, without a slash at its end: wget -P DIR, curl --output-dir DIR,
 * aria2c -d DIR. */
static bool files_download_directory(const struct writer *c, const char *program,
				     struct shell_word *directory)
{
	const char *options = " --output-dir "; /* curl */

	if (strcmp(program, "wget") == 0)
		options = " -P --directory-prefix ";
	if (strcmp(program, "aria2c") == 0)
		options = " -d --dir ";
	for (size_t i = 1; i < c->count; i++) {
		const struct shell_word *w = &c->words[i];
		const char *s = w->text.s, *letter;
		size_t end = strcspn(s, "=");

		if (!list_has(options, s, end)) {
			letter = s[0] == '-' && s[1] != '-' ? strchr(s, options[2]) : NULL;
			if (!letter || *letter == '-')
				continue;
			end = (size_t)(letter - s) + 1; /* -P/tmp, -qP */
		}
		end += s[end] == '=';
		if (s[end])
			*directory = word_slice(w, end, w->text.len, c->w.arena);
		else if (i + 1 < c->count)
			*directory = c->words[i + 1];
		else
			return false;
		end = directory->text.len;
		end -= end && directory->text.s[end - 1] == '/';
		*directory = word_slice(directory, 0, end, c->w.arena);
		return end;
	}
	return false;
}

static void files_save(struct written_files *files, const struct writer *c,
		       const struct shell_word *name, const struct shell_word *directory)
{
	struct shell_word path;

	files_fetch(files, name, &c->w);
	if (!directory)
		return;
	path = word_path(directory, name, c->w.arena);
	files_fetch(files, &path, &c->w);
}

/* curl -o FILE, wget -O FILE; wget URL saves under the last part of the URL. */
static void files_note_download(struct written_files *files, const struct writer *c)
{
	const struct blocklist_name *program = name_of(&c->words[0]);
	bool named = false, keeps = true, in_directory;
	struct shell_word directory;

	if (name_in(&c->words[0], " scp rsync sftp ") && c->count > 1)
		files_note_remote_copy(files, c);
	if (!program || !(program->flow & FLOW_KIND_FETCH))
		return;
	if (strcmp(program->name, "curl") == 0)
		keeps = files_has_remote_name(c);
	in_directory = files_download_directory(c, program->name, &directory);
	for (size_t i = 1; i < c->count; i++) {
		const struct shell_word *w = &c->words[i];
		const char *s = w->text.s, *slash = strrchr(s, '/');

		if (files_names_output(program->name, s) &&
		    i + 1 < c->count && c->words[i + 1].text.s[0] != '-' &&
		    !strstr(c->words[i + 1].text.s, "://")) {
			files_save(files, c, &c->words[++i], in_directory ? &directory : NULL);
			named = true;
		} else if (!named && keeps && slash && s[0] != '-' && slash[1]) {
			struct shell_word last = word_slice(w, (size_t)(slash + 1 - s),
							    w->text.len, c->w.arena);

			files_save(files, c, &last, in_directory ? &directory : NULL);
		}
	}
}

static void files_note_tee(struct written_files *files, const struct writer *c,
			   const struct place *at)
{
	struct writing w = c->w;

	w.append = words_have_letter(c->words, c->count, "a") ||
		   words_have(c->words, c->count, " --append ");
	w.content = place_input(at);
	w.flow = place_input(at) ? 0 : at->input_flow;
	for (size_t i = 1; i < c->count && files_may_go_on(&w); i++) {
		struct key k;

		files_key(files, &c->words[i], &k);
		if (k.name && k.name[0] != '-')
			files_write(files, &k, &w);
	}
}

/* dd of=x */
static void files_note_dd(struct written_files *files, const struct writer *c,
			  const struct place *at)
{
	struct writing w = c->w;
	struct shell_word name;
	struct key k;

	w.content = place_input(at);
	w.flow = place_input(at) ? 0 : at->input_flow;
	for (size_t i = 1; i < c->count && files_may_go_on(&w); i++) {
		if (!word_begins(&c->words[i], "of="))
			continue;
		name = word_slice(&c->words[i], 3, c->words[i].text.len, w.arena);
		files_key(files, &name, &k);
		files_write(files, &k, &w);
	}
}

/* cp /bin/rm x, ln -s /bin/rm x, mv: x now runs rm. The same of a file that was written; one that
 * was fetched is most often a program, so only what reads it as a text counts. */
static void files_note_copy(struct written_files *files, const struct writer *c,
			    const struct place *at)
{
	static const char copiers[] = " cp ln mv install hash ";
	struct writing w = c->w;
	const struct shell_word *from, *to = &c->words[c->count - 1];
	const struct written_file *written;
	struct key k;

	if (c->count < 3 || !name_in(&c->words[0], copiers))
		return;
	from = to - 1;
	files_key(files, to, &k);
	written = files_find(files, from);
	w.content = place_input(at);
	if (written)
		files_copy(files, &k, written, c->w);
	else if (w.content && word_is_input(from))
		files_write(files, &k, &w);
	else if (k.name && from->text.s[0] == '/' && strstr(from->text.s, "bin/") &&
		 shell_word_constant(from) && name_of(from) &&
		 strcmp(from->text.s, to->text.s) != 0)
		files_copy_program(files, &k, from, c->w.arena);
}

/* Does it write what the program prints to a file? */
static bool files_is_output(const struct shell_redirect *r)
{
	return (r->op == SHELL_TO || r->op == SHELL_APPEND) && r->fd <= 1;
}

/* What the command at @at writes to files by redirections. If it is the one before with other
 * values, any of them may be there. */
static void files_note_redirects(struct written_files *files, const struct place *at,
				 struct writing w)
{
	const struct shell_command *c = place_command(at);
	const struct written_file *printed;
	bool again = at->index > 0 && c[-1].start == c->start;
	size_t i = 0;

	while (i < c->redirect_count && !files_is_output(&c->redirects[i]))
		i++;
	if (i == c->redirect_count)
		return;
	printed = files_printed(files, c, w.budget);
	w.content = c->output;
	w.flow = c->output || !c->word_count ? 0 : dataflow_output(at->flows, at->index);
	for (; i < c->redirect_count && files_may_go_on(&w); i++) {
		const struct shell_redirect *r = &c->redirects[i];
		struct key k;

		if (!files_is_output(r))
			continue;
		files_key(files, &r->target, &k);
		w.append = again || r->op == SHELL_APPEND;
		if (printed)
			files_copy(files, &k, printed, w);
		else
			files_write(files, &k, &w);
	}
}

/* Where in its words the program begins that writes files. */
static size_t files_writer_index(const struct shell_command *c)
{
	static const char wrappers[] = " sudo doas env command exec nice nohup ";
	static const char writers[] = " tee sponge dd cp ln mv install hash scp rsync sftp ";

	if (!name_in(&c->words[0], wrappers))
		return 0;
	for (size_t i = 1; i < c->word_count && i < 6; i++) {
		const struct blocklist_name *name = name_of(&c->words[i]);

		if (name_in(&c->words[i], writers) || (name && name->flow & FLOW_KIND_FETCH))
			return i;
	}
	return 0;
}

void files_note(struct written_files *files, const struct place *at, struct shell_budget *budget,
		struct shell_arena *arena)
{
	const struct shell_command *c = place_command(at);
	struct writer by = { .w = { .may_be_skipped = c->context & SHELL_CONDITIONAL,
				    .budget = budget, .arena = arena } };
	size_t skip;

	files_note_redirects(files, at, by.w);
	if (!c->word_count)
		return;
	skip = files_writer_index(c);
	by.words = c->words + skip;
	by.count = c->word_count - skip;
	if (name_in(&by.words[0], " tee sponge "))
		files_note_tee(files, &by, at);
	else if (name_in(&by.words[0], " dd "))
		files_note_dd(files, &by, at);
	else
		files_note_download(files, &by);
	files_note_copy(files, &by, at);
}
