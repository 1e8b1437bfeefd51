#include "cap/run_key.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/command.h"
#include "cap/run_limits.h"

#define PARAMS_MAX (64u << 20) /* never reached: a message is shorter */
#define WHOLE_MAX 9007199254740992.0 /* 2^53: up to it every whole number has one spelling */

/* What a parameter is when it is left out and the schema does not say so. */
static const struct {
	const char *name, *json;
} run_key_defaults[] = {
	{ "environment", "{}" }, { "limits", "{}" }, { "network", "true" },
};

/* The workspace, by its path or relative to it. */
static void run_key_drop_workspace(json_t *params, const struct scope *scope)
{
	const char *directory = json_get_str(params, "working_directory", ".");
	const char *workspace = scope_workspace(scope);

	if (!strcmp(directory, ".") || (workspace && !strcmp(directory, workspace)))
		json_object_del(params, "working_directory");
}

static void run_key_drop_default(json_t *params, const char *name, const char *json)
{
	json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);

	if (json_equal(json_object_get(params, name), value))
		json_object_del(params, name);
	json_decref(value);
}

static void run_key_drop_number(json_t *params, const char *name, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	run_key_drop_default(params, name, text);
}

/* As process.run takes them when they are left out, which depends on the call and the operator. */
static void run_key_drop_defaults(json_t *params, const struct config *config, const struct req *r)
{
	int64_t max_runtime = run_limits_usual_seconds(config, true);
	int64_t most = (int64_t)r->dialect->summary_bytes;
	int64_t bytes = config_int(config, CONFIG_PROCESS_MAX_OUTPUT_BYTES);
	int64_t lines = config_int(config, CONFIG_PROCESS_STDOUT_LINES);
	const char *profile = config_choice(config, CONFIG_SANDBOX_PROFILE);

	run_key_drop_number(params, "timeout", run_limits_usual_seconds(config, false));
	run_key_drop_number(params, "max_output_bytes", bytes < most ? bytes : most);
	run_key_drop_number(params, "stderr_lines", json_get_int(params, "stdout_lines", lines));
	run_key_drop_number(params, "stdout_lines", lines);
	if (json_get_bool(params, "background", false) && max_runtime)
		run_key_drop_number(params, "max_runtime", max_runtime);
	if (!strcmp(json_get_str(params, "stdin_mode", ""), command_usual_stdin(params)))
		json_object_del(params, "stdin_mode");
	if (!config_bool(config, CONFIG_SANDBOX_NETWORK))
		json_object_del(params, "network");
	if (!strcmp(profile, "strict"))
		json_object_del(params, "profile");
	else if (!strcmp(profile, "default"))
		run_key_drop_default(params, "profile", "\"default\"");
	run_key_drop_workspace(params, r->call->c->scope);
	run_limits_drop_usual(config, params);
	for (size_t i = 0; i < COUNT_OF(run_key_defaults); i++)
		run_key_drop_default(params, run_key_defaults[i].name, run_key_defaults[i].json);
}

/* 10.0 and 10 are one number. */
static void run_key_unify_numbers(json_t *params)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(params, next, name, value) {
		double number = json_real_value(value);

		if (json_is_real(value) && fabs(number) < WHOLE_MAX && number == trunc(number))
			json_object_set_new(params, name, json_integer((json_int_t)number));
	}
}

void run_key_digest_params(const struct config *config, const struct req *r,
			   const char *const *left_out, unsigned char digest[DIGEST_SIZE])
{
	json_t *compared = json_copy(r->params);

	for (; *left_out; left_out++)
		json_object_del(compared, *left_out);
	run_key_unify_numbers(compared);
	schema_drop_defaults(r->row->input, compared);
	if (json_object_get(compared, "shell") == json_boolean(!json_object_get(compared, "args")))
		json_object_del(compared, "shell");
	run_key_drop_defaults(compared, config, r);
	BUG_IF(digest_json(compared, PARAMS_MAX, digest));
	json_decref(compared);
}

