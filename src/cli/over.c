/*
 * Sources: ssh(1), ssh_config(5); podman-run(1); docker and kubectl references; srun(1).
 *
 * All engines: a host that is gone may leave our stdout open, so requests end soon after the end of
 * the input, and a lease ends what no end of input reaches. Not less than 15 minutes: a stateless
 * client of MCP cannot be asked whether it is there.
 *
 * srun without --unbuffered, which makes procpen's stdout a pseudo-terminal on the node: a command
 * that can open /dev/pts could write answers of its own into it.
 */
#include "cli/over.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/schema.h"
#include "base/str.h"
#include "policy/env.h"
#include "shell/words.h"

#define WORDS_MAX 256
#define MARK_TARGET "%target" /* the words of the target */
#define MARK_MOUNT "%mount"   /* WORKSPACE:WORKSPACE */
#define MARK_USER "%user"     /* whom the workspace belongs to, as far as we know */
#define STATE_DIR "/var/lib/procpen"

struct over_preset {
	const char *kind;
	const char *const *prefix;
	const char *state_dir; /* NULL: the user's, which lasts there */
	const char *set;       /* one more option, or NULL */
};

/* Each up to the words of the server. An image may have an entry point of its own, as ours has. */
static const char *const over_ssh[] = { "ssh", "-T", "-o", "BatchMode=yes", "-o",
					"ServerAliveInterval=15", "-o", "ServerAliveCountMax=4",
					MARK_TARGET, "procpen", NULL };
#define OVER_CONTAINER(engine)                                                                     \
	{ engine, "run", "-i", "--rm", MARK_USER, "-v", MARK_MOUNT, "-v",                          \
	  "procpen-state:" STATE_DIR, "--entrypoint", "procpen", MARK_TARGET, NULL }
static const char *const over_podman[] = OVER_CONTAINER("podman");
static const char *const over_docker[] = OVER_CONTAINER("docker");
static const char *const over_kubectl[] = { "kubectl", "exec",    "-i", MARK_TARGET,
					    "--",      "procpen", NULL };
static const char *const over_srun[] = { "srun", "--ntasks=1", MARK_TARGET, "procpen", NULL };
static const char *const over_any[] = { MARK_TARGET, "procpen", NULL };

static const struct over_preset over_presets[] = {
	{ "ssh", over_ssh, NULL, NULL },
	{ "podman", over_podman, STATE_DIR, NULL },
	{ "docker", over_docker, STATE_DIR, NULL },
	{ "kubectl", over_kubectl, STATE_DIR, NULL },
	{ "srun", over_srun, NULL, "env.allow=SLURM_*,CUDA_VISIBLE_DEVICES" },
	{ NULL, over_any, NULL, NULL },
};

struct over_words {
	char **words;
	size_t count;
	bool quotes; /* for the shell at the other end */
};

/* As a shell reads it back: plain, or in single quotes. */
static char *over_quote(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:,./_-";
	char *quoted, *to;

	if (word[strspn(word, plain)] == '\0')
		return mem_strdup(word);
	quoted = to = mem_zalloc(4 * strlen(word) + 3);
	*to++ = '\'';
	for (; *word; word++)
		if (*word == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *word;
	*to = '\'';
	return quoted;
}

static void over_add(struct over_words *c, const char *word)
{
	BUG_IF(c->count + 1 >= WORDS_MAX);
	c->words[c->count++] = c->quotes ? over_quote(word) : mem_strdup(word);
}

/* podman without root maps the caller to a user of a namespace, docker does not. With keep-id
 * alone the user that the image names runs there, not the caller (podman 4.3). */
static void over_add_user(struct over_words *c, const struct over_preset *preset)
{
	char user[64];

	sprintf(user, "--user=%u:%u", (unsigned)geteuid(), (unsigned)getegid());
	if (preset->prefix == over_podman && geteuid())
		over_add(c, "--userns=keep-id");
	over_add(c, user);
}

static void over_add_prefix(struct over_words *c, const struct over_preset *preset,
			    char *const *target, const char *workspace)
{
	AUTO_FREE char *mount = mem_printf("%s:%s", workspace, workspace);

	for (const char *const *word = preset->prefix; *word; word++)
		if (!strcmp(*word, MARK_TARGET))
			for (char *const *part = target; *part; part++)
				over_add(c, *part);
		else if (!strcmp(*word, MARK_USER))
			over_add_user(c, preset);
		else
			over_add(c, strcmp(*word, MARK_MOUNT) ? *word : mount);
}

/* ssh joins the words of the command for a shell. */
static bool over_is_ssh(const char *program)
{
	return !strcmp(str_base_name(program), "ssh");
}

static void over_add_server(struct over_words *c, const struct over_preset *preset,
			    const char *workspace)
{
	static const char *const server[] = { "serve", "--set", "server.eof_seconds=2", "--set",
					      "server.lease_ms=900000", "--workspace" };

	c->quotes = over_is_ssh(c->words[0]);
	for (size_t i = 0; i < COUNT_OF(server); i++)
		over_add(c, server[i]);
	over_add(c, workspace);
	if (preset->state_dir) {
		over_add(c, "--state-dir");
		over_add(c, preset->state_dir);
	}
	if (preset->set) {
		over_add(c, "--set");
		over_add(c, preset->set);
	}
}

/* The row of @over; *@target: what stands behind its kind. */
static const struct over_preset *over_find(const char *over, const char **target)
{
	const struct over_preset *preset = over_presets;

	for (; preset->kind; preset++) {
		size_t len = strlen(preset->kind);

		*target = over + len + 1;
		if (!strncmp(over, preset->kind, len) && over[len] == ':')
			return preset;
	}
	*target = over;
	return preset;
}

static int over_check_workspace(const struct over_preset *preset, const char *workspace,
				struct err *e)
{
	bool mounts = preset->prefix == over_podman || preset->prefix == over_docker;

	if (!workspace || *workspace != '/') {
		err_set(e, ERR_INVALID_PARAMS, "--over needs the workspace as an absolute path");
		return err_hint(e, "Name it with --workspace DIR, as it is where the engine runs.");
	}
	if (!mounts || !strchr(workspace, ':'))
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "%s mounts no path with a colon in it", preset->kind);
	return err_hint(e, "Rename the workspace.");
}

