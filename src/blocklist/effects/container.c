/* docker run, docker create, podman run: what a command in a container does to the host. */
#include "blocklist/effects/readers.h"

#include "base/str.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"

#define MOUNTS_MAX 32

/* Options of run that take a value. */
static const char values[] =
	" -v --volume --mount -e --env --env-file -w --workdir -u --user --name -p --publish "
	"--network "
	"--net --entrypoint -h --hostname --label -l --memory -m --cpus --pid --ipc --device "
	"--cap-add "
	"--cap-drop --security-opt --tmpfs --ulimit --add-host --dns --restart --log-driver --gpus "
	"--platform --pull --volumes-from --userns --uts --cgroupns --shm-size ";

/* Options in front of run, of docker, podman and compose, that take a value. */
static const char global_values[] =
	" -H --host -c --context -l --log-level --config --tlscacert --tlscert --tlskey "
	"--url --connection --identity --root --runroot --runtime --storage-driver --storage-opt "
	"--tmpdir --cgroup-manager --conmon --events-backend --hooks-dir --module "
	"--network-cmd-path --namespace -n --address -a "
	"-f --file -p --project-name --project-directory --profile --env-file --ansi --parallel "
	"--progress ";

/* Steps of the budget for a word, and for each mount that it is compared with. */
#define WORK_WORD 12u
#define WORK_MOUNT 5u
/* Steps for the slashes between two names, */
#define WORK_RUN 6u
/* and for a path that lies in a mount, besides those for its bytes. */
#define WORK_PLACE 40u

struct mount {
	struct shell_word outside;
	const char *inside; /* resolved: "/a/b" */
	size_t inside_len;
};

struct container {
	struct shell_arena *arena;
	struct mount mounts[MOUNTS_MAX];
	size_t mount_count;
	const struct shell_word *entry; /* the value of --entrypoint, or NULL */
	size_t entry_skip;
	const struct shell_word *directory; /* the value of --workdir, or NULL */
	size_t directory_skip;
	bool host; /* it sees the host's processes */
};

/* With too many mounts the command is too complex. */
static bool container_has_room(struct container *c)
{
	if (c->mount_count == MOUNTS_MAX)
		shell_arena_exhaust(c->arena);
	return c->mount_count < MOUNTS_MAX;
}

/* The bytes [from, middle) of @w outside are the bytes [inside, to) inside. */
static void container_add_mount(struct container *c, const struct shell_word *w, size_t from,
				size_t middle, size_t inside, size_t to)
{
	struct mount *m = &c->mounts[c->mount_count];
	char *resolved = shell_alloc(c->arena, to - inside + 2);
	size_t len = str_fold_path(w->text.s + inside, to - inside, resolved);

	if (middle == from || !len || !container_has_room(c))
		return;
	*m = (struct mount){ word_slice(w, from, middle, c->arena), resolved, len };
	c->mount_count++;
}

/* OUTSIDE:INSIDE[:OPTIONS] */
static void container_volume(struct container *c, const struct shell_word *w, size_t skip)
{
	const char *s = w->text.s, *middle = strchr(s + skip, ':'), *end;

	if (!middle)
		return;
	end = strchr(middle + 1, ':');
	container_add_mount(c, w, skip, (size_t)(middle - s), (size_t)(middle - s) + 1,
			    end ? (size_t)(end - s) : w->text.len);
}

/* --device OUTSIDE[:INSIDE[:RIGHTS]]; without INSIDE it has the same name inside. */
static void container_device(struct container *c, const struct shell_word *w, size_t skip)
{
	if (strchr(w->text.s + skip, ':'))
		container_volume(c, w, skip);
	else
		container_add_mount(c, w, skip, w->text.len, skip, w->text.len);
}

/* type=bind,source=OUTSIDE,target=INSIDE */
static void container_mount(struct container *c, const struct shell_word *w, size_t skip)
{
	static const char *const outside[] = { "source=", "src=" };
	static const char *const inside[] = { "target=", "destination=", "dst=" };
	size_t from[2] = { 0, 0 }, to[2] = { 0, 0 };

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < 2 + side; i++) {
			const char *key = side ? inside[i] : outside[i];
			const char *at = strstr(w->text.s + skip, key), *end;

			if (!at)
				continue;
			from[side] = (size_t)(at - w->text.s) + strlen(key);
			end = strchr(w->text.s + from[side], ',');
			to[side] = end ? (size_t)(end - w->text.s) : w->text.len;
		}
	if (to[0] && to[1])
		container_add_mount(c, w, from[0], to[0], from[1], to[1]);
}

