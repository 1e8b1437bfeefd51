#include "unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/mem.h"
#include "os/procfs.h"
#include "os/sandbox/confine.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/layers.h"
#include "os/sandbox/state.h"
#include "os/sandbox/trial.h"
#include "scratch.h"

#define ALWAYS (BIT(CONFINE_SHIM) | BIT(CONFINE_SESSION) | BIT(CONFINE_RLIMITS))
#define FILTERED (BIT(CONFINE_NO_NEW_PRIVS) | BIT(CONFINE_SECCOMP))
#define NEW_NAMESPACES 0x7e020000u /* CLONE_NEW*: NS CGROUP UTS IPC USER PID NET */

struct fixture {
	struct scratch tmp;
	char state[SCRATCH_PATH], workspace[SCRATCH_PATH];
	const char *writable[2];
	struct confine_options options;
	struct confine *c;
	struct shim_plan plan;
	struct confine_run run;
	struct err e;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_init(&f->tmp);
	scratch_mkdir(&f->tmp, "ws");
	scratch_copy(&f->tmp, "ws", f->workspace);
	scratch_copy(&f->tmp, "state", f->state);
	f->writable[0] = f->workspace;
	f->options = (struct confine_options){
		.instance = "unit", .temporary = f->state, .network = true, .namespaces = true,
		.writable = f->writable, .umask = 027, .nofile = { 512, 1024 },
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	confine_run_release(&f->run);
	confine_free(f->c);
	err_release(&f->e);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

/* A new one with the options as they are now. */
static struct confine *make(struct fixture *f)
{
	confine_run_release(&f->run);
	confine_free(f->c);
	f->c = confine_new(&f->options);
	return f->c;
}

static int enter(struct fixture *f, const struct confine_request *request)
{
	err_release(&f->e);
	confine_run_release(&f->run);
	return confine_enter(f->c, request, 7, &f->plan, &f->run, &f->e);
}

static const struct confine_request nothing;

static void enter_well(struct fixture *f, const struct confine_request *request)
{
	if (enter(f, request))
		fail_msg("refused: %s", f->e.message);
}

/* All layers that work here, by the trial. */
static uint32_t usable(const struct fixture *f)
{
	return f->c->usable;
}

static bool has(const struct fixture *f, enum confine_layer layer)
{
	return f->run.applied.layers & BIT(layer);
}

/* ---- names ---- */

static void test_confine_names(void **state)
{
	static const char *const names[CONFINE_LAYER_COUNT] = {
		"shim", "session", "rlimits", "no_new_privs", "credentials", "capabilities", "seccomp",
		"landlock", "pid_namespace", "mount_namespace", "network_off",
		"network_ports", "cgroup",
	};
	struct fixture *f = *state;

	(void)f;
	for (int i = 0; i < CONFINE_LAYER_COUNT; i++) {
		assert_string_equal(layers_name((enum confine_layer)i), names[i]);
		assert_int_equal(confine_layer_find(names[i]), i);
	}
	assert_int_equal(confine_layer_find("landlock:7"), -1);
	assert_int_equal(confine_layer_find("Landlock"), -1);
	assert_int_equal(confine_layer_find(""), -1);
}

static void append(void *ctx, const char *layer)
{
	buf_addf(ctx, "%s ", layer);
}

/* The layers of @applied as they are reported, each followed by a space. */
static void expect_names(const struct confine *c, const struct confine_applied *applied,
			 const char *names)
{
	struct buf all;

	buf_init(&all, 4096);
	confine_each_applied(c, applied, append, &all);
	assert_string_equal(all.data, names);
	buf_release(&all);
}

static void test_confine_names_in_detail(void **state)
{
	struct fixture *f = *state;
	struct confine_applied applied = {
		.layers = BIT(CONFINE_SECCOMP) | BIT(CONFINE_LANDLOCK) | BIT(CONFINE_CREDENTIALS) |
			  BIT(CONFINE_PID_NS) | BIT(CONFINE_NETWORK_OFF),
		.profile = CONFINE_STRICT,
		.uid = 1234,
	};
	struct confine *c = make(f);

	c->landlock_abi = 5;
	expect_names(c, &applied, "credentials:1234 seccomp:strict landlock:5 pid_namespace "
				  "network_off:seccomp ");
	applied.uid = 7;
	c->landlock_abi = 4;
	expect_names(c, &applied, "credentials:7 seccomp:strict landlock:4 pid_namespace "
				  "network_off:seccomp ");
	applied.net_ns = true;
	applied.layers = BIT(CONFINE_NETWORK_OFF);
	expect_names(c, &applied, "network_off:namespace ");
	applied.profile = CONFINE_NONE;
	expect_names(c, &applied, "network_off:namespace PROFILE NONE: NOT SANDBOXED ");
}

/* ---- lazy ---- */

static void test_confine_new_touches_nothing(void **state)
{
	struct fixture *f = *state;

	make(f);
	assert_int_not_equal(access(f->state, F_OK), 0);
	assert_false(f->c->prepared);
	confine_free(f->c);
	f->c = NULL;
	assert_int_not_equal(access(f->state, F_OK), 0);
	confine_free(NULL);
}

static void test_confine_copies_its_options(void **state)
{
	struct fixture *f = *state;
	char path[SCRATCH_PATH];

	strcpy(path, f->workspace);
	f->writable[0] = path;
	make(f);
	memset(path, 'x', sizeof(path));
	enter_well(f, &nothing);
	assert_true(confine_can_write(f->c, f->workspace));
}

static void test_confine_temporary(void **state)
{
	struct fixture *f = *state;
	char *path;

	f->options.users_temporary = "/somewhere";
	make(f);
	path = confine_temporary(f->c, &nothing);
	assert_string_equal(path, scratch_path(&f->tmp, "state/tmp/unit"));
	free(path);
	path = confine_temporary(f->c, &(struct confine_request){ .as_user = true, .uid = 42 });
	assert_string_equal(path, "/somewhere/tmp-users/unit/42");
	free(path);
	f->options.users_temporary = f->options.temporary = NULL;
	make(f);
	assert_null(confine_temporary(f->c, &nothing));
	assert_null(confine_temporary(f->c, &(struct confine_request){ .as_user = true }));
}

/* ---- profiles ---- */

static void test_confine_default(void **state)
{
	struct fixture *f = *state;
	uint32_t want;

	make(f);
	enter_well(f, &nothing);
	want = ALWAYS | FILTERED | BIT(CONFINE_CAPABILITIES) | BIT(CONFINE_LANDLOCK) |
	       BIT(CONFINE_PID_NS) | BIT(CONFINE_MOUNT_NS);
	assert_int_equal(f->run.applied.layers, want & usable(f));
	assert_int_equal(f->run.applied.layers & (ALWAYS | FILTERED), ALWAYS | FILTERED);
	assert_int_equal(has(f, CONFINE_CAPABILITIES), geteuid() == 0);
	assert_int_equal(f->run.applied.profile, CONFINE_DEFAULT);
	assert_true(f->plan.flags & SHIM_NO_NEW_PRIVS);
	assert_true(f->plan.flags & SHIM_SECCOMP);
	assert_false(f->plan.flags & (SHIM_NET_NS | SHIM_LISTENER | SHIM_TRIAL | SHIM_CREDENTIALS));
	assert_true(f->plan.filter_len > 0);
	assert_int_equal(f->plan.umask, 027);
	assert_false(f->run.clone_flags & CLONE_NEWNET);
	assert_int_equal(access(scratch_path(&f->tmp, "state/tmp/unit"), F_OK), 0);
}

static void test_confine_namespaces_in_the_plan(void **state)
{
	struct fixture *f = *state;
	bool user_ns;

	make(f);
	enter_well(f, &nothing);
	if (!has(f, CONFINE_PID_NS)) {
		print_message("SKIP: no namespaces here: %s\n", f->c->layers[CONFINE_PID_NS].reason);
		skip();
	}
	assert_true(f->run.clone_flags & CLONE_NEWPID && f->run.clone_flags & CLONE_NEWNS);
	assert_true(f->plan.flags & SHIM_PID_NS && f->plan.flags & SHIM_MOUNTS);
	assert_true(f->plan.mounts_size > 0);
	user_ns = f->run.clone_flags & CLONE_NEWUSER;
	assert_int_equal(user_ns, geteuid() != 0);
	assert_int_equal((f->plan.flags & SHIM_USER_NS) != 0, user_ns);
	if (user_ns)
		assert_true(f->plan.uid == geteuid() && f->plan.gid == getegid());
}

static void last_layer(void *ctx, const char *layer)
{
	*(const char **)ctx = layer;
}

static void test_confine_none(void **state)
{
	struct fixture *f = *state;
	const char *last = NULL;

	f->options.profile = CONFINE_NONE;
	make(f);
	enter_well(f, &nothing);
	assert_int_equal(f->run.applied.layers & ~BIT(CONFINE_CGROUP), ALWAYS);
	assert_int_equal(f->plan.flags & ~(uint32_t)SHIM_OOM_SCORE, 0);
	assert_int_equal(f->plan.filter_len, 0);
	assert_int_equal(f->plan.landlock_fd, -1);
	assert_int_equal(f->run.clone_flags, 0);
	confine_each_applied(f->c, &f->run.applied, last_layer, &last);
	assert_string_equal(last, "PROFILE NONE: NOT SANDBOXED");
}

/* Does the shim of the next run with @request have it that no command of another can reach it? */
static bool is_sheltered(struct fixture *f, const struct confine_request *request)
{
	enter_well(f, request);
	return f->plan.flags & SHIM_SHELTERED;
}

/* By a PID namespace, or by Landlock as soon as that holds signals. Where the operator wants no
 * sandbox, other commands have none, whatever this run asks for. */
static void test_confine_shelter(void **state)
{
	const struct confine_request confined = { .confined = true };
	struct fixture *f = *state;

	make(f);
	enter_well(f, &nothing);
	assert_int_equal(is_sheltered(f, &nothing),
			 has(f, CONFINE_PID_NS) ||
				 (has(f, CONFINE_LANDLOCK) && f->c->landlock_abi >= LANDLOCK_ABI_SCOPE));
	f->c->usable &= ~BIT(CONFINE_PID_NS);
	for (int abi = 1; abi <= LANDLOCK_ABI_SCOPE; abi++) {
		f->c->landlock_abi = abi;
		assert_int_equal(is_sheltered(f, &nothing),
				 has(f, CONFINE_LANDLOCK) && abi == LANDLOCK_ABI_SCOPE);
	}
	f->c->usable &= ~BIT(CONFINE_LANDLOCK);
	assert_false(is_sheltered(f, &nothing));
	f->options.profile = CONFINE_NONE;
	make(f);
	assert_false(is_sheltered(f, &nothing));
	assert_false(is_sheltered(f, &confined));
	assert_int_equal(f->run.applied.profile, CONFINE_DEFAULT);
}

/* Without a sandbox the network can still be off: by the filter, which is then required. */
static void test_confine_none_without_network(void **state)
{
	struct fixture *f = *state;

	f->options.profile = CONFINE_NONE;
	f->options.network = false;
	f->options.namespaces = false;
	make(f);
	enter_well(f, &nothing);
	assert_int_equal(f->run.applied.layers & ~BIT(CONFINE_CGROUP),
			 ALWAYS | FILTERED | BIT(CONFINE_NETWORK_OFF));
	assert_false(f->run.applied.net_ns);
	assert_true(f->plan.flags & SHIM_SECCOMP);
	f->c->usable &= ~BIT(CONFINE_SECCOMP);
	assert_int_equal(enter(f, &nothing), -1);
	assert_int_equal(f->e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_string_equal(json_string_value(json_object_get(f->e.details, "layer")), "seccomp");
}

static void test_confine_strict(void **state)
{
	struct fixture *f = *state;
	uint32_t default_len;

	make(f);
	enter_well(f, &nothing);
	default_len = f->plan.filter_len;
	f->options.profile = CONFINE_STRICT;
	make(f);
	enter_well(f, &nothing);
	assert_int_equal(f->run.applied.profile, CONFINE_STRICT);
	assert_true(has(f, CONFINE_NETWORK_OFF));
	assert_int_equal((f->run.clone_flags & CLONE_NEWNET) != 0, f->run.applied.net_ns);
	assert_int_equal((f->plan.flags & SHIM_NET_NS) != 0, f->run.applied.net_ns);
	assert_int_not_equal(f->plan.filter_len, default_len);
}

/* strict needs one of two file layers; with neither nothing runs. */
static void test_confine_strict_needs_one_that_keeps_files(void **state)
{
	struct fixture *f = *state;
	const uint32_t keeps = BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS);
	uint32_t all;

	f->options.profile = CONFINE_STRICT;
	make(f);
	enter_well(f, &nothing);
	all = f->c->usable;
	for (int layer = 0; layer < CONFINE_LAYER_COUNT; layer++) {
		if (!(BIT(layer) & keeps & all))
			continue;
		f->c->usable = (all & ~keeps) | BIT(layer);
		enter_well(f, &nothing);
		assert_int_equal(f->run.applied.layers & keeps, BIT(layer));
	}
	f->c->usable = all & ~keeps;
	assert_int_equal(enter(f, &nothing), -1);
	assert_int_equal(f->e.type, ERR_SANDBOX_UNAVAILABLE);
	f->options.profile = CONFINE_DEFAULT;
	make(f);
	enter_well(f, &nothing);
	f->c->usable &= ~keeps;
	enter_well(f, &nothing); /* the default profile does without, and its gaps say so */
}

/* ---- what a request may do ---- */

static void test_confine_request_only_tightens(void **state)
{
	struct fixture *f = *state;
	const enum confine_profile profiles[] = { CONFINE_DEFAULT, CONFINE_STRICT, CONFINE_NONE };
	struct confine_request request = { 0 };

	for (size_t i = 0; i < 3; i++)
		for (int asks = 0; asks < 16; asks++) {
			enum confine_profile want = profiles[i];
			uint32_t least;

			f->options.profile = profiles[i];
			f->options.network = asks & 1;
			make(f);
			enter_well(f, &nothing);
			/* A group replaces what a PID namespace does for a kill. */
			least = f->run.applied.layers & ~BIT(CONFINE_CGROUP);
			request.strict = asks & 2;
			request.network_off = asks & 4;
			request.confined = asks & 8;
			if (request.strict)
				want = CONFINE_STRICT;
			else if (request.confined && want == CONFINE_NONE)
				want = CONFINE_DEFAULT;
			enter_well(f, &request);
			assert_int_equal(least & ~f->run.applied.layers, 0);
			assert_int_equal(f->run.applied.profile, want);
			assert_int_equal(has(f, CONFINE_NETWORK_OFF),
					 !f->options.network || request.network_off || request.strict ||
						 profiles[i] == CONFINE_STRICT);
		}
}

static void test_confine_refused_namespaces(void **state)
{
	struct fixture *f = *state;
	const struct confine_request refused = { .no_namespaces = true, .network_off = true };

	make(f);
	enter_well(f, &refused);
	assert_int_equal(f->run.clone_flags, 0);
	assert_false(has(f, CONFINE_PID_NS) || has(f, CONFINE_MOUNT_NS));
	assert_true(has(f, CONFINE_NETWORK_OFF));
	assert_false(f->run.applied.net_ns); /* the filter does it */
}

static void test_confine_explain(void **state)
{
	struct fixture *f = *state;

	make(f);
	enter_well(f, &(struct confine_request){ .explain = true });
	assert_true(f->plan.flags & SHIM_LISTENER);
}

/* A layer refused for lack of resources is tried again by the next run, not lost for the server's
 * life. */
static void test_confine_passing_failure(void **state)
{
	struct fixture *f = *state;
	struct rlimit usual, none;
	uint32_t before;

	make(f);
	enter_well(f, &nothing);
	before = usable(f);
	make(f);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = usual;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(enter(f, &nothing), -1);
	assert_int_equal(f->e.type, ERR_SANDBOX_UNAVAILABLE);
	err_release(&f->e);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	enter_well(f, &nothing);
	assert_int_equal(usable(f), before);
}

/* Removes the temporary directory, or the next child could not make it anew. */
static _Noreturn void end_child(struct fixture *f, int status)
{
	confine_free(f->c);
	_exit(status);
}

/* Whatever runs out at the first trial: no layer is gone for the server's life. */
static const struct shortage {
	const char *name;
	int nr;
	unsigned flags;
	int error;
} shortages[] = {
	{ "clone, memory", SYS_clone, NEW_NAMESPACES, ENOMEM },
	{ "clone, processes", SYS_clone, NEW_NAMESPACES, EAGAIN },
	{ "mounts, memory", SYS_mount_setattr, 0, ENOMEM },
	{ "Landlock, descriptors", SYS_landlock_create_ruleset, 0, EMFILE },
	{ "Landlock rules, memory", SYS_landlock_add_rule, 0, ENOMEM },
	{ "filter, memory", SYS_seccomp, 0, ENOMEM },
};

static void refuse(int nr, unsigned flags, int error);

/* In the child: 0 if as expected, else the number of the difference. */
static int try_short_of(struct fixture *f, const struct shortage *t)
{
	make(f);
	refuse(t->nr, t->flags, t->error);
	if (t->nr == SYS_landlock_create_ruleset)
		return confine_landlock_build(1, &(struct confine_landlock_rules){ 0 }, &f->e) < 0 &&
				       err_retryable(&f->e)
			       ? 0
			       : 4;
	if (!enter(f, &nothing))
		return 1;
	if (f->e.type != ERR_SANDBOX_UNAVAILABLE || !err_retryable(&f->e))
		return 2;
	return f->c->prepared ? 3 : 0;
}

static void test_confine_shortage_takes_no_layer(void **state)
{
	struct fixture *f = *state;

	make(f);
	enter_well(f, &nothing);
	for (size_t i = 0; i < COUNT_OF(shortages); i++) {
		bool landlock = strstr(shortages[i].name, "Landlock");
		pid_t pid;
		int status;

		if (!(usable(f) & (landlock ? BIT(CONFINE_LANDLOCK) : BIT(CONFINE_MOUNT_NS))))
			continue;
		fflush(NULL);
		pid = fork();
		if (!pid)
			end_child(f, try_short_of(f, &shortages[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status)
			fail_msg("%s: status %#x", shortages[i].name, (unsigned)status);
	}
}

/* The limit of namespaces may be 0 for good: runs go on without, and later ones try again. */
static int try_full_namespaces(struct fixture *f)
{
	make(f);
	refuse(SYS_clone, NEW_NAMESPACES, ENOSPC);
	if (enter(f, &nothing))
		return 1;
	if (f->c->usable & NAMESPACE_LAYERS || !f->c->again_ms)
		return 2;
	f->options.required = BIT(CONFINE_PID_NS);
	make(f);
	return enter(f, &nothing) && err_retryable(&f->e) ? 0 : 3;
}

static void test_confine_namespaces_are_tried_again(void **state)
{
	struct fixture *f = *state;
	uint32_t before;
	int status;
	pid_t pid;

	make(f);
	enter_well(f, &nothing);
	before = usable(f);
	if (!(before & NAMESPACE_LAYERS)) {
		print_message("SKIP: no namespaces here\n");
		skip();
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		end_child(f, try_full_namespaces(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	f->c->usable &= ~NAMESPACE_LAYERS;
	f->c->again_ms = 1; /* long ago */
	enter_well(f, &nothing);
	assert_int_equal(usable(f), before);
	assert_int_equal(f->c->again_ms, 0);
}

/* ---- what is required ---- */

static void expect_unavailable(struct fixture *f, const struct confine_request *request,
			       const char *layer, const char *reason)
{
	assert_int_equal(enter(f, request), -1);
	assert_int_equal(f->e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_string_equal(json_string_value(json_object_get(f->e.details, "layer")), layer);
	if (!strstr(f->e.message, reason) || !strstr(f->e.message, layer))
		fail_msg("\"%s\" names not %s and \"%s\"", f->e.message, layer, reason);
	assert_null(f->run.cgroup);
}

static void test_confine_required_and_switched_off(void **state)
{
	struct fixture *f = *state;

	f->options.namespaces = false;
	make(f);
	enter_well(f, &nothing);
	f->options.required = BIT(CONFINE_MOUNT_NS);
	make(f);
	expect_unavailable(f, &nothing, "mount_namespace", "switched off by the operator");
	f->options.required = BIT(CONFINE_PID_NS);
	make(f);
	expect_unavailable(f, &nothing, "pid_namespace", "switched off by the operator");
}

/* sandbox.hide requires the layer that hides. */
static void test_confine_hidden_needs_its_layer(void **state)
{
	struct fixture *f = *state;
	const char *hidden[] = { "/nothing/there", NULL }, *remedy;

	f->options.hidden = hidden;
	make(f);
	if (!enter(f, &nothing)) {
		assert_true(has(f, CONFINE_MOUNT_NS));
		assert_null(confine_lacks(f->c, CONFINE_MOUNT_NS, &remedy));
		assert_null(confine_visible(f->c));
		expect_unavailable(f, &(struct confine_request){ .no_namespaces = true },
				   "mount_namespace", "refused a new namespace");
		err_release(&f->e);
	}
	f->options.namespaces = false;
	make(f);
	expect_unavailable(f, &nothing, "mount_namespace", "switched off by the operator");
	assert_non_null(strstr(confine_lacks(f->c, CONFINE_MOUNT_NS, &remedy), "switched off"));
	assert_non_null(strstr(remedy, "sandbox.namespaces=on"));
}

static void test_confine_lacks_what_the_profile_leaves_out(void **state)
{
	struct fixture *f = *state;
	const char *remedy;

	f->options.profile = CONFINE_NONE;
	make(f);
	confine_probe_all(f->c);
	f->c->usable |= BIT(CONFINE_LANDLOCK) | BIT(CONFINE_SECCOMP);
	assert_non_null(strstr(confine_lacks(f->c, CONFINE_LANDLOCK, &remedy), "profile none"));
	assert_null(confine_lacks(f->c, CONFINE_NETWORK_OFF, &remedy)); /* a run may ask for it */
	assert_null(confine_lacks(f->c, CONFINE_SHIM, &remedy));
}

static void add_join(struct fixture *f, int fd)
{
	f->plan.joins[f->plan.join_count++] = SHIM_FD_EXTRA + f->run.fd_count;
	f->run.fds[f->run.fd_count++] = fd;
}

/* Kill the grandchild of this process's parent. */
static void kill_trial(int stuck)
{
	pid_t children[4], process = 0;

	(void)stuck;
	for (int count = procfs_children(getppid(), children, 4); count-- > 0;)
		if (procfs_children(children[count], &process, 1) == 1)
			kill(process, SIGKILL);
}

/* Let the trial go on when it has waited for longer than a machine that is only busy lets it. */
static void free_trial_late(int stuck)
{
	char page[4096];

	poll(NULL, 0, 2500);
	if (read(stuck, page, sizeof(page)) < 0)
		_exit(1);
}

/* Run a trial whose process gets stuck; @then happens in a child of this process, with the other
 * end of the pipe where it is stuck. Returns the trial's result. */
static int try_stuck(struct fixture *f, void (*then)(int stuck), struct confine_trial *t)
{
	static const char page[4096];
	int tell[2], stuck[2], result, status;
	char byte;
	pid_t child;

	make(f);
	enter_well(f, &nothing);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stuck, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(stuck[1], page, sizeof(page)) > 0)
		; /* until it is full */
	assert_int_equal(fcntl(stuck[1], F_SETFL, 0), 0);
	add_join(f, tell[1]);  /* the process writes a byte to each ... */
	add_join(f, stuck[1]); /* ... and waits here */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (read(tell[0], &byte, 1) == 1)
			then(stuck[0]);
		_exit(0);
	}
	result = confine_trial_run(&f->plan, &f->run, t);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (int i = 0; i < 2; i++) {
		close(tell[i]);
		close(stuck[i]);
	}
	return result;
}

/* It may go well the next time, and no layer is at fault. */
static void test_confine_trial_is_killed(void **state)
{
	struct confine_trial t = { 0 };

	assert_int_equal(try_stuck(*state, kill_trial, &t), -1);
	assert_int_equal(t.error, EAGAIN);
}

static void test_confine_trial_is_slow(void **state)
{
	struct confine_trial t = { 0 };

	assert_int_equal(try_stuck(*state, free_trial_late, &t), 0);
}

static void test_confine_required_by_any_profile(void **state)
{
	struct fixture *f = *state;

	f->options.profile = CONFINE_NONE;
	f->options.required = BIT(CONFINE_LANDLOCK);
	make(f);
	assert_int_equal(enter(f, &nothing), -1);
	assert_int_equal(f->e.type, ERR_SANDBOX_UNAVAILABLE);
	if (!(usable(f) & BIT(CONFINE_LANDLOCK)))
		return; /* another reason, which the tests above check */
	assert_non_null(strstr(f->e.message, "the profile none is without it"));
	assert_non_null(strstr(err_hint_text(&f->e), "sandbox.require"));
}

/* Layers that this run does not ask for are not reported as missing on this machine. */
static void test_confine_required_and_not_asked_for(void **state)
{
	struct fixture *f = *state;

	f->options.network = true;
	f->options.required = BIT(CONFINE_NETWORK_OFF);
	make(f);
	expect_unavailable(f, &nothing, "network_off", "the network is on for this run");
	assert_non_null(strstr(err_hint_text(&f->e), "network: false"));
	err_release(&f->e);
	enter_well(f, &(struct confine_request){ .network_off = true });
	if (geteuid() != 0)
		return;
	f->options.required = BIT(CONFINE_CREDENTIALS);
	make(f);
	expect_unavailable(f, &nothing, "credentials", "as the server's own user");
	assert_non_null(strstr(err_hint_text(&f->e), "sandbox.user"));
}

static void test_confine_required_each(void **state)
{
	static const enum confine_layer layers[] = { CONFINE_LANDLOCK, CONFINE_PID_NS, CONFINE_MOUNT_NS,
						     CONFINE_CAPABILITIES };
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(layers); i++) {
		f->options.required = BIT(layers[i]);
		make(f);
		if (enter(f, &nothing)) {
			assert_false(usable(f) & BIT(layers[i]));
			continue;
		}
		assert_true(has(f, layers[i]));
		f->c->usable &= ~BIT(layers[i]);
		strcpy(f->c->layers[layers[i]].reason, "a reason for this");
		expect_unavailable(f, &nothing, layers_name(layers[i]), "a reason for this");
	}
}

static void test_confine_required_and_just_refused(void **state)
{
	struct fixture *f = *state;

	f->options.required = BIT(CONFINE_PID_NS);
	make(f);
	if (enter(f, &nothing)) {
		print_message("SKIP: no PID namespace here\n");
		skip();
	}
	expect_unavailable(f, &(struct confine_request){ .no_namespaces = true }, "pid_namespace",
			   "just refused");
}

/* ---- the plan ---- */

static const struct shim_rlimit *find_rlimit(const struct fixture *f, uint32_t resource)
{
	const struct shim_rlimit *found = NULL;

	for (uint32_t i = 0; i < f->plan.rlimit_count; i++)
		if (f->plan.rlimits[i].resource == resource) {
			assert_null(found); /* once */
			found = &f->plan.rlimits[i];
		}
	return found;
}

static void test_confine_rlimits(void **state)
{
	struct fixture *f = *state;
	const struct shim_rlimit own[] = {
		{ .resource = RLIMIT_NOFILE, .soft = 10, .hard = 20 },
		{ .resource = RLIMIT_FSIZE, .soft = 1, .hard = 2 },
	};
	const struct confine_request request = { .rlimits = own, .rlimit_count = 2 };

	make(f);
	enter_well(f, &nothing);
	assert_int_equal(find_rlimit(f, RLIMIT_CORE)->hard, 0);
	assert_int_equal(find_rlimit(f, RLIMIT_NOFILE)->soft, 512);
	assert_int_equal(find_rlimit(f, RLIMIT_NOFILE)->hard, 1024);
	assert_null(find_rlimit(f, RLIMIT_FSIZE));
	assert_null(find_rlimit(f, RLIMIT_AS));
	enter_well(f, &request);
	assert_int_equal(find_rlimit(f, RLIMIT_NOFILE)->soft, 10);
	assert_int_equal(find_rlimit(f, RLIMIT_NOFILE)->hard, 20);
	assert_int_equal(find_rlimit(f, RLIMIT_FSIZE)->hard, 2);
	assert_int_equal(find_rlimit(f, RLIMIT_CORE)->hard, 0);
}

/* Descriptors have the numbers that the shim will see. */
static void test_confine_descriptors(void **state)
{
	struct fixture *f = *state;

	make(f);
	enter_well(f, &nothing);
	if (!has(f, CONFINE_LANDLOCK)) {
		print_message("SKIP: no Landlock here\n");
		skip();
	}
	assert_true(f->plan.landlock_fd >= SHIM_FD_EXTRA);
	assert_true(f->plan.landlock_fd < SHIM_FD_EXTRA + f->run.fd_count);
	assert_int_equal(f->run.fds[f->plan.landlock_fd - SHIM_FD_EXTRA], -1);
	assert_non_null(f->run.ruleset.make);
}

static void test_confine_enters_alike_each_time(void **state)
{
	struct fixture *f = *state;
	static struct shim_plan first;

	make(f);
	enter_well(f, &nothing);
	first = f->plan;
	memset(&f->plan, 0xee, sizeof(f->plan));
	enter_well(f, &nothing);
	if (f->run.cgroup) /* another group, with descriptors of its own */
		memcpy(f->plan.joins, first.joins, sizeof(first.joins));
	assert_memory_equal(&f->plan, &first, SHIM_PLAN_HEAD);
	assert_memory_equal(f->plan.tail, first.tail, first.filter_len * 8 + first.mounts_size);
}

static void test_confine_credentials(void **state)
{
	struct fixture *f = *state;
	const struct confine_request request = { .as_user = true, .uid = 65534, .gid = 65533 };

	make(f);
	if (geteuid()) {
		expect_unavailable(f, &request, "credentials", "only root");
		return;
	}
	enter_well(f, &request);
	assert_true(has(f, CONFINE_CREDENTIALS));
	assert_true(f->plan.flags & SHIM_CREDENTIALS);
	assert_int_equal(f->plan.uid, 65534);
	assert_int_equal(f->plan.gid, 65533);
	assert_int_equal(f->plan.caps, 0); /* root keeps some, others none */
	enter_well(f, &nothing);
	assert_false(has(f, CONFINE_CREDENTIALS));
	assert_false(f->plan.flags & SHIM_CREDENTIALS);
	assert_true(f->plan.caps != 0);
	f->c->usable &= ~BIT(CONFINE_CREDENTIALS);
	expect_unavailable(f, &request, "credentials", "is not available");
}

static void test_confine_can_write(void **state)
{
	struct fixture *f = *state;

	scratch_mkdir(&f->tmp, "ws_evil");
	scratch_mkdir(&f->tmp, "ws/in");
	scratch_link(&f->tmp, "ws/in", "link");
	make(f);
	enter_well(f, &nothing);
	if (!(usable(f) & (BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS)))) {
		print_message("SKIP: nothing keeps files here\n");
		skip();
	}
	assert_true(confine_can_write(f->c, f->workspace));
	assert_true(confine_can_write(f->c, scratch_path(&f->tmp, "ws/in")));
	assert_true(confine_can_write(f->c, scratch_path(&f->tmp, "link")));
	assert_true(confine_can_write(f->c, scratch_path(&f->tmp, "state/tmp/unit")));
	assert_false(confine_can_write(f->c, scratch_path(&f->tmp, "ws_evil")));
	assert_false(confine_can_write(f->c, f->tmp.dir));
	assert_false(confine_can_write(f->c, "/"));
	assert_false(confine_can_write(f->c, scratch_path(&f->tmp, "missing")));
}

/* ---- what is missing, and what stays open ---- */

struct report {
	int count;
	char text[4096];
};

static void tell_missing(void *ctx, const char *layer, const char *reason, const char *remedy)
{
	struct report *r = ctx;

	assert_true(*reason && *remedy);
	r->count++;
	snprintf(r->text + strlen(r->text), sizeof(r->text) - strlen(r->text), "[%s: %s|%s]",
		 layer, reason, remedy);
}

static void tell_gap(void *ctx, const char *gap)
{
	struct report *r = ctx;

	r->count++;
	snprintf(r->text + strlen(r->text), sizeof(r->text) - strlen(r->text), "[%s]", gap);
}

static void test_confine_missing(void **state)
{
	struct fixture *f = *state;
	struct report report = { 0 };

	f->options.namespaces = false;
	make(f);
	confine_probe_all(f->c);
	confine_each_missing(f->c, tell_missing, &report);
	assert_non_null(strstr(report.text, "[pid_namespace: switched off"));
	assert_non_null(strstr(report.text, "[mount_namespace: switched off"));
	assert_null(strstr(report.text, "network_namespace"));
	assert_null(strstr(report.text, "credentials"));
	assert_null(strstr(report.text, "capabilities"));
}

static void gaps_of(struct fixture *f, struct report *report)
{
	*report = (struct report){ 0 };
	confine_each_gap(f->c, tell_gap, report);
}

static void test_confine_gaps(void **state)
{
	struct fixture *f = *state;
	struct report report;

	make(f);
	confine_probe_all(f->c);
	f->c->usable |= BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS) | BIT(CONFINE_PID_NS);
	gaps_of(f, &report);
	assert_null(strstr(report.text, "[processes:"));
	assert_null(strstr(report.text, "whatever the user can write"));
	assert_non_null(strstr(report.text, "[network: all of it"));
	f->c->usable &= ~(BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS) | BIT(CONFINE_PID_NS));
	gaps_of(f, &report);
	assert_non_null(strstr(report.text, "whatever the user can write"));
	assert_non_null(strstr(report.text, "sandbox.hide"));
	assert_non_null(strstr(report.text, "[processes: other processes of the user can be seen"));
	assert_int_equal(strstr(report.text, "[fork_chains:") == NULL,
			 (cgroups_prepare(f->c->cgroups) & CGROUP_KILL) != 0);
	f->options.profile = CONFINE_STRICT;
	make(f);
	confine_probe_all(f->c);
	gaps_of(f, &report);
	assert_null(strstr(report.text, "[network:"));
	f->options.profile = CONFINE_NONE;
	make(f);
	confine_probe_all(f->c);
	gaps_of(f, &report);
	assert_non_null(strstr(report.text, "[everything:"));
}

/* Without a file layer the warning comes once; for root the gap is the same sentence. */
static void test_confine_open_as_root(void **state)
{
	struct fixture *f = *state;
	struct report report;

	f->options.as_root = true;
	make(f);
	confine_probe_all(f->c);
	f->c->usable |= BIT(CONFINE_LANDLOCK);
	assert_null(confine_open(f->c));
	assert_null(confine_warning(f->c, &nothing));
	f->c->usable &= ~(BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS));
	gaps_of(f, &report);
	assert_non_null(strstr(report.text, "[" CONFINE_OPEN_AS_ROOT));
	assert_string_equal(confine_warning(f->c, &nothing), CONFINE_OPEN_AS_ROOT);
	assert_null(confine_warning(f->c, &nothing));
	f->options.as_root = false;
	make(f);
	confine_probe_all(f->c);
	f->c->usable &= ~(BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS));
	assert_string_equal(confine_open(f->c), CONFINE_OPEN);
	assert_string_equal(confine_warning(f->c, &nothing), CONFINE_OPEN);
	assert_null(confine_warning(f->c, &nothing));
}