/* A single word that is a kind lacks its target; one that is not a program is most likely a
 * target. */
static int over_check_program(const char *word, struct err *e)
{
	const char *target;
	AUTO_FREE char *with_colon = mem_printf("%s:", word), *path = NULL;
	const struct over_preset *preset;

	preset = over_find(with_colon, &target);
	if (preset->kind && preset->prefix != over_srun) {
		err_set(e, ERR_INVALID_PARAMS, "--over %s: the target is missing", word);
		return err_hint(e, "Write ssh:HOST, podman:IMAGE, docker:IMAGE or kubectl:POD.");
	}
	if (!env_find_program(getenv("PATH"), AT_FDCWD, word, &path, e))
		return 0;
	err_release(e);
	err_set(e, ERR_INVALID_PARAMS, "--over %.64s: there is no program \"%.64s\" here", word,
		word);
	return err_hint(e, "For a machine write ssh:%.64s; else the words of a command that starts "
			   "its arguments.", word);
}

/* A single word NAME:... is not a program, but a kind that is misspelt. */
static int over_check_kind(const char *word, struct err *e)
{
	const char *kinds[COUNT_OF(over_presets)];
	size_t len = strcspn(word, ":/");
	AUTO_FREE char *name = mem_strndup(word, len);

	if (!len || word[len] != ':')
		return over_check_program(word, e);
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		kinds[i] = over_presets[i].kind; /* the last one is NULL */
	err_set(e, ERR_INVALID_PARAMS, "--over %.64s: there is no engine \"%.64s\"", word, name);
	schema_say_nearest(e, name, kinds);
	return err_hint(e, "There are ssh, podman, docker, kubectl and srun; or write a command of "
			   "several words that starts its arguments.");
}

/* Of a preset but srun the target is a name: not an option of the engine, nor more words. */
static int over_check_target(const struct over_preset *preset, char *const *target, struct err *e)
{
	size_t count = 0;

	while (target[count])
		count++;
	if (count > WORDS_MAX / 2) {
		err_set(e, ERR_INVALID_PARAMS, "--over has more than %d words", WORDS_MAX / 2);
		return -1;
	}
	if (preset->prefix == over_any && count == 1)
		return over_check_kind(*target, e);
	if (preset->prefix == over_any || preset->prefix == over_srun)
		return 0;
	if (count == 1 && *target[0] && *target[0] != '-')
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "--over %s: takes one name after the colon", preset->kind);
	return err_hint(e, "For options of %s write the whole prefix, for example --over '%s ...'.",
			preset->kind, preset->kind);
}

/* The words of @text. Behind a kind there may be none: srun needs none, and of the others
 * over_check_target() says what is missing. */
static char **over_split(const struct over_preset *preset, const char *text, struct err *e)
{
	char **words = NULL;

	if (!*text && preset->kind)
		return mem_zalloc(sizeof(*words));
	if (!shell_words_split(text, &words, e))
		return words;
	err_prefix(e, "--over: ");
	err_hint(e, "Write plain words for --over, and single quotes around what a shell would "
		    "expand.");
	return NULL;
}

char **over_command(const char *over, const char *workspace, struct err *e)
{
	struct over_words c = { 0 };
	const char *text;
	const struct over_preset *preset = over_find(over, &text);
	char **target = over_split(preset, text, e);

	if (target && !over_check_target(preset, target, e) &&
	    !over_check_workspace(preset, workspace, e)) {
		c.words = mem_zalloc(WORDS_MAX * sizeof(*c.words));
		over_add_prefix(&c, preset, target, workspace);
		over_add_server(&c, preset, workspace);
	}
	mem_list_free(target);
	return c.words;
}