static void container_options(struct container *c, const struct args *a)
{
	const struct args_option *o;

	for (size_t from = 0; (o = args_next(a, " -v --volume ", &from)) != NULL;)
		if (o->value)
			container_volume(c, o->value, o->skip);
	for (size_t from = 0; (o = args_next(a, " --device ", &from)) != NULL;)
		if (o->value)
			container_device(c, o->value, o->skip);
	for (size_t from = 0; (o = args_next(a, " --mount ", &from)) != NULL;)
		if (o->value)
			container_mount(c, o->value, o->skip);
	for (size_t from = 0; (o = args_next(a, " --entrypoint ", &from)) != NULL;)
		if (o->value) {
			c->entry = o->value;
			c->entry_skip = o->skip;
		}
	for (size_t from = 0; (o = args_next(a, " -w --workdir ", &from)) != NULL;)
		if (o->value) {
			c->directory = o->value;
			c->directory_skip = o->skip;
		}
	c->host = args_has(a, " --privileged --pid=host ");
}

/* ---- paths in the container as host paths ---- */

static bool container_is_name_char(const struct shell_text *t, size_t i)
{
	char c = t->s[i];

	return str_is_name_char(c) || c == '.' || c == '-' || (unsigned char)c > 0x7f;
}

/* Does a path begin at the slash @i? Also behind an option without a space: -C/x, -xC/x. */
static bool container_begins_path(const struct shell_text *t, size_t i)
{
	size_t dash = i;

	if (!i || !container_is_name_char(t, i - 1))
		return true;
	while (dash && ((t->s[dash - 1] | 0x20) >= 'a' && (t->s[dash - 1] | 0x20) <= 'z'))
		dash--;
	if (dash == i || !dash || t->s[dash - 1] != '-')
		return false;
	return dash == 1 || (t->s[dash - 2] != '/' && !container_is_name_char(t, dash - 2));
}

/* A place in a text: a path, and the mount that it lies in. */
struct container_place {
	const struct mount *mount; /* or NULL */
	size_t end;                /* of the mount's name in the text */
	size_t steps;
};

/* ".." or ".", which a glob behind it would make another name. */
static bool container_is_dots(const struct shell_text *t, size_t from, size_t end)
{
	return end - from <= 2 && t->s[from] == '.' && t->s[end - 1] == '.' &&
	       (end == t->len || !strchr("*?[", t->s[end]));
}

/* Follow the path at byte @i of @t through its components: does it end in the mount @m? */
static void container_follow(const struct mount *m, const struct shell_text *t, size_t i,
			     struct container_place *place)
{
	size_t fits = 0, more = 0, end = 0, start = i; /* bytes of m->inside; levels below these */

	while (i < t->len && t->s[i] == '/') {
		size_t from = ++i, next = fits + 1;

		while (next < m->inside_len && m->inside[next] != '/' && i < t->len &&
		       m->inside[next] == t->s[i])
			next++, i++;
		if (!more && i > from && (next == m->inside_len || m->inside[next] == '/') &&
		    (i == t->len || !container_is_name_char(t, i))) {
			fits = next;
			end = i;
			continue;
		}
		while (i < t->len && t->s[i] != '/' && container_is_name_char(t, i))
			i++;
		if (i == from)
			continue;
		if (!container_is_dots(t, from, i))
			more++;
		else if (i - from == 2 && more)
			more--;
		else if (i - from == 2)
			while (fits && m->inside[--fits] != '/')
				;
	}
	place->steps += i - start;
	if (fits == m->inside_len &&
	    (!place->mount || place->mount->inside_len < m->inside_len)) {
		place->mount = m;
		place->end = end;
	}
}

/* The path whose slashes are the bytes @first to @i of @t, and the innermost mount of it. */
static struct container_place container_place_at(const struct container *c,
						 const struct shell_text *t, size_t first,
						 size_t i)
{
	struct container_place place = { NULL, 0, 0 };

	bool url = first && t->s[first - 1] == ':' && i == first + 1;

	if (!url && container_begins_path(t, first))
		for (size_t k = 0; k < c->mount_count; k++)
			container_follow(&c->mounts[k], t, i, &place);
	return place;
}