/* With the operator's profile none it is a warning of the first run that asks for a sandbox. */
static void test_confine_open_to_who_asks(void **state)
{
	const struct confine_request confined = { .confined = true };
	struct fixture *f = *state;

	f->options.as_root = true;
	f->options.profile = CONFINE_NONE;
	make(f);
	confine_probe_all(f->c);
	f->c->usable &= ~(BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS));
	assert_null(confine_warning(f->c, &nothing));
	assert_string_equal(confine_warning(f->c, &confined), CONFINE_OPEN_AS_ROOT);
	assert_null(confine_warning(f->c, &confined));
}

/* If the kernel has Landlock the check at the start costs nothing. */
static void test_confine_warning_tries_nothing(void **state)
{
	struct fixture *f = *state;

	if (!confine_landlock_abi()) {
		print_message("SKIP: no Landlock here\n");
		skip();
	}
	f->options.as_root = true;
	make(f);
	assert_null(confine_warning(f->c, &nothing));
	assert_int_equal(access(f->state, F_OK), -1);
}

/* Paths that cannot be hidden are reported. */
static void test_confine_gap_of_what_is_not_hidden(void **state)
{
	struct fixture *f = *state;
	const char *hidden[] = { f->tmp.dir, NULL };
	struct report report;

	f->options.hidden = hidden;
	make(f);
	confine_probe_all(f->c);
	f->c->usable |= BIT(CONFINE_MOUNT_NS);
	gaps_of(f, &report);
	assert_non_null(strstr(report.text, "1 paths of sandbox.hide stay visible"));
}

