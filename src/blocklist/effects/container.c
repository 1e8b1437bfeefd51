/* docker run, podman run: what a command in a container does to the host. */
#include "blocklist/effects/readers.h"

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

/* Steps of the budget for a word, and for each mount that it is compared with. */
#define WORK_WORD 12u
#define WORK_MOUNT 5u

struct mount {
	struct shell_word outside, inside;
};

struct container {
	struct shell_arena *arena;
	struct mount mounts[MOUNTS_MAX];
	size_t mount_count;
	const struct shell_word *entry; /* the value of --entrypoint, or NULL */
	size_t entry_skip;
	bool host; /* it sees the host's processes */
};

/* With too many mounts the command is too complex. */
static bool container_has_room(struct container *c)
{
	if (c->mount_count == MOUNTS_MAX)
		shell_arena_exhaust(c->arena);
	return c->mount_count < MOUNTS_MAX;
}

static void container_add_mount(struct container *c, const struct shell_word *w, size_t from,
				size_t middle, size_t to)
{
	if (middle == from || to <= middle + 1 || !container_has_room(c))
		return;
	c->mounts[c->mount_count].outside = word_slice(w, from, middle, c->arena);
	c->mounts[c->mount_count++].inside = word_slice(w, middle + 1, to, c->arena);
}

/* OUTSIDE:INSIDE[:OPTIONS] */
static void container_volume(struct container *c, const struct shell_word *w, size_t skip)
{
	const char *s = w->text.s, *middle = strchr(s + skip, ':'), *end;

	if (!middle)
		return;
	end = strchr(middle + 1, ':');
	container_add_mount(c, w, skip, (size_t)(middle - s),
			    end ? (size_t)(end - s) : w->text.len);
}

/* --device OUTSIDE[:INSIDE[:RIGHTS]]; without INSIDE it has the same name inside. */
static void container_device(struct container *c, const struct shell_word *w, size_t skip)
{
	if (strchr(w->text.s + skip, ':')) {
		container_volume(c, w, skip);
	} else if (container_has_room(c)) {
		struct shell_word device = word_slice(w, skip, w->text.len, c->arena);

		c->mounts[c->mount_count++] = (struct mount){ device, device };
	}
}

/* type=bind,source=OUTSIDE,target=INSIDE */
static void container_mount(struct container *c, const struct shell_word *w, size_t skip)
{
	static const char *const outside[] = { "source=", "src=" };
	static const char *const inside[] = { "target=", "destination=", "dst=" };
	struct shell_word parts[2] = { { .text = { .s = "" } }, { .text = { .s = "" } } };

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < 2 + side; i++) {
			const char *key = side ? inside[i] : outside[i];
			const char *at = strstr(w->text.s + skip, key), *end;
			size_t from;

			if (!at)
				continue;
			from = (size_t)(at - w->text.s) + strlen(key);
			end = strchr(w->text.s + from, ',');
			parts[side] = word_slice(
				w, from, end ? (size_t)(end - w->text.s) : w->text.len, c->arena);
		}
	if (parts[0].text.len && parts[1].text.len && container_has_room(c))
		c->mounts[c->mount_count++] = (struct mount){ parts[0], parts[1] };
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
	c->host = args_has(a, " --privileged --pid=host ");
}

/* A path in the container as a host path; other absolute ones become relative, thus harmless. */
static struct shell_word container_turn(struct container *c, const struct shell_word *word)
{
	struct shell_word turned = *word;

	for (size_t i = 0; i < c->mount_count; i++) {
		const struct mount *m = &c->mounts[i];
		bool root = m->outside.text.len == 1 && m->outside.text.s[0] == '/';
		struct shell_word outside = m->outside;

		if (!strstr(turned.text.s, m->inside.text.s))
			continue;
		if (root && turned.text.len > m->inside.text.len)
			outside = word_slice(&outside, 0, 0, c->arena);
		return word_replace(&turned, m->inside.text.s, m->inside.text.len, &outside,
				    c->arena);
	}
	if (!c->host && turned.text.len && turned.text.s[0] == '/')
		return word_slice(&turned, 1, turned.text.len, c->arena);
	return turned;
}

/* Is it chroot to a mount of the host's root? The command after it sees the host. */
static bool container_enters_root(const struct container *c, const struct shell_word *words,
				  size_t count)
{
	if (count < 3 || strcmp(words[0].text.s, "chroot"))
		return false;
	for (size_t i = 0; i < c->mount_count; i++)
		if (strcmp(c->mounts[i].outside.text.s, "/") == 0 &&
		    strcmp(c->mounts[i].inside.text.s, words[1].text.s) == 0)
			return true;
	return false;
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

static void container_run(struct container *c, const struct shell_word *words, size_t count,
			  struct action_list *out)
{
	struct shell_word *list;

	if (container_enters_root(c, words, count)) {
		action_words(out, words + 2, count - 2, ACTION_LENIENT);
		return;
	}
	list = shell_alloc(c->arena, count * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = container_turn(c, &words[i]);
	if (c->entry)
		list = container_with_entry(c, list, count++);
	action_words(out, list, count, ACTION_LENIENT);
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
	while (at < cmd->count && !word_is(&cmd->words[at], "run"))
		at++;
	if (at >= cmd->count)
		return;
	args_read(out->args, cmd->words + at, cmd->count - at, values, true);
	container_options(&c, out->args);
	first = at + out->args->first_operand + 1;
	if (first < cmd->count && (c.mount_count || c.host))
		container_run(&c, cmd->words + first, cmd->count - first, out);
}