/* What stands for the mount at @place, from byte @i to its end, in @word: "/" in front of a slash
 * is nothing. */
static struct shell_word container_outside(const struct container *c,
					   const struct container_place *place,
					   const struct shell_word *word, size_t i)
{
	const struct mount *m = place->mount;
	size_t end = place->end, len = m->outside.text.len;
	bool root = len == 1 && m->outside.text.s[0] == '/';
	bool more = end < word->text.len && word->text.s[end] == '/';
	struct shell_word outside = word_slice(&m->outside, 0, root && more ? 0 : len, c->arena);
	uint32_t *at = shell_alloc(c->arena, (len + 1) * sizeof(*at));

	for (size_t k = 0; k < len; k++)
		at[k] = word->text.at ? word->text.at[i] : word->start;
	outside.text.at = at;
	return outside;
}

/* The parts of @word, in turn without and with a mount. Returns how many. */
static size_t container_split(const struct container *c, const struct shell_word *word,
			      struct action_list *out, struct shell_word *parts)
{
	const struct shell_text *t = &word->text;
	size_t count = 0, from = 0;
	const char *slash;

	for (size_t i = 0; i < t->len && action_charge(out, c->mount_count); i++) {
		struct container_place place;
		size_t first;

		slash = memchr(t->s + i, '/', t->len - i);
		if (!slash)
			break;
		first = i = (size_t)(slash - t->s);
		while (i + 1 < t->len && t->s[i + 1] == '/')
			i++;
		place = container_place_at(c, t, first, i);
		if (!action_charge(out, place.steps))
			break;
		if (!place.mount)
			continue;
		if (!action_charge(out, WORK_PLACE + place.mount->outside.text.len))
			break;
		parts[count++] = word_slice(word, from, first, c->arena);
		parts[count++] = container_outside(c, &place, word, i);
		from = place.end;
		i = from - 1;
	}
	parts[count++] = word_slice(word, from, t->len, c->arena);
	return count;
}

/* Replace the mounts in *@word, a path or a text with paths. False: it has none. */
static bool container_turn_mounts(const struct container *c, struct action_list *out,
				  struct shell_word *word)
{
	struct shell_word *parts;
	size_t runs = 0, count, len = 0;

	for (size_t i = 0; i < word->text.len; i++)
		runs += word->text.s[i] == '/' && (!i || word->text.s[i - 1] != '/');
	if (!action_charge(out, word->text.len + WORK_RUN * runs) || !runs)
		return false;
	parts = shell_alloc_raw(c->arena, (2 * runs + 1) * sizeof(*parts));
	count = container_split(c, word, out, parts);
	if (count == 1)
		return false;
	for (size_t i = 0; i < count; i++)
		len += parts[i].text.len;
	if (!action_charge(out, len))
		return false;
	*word = word_concat_all(parts, count, c->arena);
	return true;
}

/* Is *@word, seen from a --workdir outside of the mounts, a path in one? Then it is that. */
static void container_turn_relative(const struct container *c, struct action_list *out,
				    struct shell_word *word)
{
	size_t from = c->directory_skip, end = c->directory ? c->directory->text.len : 0;
	struct shell_word path;
	struct container_place place;

	if (end <= from || c->directory->text.s[from] != '/' || word->text.s[0] == '-' ||
	    !action_charge(out, WORK_PLACE + 2 * (end - from + word->text.len)))
		return;
	while (end > from && c->directory->text.s[end - 1] == '/')
		end--;
	path = word_slice(c->directory, from, end, c->arena);
	path = word_path(&path, word, c->arena);
	place = container_place_at(c, &path.text, 0, 0);
	if (!action_charge(out, place.steps) || !place.mount || place.end <= end - from)
		return;
	path.start = word->start;
	path.end = word->end;
	*word = path;
	container_turn_mounts(c, out, word);
}

/* A path in the container as a host path; other absolute ones become relative, thus harmless. */
static struct shell_word container_turn(const struct container *c, struct action_list *out,
					const struct shell_word *word)
{
	struct shell_word turned = *word;
	bool absolute = word->text.len && word->text.s[0] == '/';

	if (!container_turn_mounts(c, out, &turned) && !c->host && absolute)
		return word_slice(&turned, 1, turned.text.len, c->arena);
	if (!absolute)
		container_turn_relative(c, out, &turned);
	return turned;
}

