#include "policy/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "policy/config_text.h"

#define FILE_MAX (64u * 1024)
#define NOTE_MAX 512
#define TIER "tier."

struct project_reader {
	struct project *project;
	struct config *config;
	project_tier_fn own_tier;
};

/* ---- notes ---- */

/* Hidden characters of the file are shown by code. */
__attribute__((format(printf, 2, 3))) static void project_ignore(struct project *p,
								 const char *fmt, ...)
{
	char text[NOTE_MAX], shown[2 * NOTE_MAX];
	va_list ap;
	size_t len;

	if (p->ignored_count++ >= PROJECT_NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = utf8_show(shown, sizeof(shown), text, strlen(text));
	p->ignored[p->ignored_count - 1] = mem_strndup(shown, len);
}

/* Releases @e. */
static void project_ignore_mistake(struct project *p, int line, struct err *e)
{
	project_ignore(p, PROJECT_FILE ":%d: %.300s", line, e->message);
	err_release(e);
}

/* ---- what is narrower ---- */

static int64_t project_bound(int64_t value)
{
	return value ? value : INT64_MAX;
}

/* The tier that @number, a choice of the option @row, comes to. */
static int64_t project_tier(const struct project_reader *r, const struct config_row *row,
			    int64_t number)
{
	return number ? number - 1 : (int64_t)r->own_tier(row->name + strlen(TIER));
}

/* Has the operator listed ports? Then true is wider. */
static bool project_has_ports(const struct project_reader *r, const struct config_row *row)
{
	return *config_names(r->config, (enum config_key)(row - config_rows));
}

/* Above 0: @next is narrower than @now; below 0: it is wider. */
static int project_compare(const struct project_reader *r, const struct config_row *row,
			   int64_t now, int64_t next)
{
	bool tier = !strncmp(row->name, TIER, strlen(TIER));

	switch (row->narrow) {
	case CONFIG_NARROW_LOWER:
		return (next < now) - (next > now);
	case CONFIG_NARROW_BOUND:
		return (project_bound(next) < project_bound(now)) -
		       (project_bound(next) > project_bound(now));
	case CONFIG_NARROW_FALSE:
		if (now && next && row->type == CONFIG_PORTS && project_has_ports(r, row))
			return -1;
		return (int)(now - next);
	case CONFIG_NARROW_LATER:
		now = tier ? project_tier(r, row, now) : now;
		next = tier ? project_tier(r, row, next) : next;
		return (next > now) - (next < now);
	case CONFIG_NARROW_NEVER:
		break;
	}
	mem_bug(__FILE__, __LINE__, "a project cannot set this option");
}

/* @text as a value of @key: 0, or -1 with @e. */
static int project_parse(int key, const char *text, int64_t *number, struct err *e)
{
	struct config scratch;
	int status;

	config_init(&scratch);
	status = config_assign(&scratch, key, text, CONFIG_BY_PROJECT, PROJECT_FILE, e);
	*number = scratch.values[key].number;
	if (!status && config_rows[key].type == CONFIG_PORTS && *scratch.values[key].names)
		status = err_set(e, ERR_INVALID_PARAMS,
				 "\"%s\": a project can only set it to false",
				 config_rows[key].name);
	config_release(&scratch);
	return status;
}

static void project_set(struct project_reader *r, int key, const char *text, int line)
{
	struct project *p = r->project;
	AUTO_FREE char *origin = mem_printf("%s:%d", PROJECT_FILE, line);
	ERR_LOCAL(ignored);

	config_assign(r->config, key, text, CONFIG_BY_PROJECT, origin, &ignored);
	p->narrowed[p->narrowed_count++] = mem_strdup(config_rows[key].name);
}

/* ---- the file ---- */

/* A config_text_element_fn that never fails. */
static int project_take_rule(void *ctx, json_t *rule, struct jsonc_place at, struct err *e)
{
	struct project_reader *r = ctx;
	struct ruleset *rules = &r->project->rules;
	const struct rule *added;
	char origin[64];

	snprintf(origin, sizeof(origin), PROJECT_FILE ":%d", at.line);
	if (ruleset_add_tested(rules, rule, origin, RULE_OF_PROJECT, e)) {
		project_ignore_mistake(r->project, at.line, e);
		return 0;
	}
	added = &rules->list[rules->count - 1];
	if (rule_is_over(added))
		project_ignore(r->project, PROJECT_FILE ":%d: " RULE_IS_OVER, at.line, added->id,
			       added->until);
	return 0;
}

static int project_take_rules(struct project_reader *r, const struct config_text_member *m,
			      struct err *e)
{
	if (config_text_elements(m, project_take_rule, r, e))
		project_ignore_mistake(r->project, m->at.line, e);
	return 0;
}

/* A config_text_fn that never fails. */
static int project_take(void *ctx, const struct config_text_member *m, struct err *e)
{
	struct project_reader *r = ctx;
	struct project *p = r->project;
	int key, order;
	AUTO_FREE char *text = NULL;
	int64_t number;

	if (!strcmp(m->name, "rules"))
		return project_take_rules(r, m, e);
	key = config_lookup(m->name, e);
	if (key < 0) {
		project_ignore_mistake(p, m->at.line, e);
		return 0;
	}
	if (config_rows[key].narrow == CONFIG_NARROW_NEVER) {
		project_ignore(p, PROJECT_FILE ":%d: \"%.64s\" is nothing that a project can set",
			       m->at.line, m->name);
		return 0;
	}
	text = config_text_value(&config_rows[key], m->value, e);
	if (!text || project_parse(key, text, &number, e)) {
		project_ignore_mistake(p, m->at.line, e);
		return 0;
	}
	order = project_compare(r, &config_rows[key], r->config->values[key].number, number);
	if (order > 0)
		project_set(r, key, text, m->at.line);
	else if (order < 0)
		project_ignore(p, PROJECT_FILE ":%d: \"%.64s\": \"%.64s\" would loosen it",
			       m->at.line, m->name, text);
	return 0;
}

static void project_read_from(struct project_reader *r, int fd)
{
	ERR_LOCAL(e);
	struct buf text;
	ssize_t got;

	buf_init(&text, FILE_MAX + 1);
	got = read(fd, buf_reserve(&text, FILE_MAX + 1), FILE_MAX + 1);
	buf_commit(&text, got > 0 ? (size_t)got : 0);
	if (got < 0)
		project_ignore(r->project, PROJECT_FILE " cannot be read: %s", strerror(errno));
	else if (got > (ssize_t)FILE_MAX)
		project_ignore(r->project, PROJECT_FILE " is larger than 64 KiB");
	else if (config_text_each(&text, PROJECT_FILE, project_take, r, &e))
		project_ignore(r->project, "%.400s", e.message);
	err_release(&e);
	buf_release(&text);
}

/* A regular file, opened without following a link and without waiting: a command may have made
 * anything. -1: none, or another thing, with errno. */
static int project_open(const struct scope *scope)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int root = open(scope_workspace(scope), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int fd;

	if (root < 0 || fstatat(root, PROJECT_FILE, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	errno = EINVAL;
	fd = S_ISREG(st.st_mode) ? openat(root, PROJECT_FILE, flags) : -1;
	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

void project_read(struct project *p, struct config *c, const struct scope *scope,
		  project_tier_fn own_tier)
{
	struct project_reader r = { .project = p, .config = c, .own_tier = own_tier };
	AUTO_CLOSE int fd = -1;

	if (!scope_workspace(scope) || strcmp(config_choice(c, CONFIG_CONFIG_PROJECT), "narrow"))
		return;
	fd = project_open(scope);
	p->found = fd >= 0 || errno != ENOENT;
	if (fd >= 0)
		project_read_from(&r, fd);
	else if (p->found)
		project_ignore(p, PROJECT_FILE " is not read: %s",
			       errno == EINVAL ? "not a regular file" : strerror(errno));
}

void project_release(struct project *p)
{
	for (size_t i = 0; p->narrowed[i]; i++)
		free(p->narrowed[i]);
	for (size_t i = 0; p->ignored[i]; i++)
		free(p->ignored[i]);
	ruleset_release(&p->rules);
	*p = (struct project){ 0 };
}