/* ---- the trial ---- */

/* From now on @nr fails with @error; @flags: only if they are in the first argument. */
static void refuse(int nr, unsigned flags, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags ? flags : ~0u, 1, flags ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
	};
	struct sock_fprog program = { COUNT_OF(code), code };

	if (!flags) /* whatever the argument is */
		code[4] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(9);
}

static const struct trial {
	const char *name;
	int nr;
	unsigned flags;
	int error;
	uint32_t gone;
	const char *reason;
	bool may_run;
} trials[] = {
	{ "namespaces", SYS_clone, NEW_NAMESPACES, EPERM, BIT(CONFINE_PID_NS) | BIT(CONFINE_MOUNT_NS),
	  "the kernel refuses new namespaces (EPERM)", true },
	{ "mounts", SYS_mount_setattr, 0, EPERM, BIT(CONFINE_PID_NS) | BIT(CONFINE_MOUNT_NS),
	  "mounts are refused in a new namespace (EPERM)", true },
	{ "no Landlock", SYS_landlock_create_ruleset, 0, ENOSYS, BIT(CONFINE_LANDLOCK),
	  "the kernel has no Landlock (ENOSYS)", true },
	{ "Landlock refused by a filter", SYS_landlock_create_ruleset, 0, EPERM, BIT(CONFINE_LANDLOCK),
	  "something refuses Landlock (EPERM)", true },
	{ "Landlock switched off", SYS_landlock_create_ruleset, 0, EOPNOTSUPP, BIT(CONFINE_LANDLOCK),
	  "the kernel has Landlock switched off", true },
	{ "Landlock refused", SYS_landlock_restrict_self, 0, EPERM, BIT(CONFINE_LANDLOCK),
	  "the ruleset cannot be entered (EPERM)", true },
	{ "filters", SYS_seccomp, 0, EINVAL, BIT(CONFINE_SECCOMP), "a filter cannot be installed (EINVAL)",
	  false },
};