/* The command starts in the value of -w, or in a directory that only the image knows. */
static void container_chdir(const struct container *c, struct action_list *out)
{
	struct shell_word dir;
	bool known = c->directory != NULL;

	if (known)
		dir = word_slice(c->directory, c->directory_skip, c->directory->text.len,
				 c->arena);
	action_chdir(out, known && container_turn_mounts(c, out, &dir) ? &dir : NULL, 0);
}

/* ---- what it runs ---- */

static bool container_is_root(const struct container *c, const struct shell_word *dir,
			      struct action_list *out)
{
	struct container_place place = container_place_at(c, &dir->text, 0, 0);

	return action_charge(out, place.steps) && place.mount &&
	       !strcmp(place.mount->outside.text.s, "/") &&
	       strspn(dir->text.s + place.end, "/.") == dir->text.len - place.end;
}

/* The word behind chroot to a mount of the host's root, which sees the host; 0: there is none. */
static size_t container_behind_chroot(const struct container *c, const struct shell_word *words,
				      size_t count, struct action_list *out)
{
	for (size_t i = 0; i + 2 < count; i++)
		if (name_in(&words[i], " chroot ") && container_is_root(c, &words[i + 1], out))
			return i + 2;
	return 0;
}

/* --entrypoint PROGRAM: @words are its arguments. */
static struct shell_word *container_with_entry(const struct container *c,
					       const struct shell_word *words, size_t count)
{
	struct shell_word *list = shell_alloc(c->arena, (count + 1) * sizeof(*list));

	list[0] = c->entry_skip ? word_slice(c->entry, c->entry_skip, c->entry->text.len, c->arena)
				: *c->entry;
	memcpy(list + 1, words, count * sizeof(*list));
	return list;
}

/* Text on its standard input, which a shell in it may read, names paths too. */
static void container_feed(const struct container *c, const struct command *cmd,
			   struct action_list *out)
{
	struct shell_word *text;

	if (!place_input(cmd->at))
		return;
	text = shell_alloc(c->arena, sizeof(*text));
	*text = *place_input(cmd->at);
	if (container_turn_mounts(c, out, text))
		out->list[out->count - 1].input = text;
}

/* The words of @cmd from @first on. */
static void container_run(const struct container *c, const struct command *cmd, size_t first,
			  struct action_list *out)
{
	const struct shell_word *words = cmd->words + first;
	size_t count = cmd->count - first, behind;
	struct shell_word *list;

	if (c->entry)
		words = container_with_entry(c, words, count++);
	behind = container_behind_chroot(c, words, count, out);
	if (behind) {
		struct shell_word root = word_fixed("/", SHELL_LITERAL, words, c->arena);

		action_chdir(out, &root, 0);
		action_words(out, words + behind, count - behind, ACTION_LENIENT);
		return;
	}
	list = shell_alloc(c->arena, count * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = container_turn(c, out, &words[i]);
	container_chdir(c, out);
	action_words(out, list, count, ACTION_LENIENT | (c->host ? 0 : ACTION_ELSEWHERE));
	container_feed(c, cmd, out);
}

/*
 * With host directories mounted, maps the command's paths back to host paths. A container
 * without host mounts and without the host's processes is not judged.
 */
void read_container(const struct command *cmd, struct action_list *out)
{
	struct container c = { .arena = out->arena };
	size_t at = 1, first, mounts = 0;

	for (size_t i = 1; i < cmd->count; i++)
		mounts += cmd->words[i].text.s[0] == '-' && strpbrk(cmd->words[i].text.s, "vm");
	if (!action_charge(out, cmd->count * (WORK_WORD +
					      WORK_MOUNT * (mounts < MOUNTS_MAX ? mounts
							    : MOUNTS_MAX))))
		return;
	while (at < cmd->count && !word_in(&cmd->words[at], " run create "))
		at += word_in(&cmd->words[at], global_values) ? 2 : 1;
	if (at >= cmd->count)
		return;
	args_read(out->args, cmd->words + at, cmd->count - at, values, true);
	container_options(&c, out->args);
	first = at + out->args->first_operand + 1;
	if (first < cmd->count && (c.mount_count || c.host))
		container_run(&c, cmd, first, out);
}
