#include "blocklist/container.h"

#include <stdbool.h>
#include <string.h>

#include "blocklist/args.h"
#include "blocklist/wrap.h"

#define MOUNTS_MAX 32

/* Options that take a value, as far as they stand before an image. */
static const char values[] =
	" -v --volume --mount -e --env --env-file -w --workdir -u --user --name -p --publish "
	"--network "
	"--net --entrypoint -h --hostname --label -l --memory -m --cpus --pid --ipc --device "
	"--cap-add "
	"--cap-drop --security-opt --tmpfs --ulimit --add-host --dns --restart --log-driver --gpus "
	"--platform --pull --volumes-from --userns --uts --cgroupns --shm-size ";

struct mount {
	struct shell_word outside, inside;
};

struct container {
	struct shell_arena *arena;
	struct mount mounts[MOUNTS_MAX];
	size_t mount_count;
	const struct shell_word *entry; /* the value of --entrypoint, or NULL */
	size_t entry_skip;
	bool host; /* it sees the machine's own processes */
};

/* A mount that there is no room for may be the root. */
static bool has_room(struct container *c)
{
	if (c->mount_count == MOUNTS_MAX)
		shell_arena_exhaust(c->arena);
	return c->mount_count < MOUNTS_MAX;
}

static void add_mount(struct container *c, const struct shell_word *w, size_t from, size_t middle,
		      size_t to)
{
	if (middle == from || to <= middle + 1 || !has_room(c))
		return;
	c->mounts[c->mount_count].outside = shell_wrap_slice(w, from, middle, c->arena);
	c->mounts[c->mount_count++].inside = shell_wrap_slice(w, middle + 1, to, c->arena);
}

/* OUTSIDE:INSIDE[:OPTIONS] */
static void read_volume(struct container *c, const struct shell_word *w, size_t skip)
{
	const char *s = w->text.s, *middle = strchr(s + skip, ':'), *end;

	if (!middle)
		return;
	end = strchr(middle + 1, ':');
	add_mount(c, w, skip, (size_t)(middle - s), end ? (size_t)(end - s) : w->text.len);
}

/* --device OUTSIDE[:INSIDE[:RIGHTS]]: the device is there by its own name. */
static void read_device(struct container *c, const struct shell_word *w, size_t skip)
{
	if (strchr(w->text.s + skip, ':')) {
		read_volume(c, w, skip);
	} else if (has_room(c)) {
		struct shell_word device = shell_wrap_slice(w, skip, w->text.len, c->arena);

		c->mounts[c->mount_count++] = (struct mount){ device, device };
	}
}

/* type=bind,source=OUTSIDE,target=INSIDE */
static void read_mount(struct container *c, const struct shell_word *w, size_t skip)
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
			parts[side] = shell_wrap_slice(
				w, from, end ? (size_t)(end - w->text.s) : w->text.len, c->arena);
		}
	if (parts[0].text.len && parts[1].text.len && has_room(c))
		c->mounts[c->mount_count++] = (struct mount){ parts[0], parts[1] };
}

static void read_options(struct container *c, const struct blocklist_args *a)
{
	const struct blocklist_option *o;

	for (size_t from = 0; (o = blocklist_args_next(a, " -v --volume ", &from)) != NULL;)
		if (o->value)
			read_volume(c, o->value, o->skip);
	for (size_t from = 0; (o = blocklist_args_next(a, " --device ", &from)) != NULL;)
		if (o->value)
			read_device(c, o->value, o->skip);
	for (size_t from = 0; (o = blocklist_args_next(a, " --mount ", &from)) != NULL;)
		if (o->value)
			read_mount(c, o->value, o->skip);
	for (size_t from = 0; (o = blocklist_args_next(a, " --entrypoint ", &from)) != NULL;)
		if (o->value) {
			c->entry = o->value;
			c->entry_skip = o->skip;
		}
	c->host = blocklist_args_has(a, " --privileged --pid=host ");
}

/* Paths of the container as paths outside; other absolute ones lose their slash. */
static struct shell_word turn(struct container *c, const struct shell_word *word)
{
	struct shell_word turned = *word;

	for (size_t i = 0; i < c->mount_count; i++) {
		const struct mount *m = &c->mounts[i];
		bool root = m->outside.text.len == 1 && m->outside.text.s[0] == '/';
		struct shell_word outside = m->outside;

		if (!strstr(turned.text.s, m->inside.text.s))
			continue;
		if (root && turned.text.len > m->inside.text.len)
			outside = shell_wrap_slice(&outside, 0, 0, c->arena);
		return shell_wrap_replace(&turned, m->inside.text.s, m->inside.text.len, &outside,
					  c->arena);
	}
	if (!c->host && turned.text.len && turned.text.s[0] == '/')
		return shell_wrap_slice(&turned, 1, turned.text.len, c->arena);
	return turned;
}

/* chroot INSIDE: where the machine's root is mounted, what follows sees the machine. */
static bool enters_root(const struct container *c, const struct shell_word *words, size_t count)
{
	if (count < 3 || strcmp(words[0].text.s, "chroot"))
		return false;
	for (size_t i = 0; i < c->mount_count; i++)
		if (strcmp(c->mounts[i].outside.text.s, "/") == 0 &&
		    strcmp(c->mounts[i].inside.text.s, words[1].text.s) == 0)
			return true;
	return false;
}

/* --entrypoint PROGRAM: the words are its own. */
static struct blocklist_container with_entry(const struct container *c,
					     const struct blocklist_container *plain)
{
	struct blocklist_container out = { NULL, plain->count + 1 };

	out.words = shell_alloc(c->arena, out.count * sizeof(*out.words));
	out.words[0] = c->entry_skip ? shell_wrap_slice(c->entry, c->entry_skip,
							c->entry->text.len, c->arena)
				     : *c->entry;
	memcpy(out.words + 1, plain->words, plain->count * sizeof(*out.words));
	return out;
}

struct blocklist_container blocklist_container_open(const struct shell_word *words, size_t count,
						    struct shell_arena *arena)
{
	struct blocklist_container out = { NULL, 0 };
	struct container c = { .arena = arena };
	struct blocklist_args args = { 0 };
	size_t at = 1, first;

	while (at < count && strcmp(words[at].text.s, "run"))
		at++;
	if (at >= count)
		return out;
	blocklist_args_read(&args, words + at, count - at, values, true);
	read_options(&c, &args);
	first = at + args.first_operand + 1;
	blocklist_args_release(&args);
	if (first >= count || (!c.mount_count && !c.host))
		return out;
	out.words = shell_alloc(arena, (count - first) * sizeof(*out.words));
	out.count = count - first;
	if (enters_root(&c, words + first, out.count)) {
		out.count -= 2;
		memcpy(out.words, words + first + 2, out.count * sizeof(*out.words));
		return out;
	}
	for (size_t i = 0; i < out.count; i++)
		out.words[i] = turn(&c, &words[first + i]);
	if (c.entry && out.count) /* in the place of the image's name, which is before them */
		out = with_entry(&c, &out);
	return out;
}