static void run_key_destroy(struct run_key *key)
{
	err_release(&key->why);
	free(key);
}

void run_keys_release(struct run_keys *keys)
{
	for (size_t i = 0; i < RUN_KEY_CHAINS; i++)
		while (keys->chains[i])
			run_key_free(keys, keys->chains[i]);
}

void run_key_free(struct run_keys *keys, struct run_key *key)
{
	struct run_key **at = &keys->chains[key->name[0]];

	if (key->free)
		return;
	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	keys->count--;
	key->free = true;
	if (!key->holders)
		run_key_destroy(key);
}

void run_key_drop(struct run_key *key)
{
	if (!--key->holders && key->free)
		run_key_destroy(key);
}

void run_key_forget(struct run_keys *keys, uint64_t seq)
{
	for (size_t i = 0; keys->count && i < RUN_KEY_CHAINS; i++)
		for (struct run_key *key = keys->chains[i], *next; key; key = next) {
			next = key->next;
			if (key->seq == seq)
				run_key_free(keys, key);
		}
}

/* Was the run cancelled, or is it being killed for that? */
static bool run_key_is_cancelled(const struct proc *p)
{
	enum proc_reason reason = p->phase == PROC_SETTLED ? p->reason : p->live->kill_reason;

	return reason == PROC_REASON_CANCELLED;
}

/* The key @name that a start holds, or NULL. */
static struct run_key *run_key_find(struct run_keys *keys, struct proctab *procs,
				    const unsigned char name[DIGEST_SIZE])
{
	struct run_key *key = keys->chains[name[0]];
	const struct proc *p;

	while (key && memcmp(key->name, name, DIGEST_SIZE))
		key = key->next;
	if (!key || !key->seq)
		return key;
	p = proctab_get(procs, key->seq);
	if (p && !run_key_is_cancelled(p))
		return key;
	run_key_free(keys, key);
	return NULL;
}

static int run_key_fail_other(struct proctab *procs, const struct run_key *key, struct err *e)
{
	const struct proc *p = key->seq ? proctab_get(procs, key->seq) : NULL;

	err_invalid(e, "idempotency_key", "idempotency_key stands for a call with other "
		    "parameters%s%s", p ? ": " : "", p ? p->id : "");
	if (p)
		err_detail(e, "process_id", json_string(p->id));
	return err_hint(e, "Use a new idempotency_key for another command. A repeat has the "
			   "parameters of the first call; only intent and yield_ms may differ.");
}

static struct run_key *run_key_new(struct run_keys *keys, const unsigned char name[DIGEST_SIZE],
				   const unsigned char params[DIGEST_SIZE], uint64_t owner)
{
	struct run_key *key = mem_zalloc(sizeof(*key));

	memcpy(key->name, name, DIGEST_SIZE);
	memcpy(key->params, params, DIGEST_SIZE);
	key->owner = owner;
	key->next = keys->chains[name[0]];
	keys->chains[name[0]] = key;
	keys->count++;
	return key;
}

struct run_key *run_key_hold(struct run_keys *keys, struct proctab *procs,
			     const struct config *config, const struct req *r, const char *name,
			     struct err *e)
{
	static const char *const left_out[] = { "idempotency_key", "intent", "yield_ms", NULL };
	unsigned char digest[DIGEST_SIZE], params[DIGEST_SIZE];
	struct run_key *key;

	digest_bytes(name, strlen(name), digest);
	run_key_digest_params(config, r, left_out, params);
	key = run_key_find(keys, procs, digest);
	if (key && memcmp(key->params, params, DIGEST_SIZE)) {
		(void)run_key_fail_other(procs, key, e);
		return NULL;
	}
	if (!key)
		key = run_key_new(keys, digest, params, r->handle);
	key->holders++;
	return key;
}