/* In the child: 0 if as expected, else the number of the difference. */
static int try_without(struct fixture *f, const struct trial *t, uint32_t before)
{
	struct report report = { 0 };
	int result;

	make(f);
	refuse(t->nr, t->flags, t->error);
	result = enter(f, &nothing);
	if ((result == 0) != t->may_run)
		return 1;
	if (before & ~f->c->usable & ~t->gone)
		return 2; /* more is gone than should be */
	if (t->gone & before & f->c->usable)
		return 3;
	if (result)
		return strstr(f->e.message, t->reason) ? 0 : 4;
	if (!(t->gone & before))
		return 0;
	confine_each_missing(f->c, tell_missing, &report);
	return strstr(report.text, t->reason) ? 0 : 5;
}

static void test_confine_trial(void **state)
{
	struct fixture *f = *state;
	uint32_t before;

	make(f);
	enter_well(f, &nothing);
	before = f->c->usable;
	for (size_t i = 0; i < COUNT_OF(trials); i++) {
		pid_t pid;
		int status;

		fflush(NULL);
		pid = fork();
		if (!pid)
			end_child(f, try_without(f, &trials[i], before));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status)
			fail_msg("%s: status %#x", trials[i].name, (unsigned)status);
	}
}

/* A trial leaves no process behind. */
static void test_confine_trial_leaves_no_process(void **state)
{
	struct fixture *f = *state;

	make(f);
	confine_probe_all(f->c);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* While the temporary directory cannot be created nothing runs, each time for the same reason. */
static void test_confine_place_is_put_right(void **state)
{
	struct fixture *f = *state;
	char bad[SCRATCH_PATH];

	scratch_file(&f->tmp, "file", "", 0600);
	scratch_copy(&f->tmp, "file/x", bad);
	f->options.temporary = bad;
	make(f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(enter(f, &nothing), -1);
		assert_int_equal(f->e.type, ERR_SANDBOX_UNAVAILABLE);
		assert_non_null(strstr(f->e.message, "temporary directory"));
		assert_non_null(strstr(err_hint_text(&f->e), "--state-dir"));
	}
	assert_int_equal(unlink(scratch_path(&f->tmp, "file")), 0);
	assert_int_equal(enter(f, &nothing), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_confine_names),
		TEST(test_confine_names_in_detail),
		TEST(test_confine_new_touches_nothing),
		TEST(test_confine_copies_its_options),
		TEST(test_confine_temporary),
		TEST(test_confine_default),
		TEST(test_confine_namespaces_in_the_plan),
		TEST(test_confine_none),
		TEST(test_confine_shelter),
		TEST(test_confine_none_without_network),
		TEST(test_confine_strict),
		TEST(test_confine_strict_needs_one_that_keeps_files),
		TEST(test_confine_request_only_tightens),
		TEST(test_confine_refused_namespaces),
		TEST(test_confine_explain),
		TEST(test_confine_passing_failure),
		TEST(test_confine_required_and_switched_off),
		TEST(test_confine_hidden_needs_its_layer),
		TEST(test_confine_lacks_what_the_profile_leaves_out),
		TEST(test_confine_trial_is_killed),
		TEST(test_confine_trial_is_slow),
		TEST(test_confine_required_by_any_profile),
		TEST(test_confine_required_and_not_asked_for),
		TEST(test_confine_required_each),
		TEST(test_confine_required_and_just_refused),
		TEST(test_confine_shortage_takes_no_layer),
		TEST(test_confine_namespaces_are_tried_again),
		TEST(test_confine_rlimits),
		TEST(test_confine_descriptors),
		TEST(test_confine_enters_alike_each_time),
		TEST(test_confine_credentials),
		TEST(test_confine_can_write),
		TEST(test_confine_missing),
		TEST(test_confine_gaps),
		TEST(test_confine_open_as_root),
		TEST(test_confine_open_to_who_asks),
		TEST(test_confine_warning_tries_nothing),
		TEST(test_confine_gap_of_what_is_not_hidden),
		TEST(test_confine_trial),
		TEST(test_confine_trial_leaves_no_process),
		TEST(test_confine_place_is_put_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
