/* What rules decide: which simple commands they match, in which order they count, and that an
 * exception covers only what it names. No command is run. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "policy/ruling.h"
#include "scratch.h"

static struct scratch tmp;
static struct config config;
static struct rulebook book;

static bool can_write(void *ctx, const char *path)
{
	(void)ctx;
	return !strncmp(path, tmp.dir, strlen(tmp.dir));
}

/* Ask for @command under @tier. */
struct question {
	enum tier tier;
	const char *command, *user, *directory;
	const char *const *args, *const *environment;
	const char *input; /* as stdin of a shell */
	bool no_machine, has_log_file;
};

static const char *decide(const struct question *q, struct ruling *ruling)
{
	struct installed installed = { .can_write = can_write };
	const struct ruling_request rq = {
		.book = &book, .tier = q->tier, .capability = RULE_RUN, .user = q->user,
		.has_input = q->input, .has_log_file = q->has_log_file,
		.installed = q->no_machine ? NULL : &installed,
	};
	const struct blocklist_input in = {
		.command = q->command, .args = q->args, .environment = q->environment,
		.stdin_bytes = q->input, .stdin_len = q->input ? strlen(q->input) : 0,
		.directory = q->directory ? q->directory : "/srv/site",
	};
	struct blocklist_verdict v;

	ruling_judge(&rq, &in, &v, ruling);
	return v.blocked ? "blocked" : rule_decision_name(ruling->tier);
}

static void load(const char *rules, const char *packs)
{
	ERR_LOCAL(e);
	json_t *list = json_loads(rules, 0, NULL), *one;
	char option[64];
	size_t i;

	assert_non_null(list);
	rulebook_release(&book);
	config_release(&config);
	config_init(&config);
	snprintf(option, sizeof(option), "packs=%s", packs);
	assert_int_equal(config_set(&config, option, &e), 0);
	json_array_foreach(list, i, one)
		if (ruleset_add(&config.rules, one, "test:1", RULE_OF_OPERATOR, TIER_DENY, &e))
			fail_msg("%s", e.message);
	json_decref(list);
	if (ruleset_test(&config.rules, &e) || rulebook_open(&book, &config, &e))
		fail_msg("%s", e.message);
}

struct row {
	const char *command, *decision, *rule; /* NULL: the tier */
};

static void expect_rows(enum tier tier, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ruling ruling;
		const char *got = decide(&(struct question){ .tier = tier,
							     .command = rows[i].command }, &ruling);
		const char *rule = ruling.rule ? ruling.rule->id : NULL;

		if (strcmp(got, rows[i].decision) || !rule != !rows[i].rule ||
		    (rule && strcmp(rule, rows[i].rule)))
			fail_msg("%s: %s by %s, not %s by %s", rows[i].command, got, rule,
				 rows[i].decision, rows[i].rule);
	}
}

/* Every way to the same simple command. */
static void test_ruling_sees_what_would_run(void **state)
{
	static const struct row rows[] = {
		{ "git push --force", "deny", "x" },
		{ "cd a && git push -f", "deny", "x" },
		{ "git -C repo push -uf origin", "deny", "x" },
		{ "g\\it \"pu\"sh --for'ce'", "deny", "x" },
		{ "/usr/bin/git push --force=yes", "deny", "x" },
		{ "sudo -u a git push -f", "deny", "x" },
		{ "env -S 'git push -f'", "deny", "x" },
		{ "env A=b nohup timeout 5 git push -f &", "deny", "x" },
		{ "sh -c 'bash -c \"git push -f\"'", "deny", "x" },
		{ "eval \"git push -f\"", "deny", "x" },
		{ "echo main | xargs git push -f", "deny", "x" },
		{ "find . -name .git -exec git push -f ';'", "deny", "x" },
		{ "echo $(git push -f)", "deny", "x" },
		{ "bash <<< 'git push -f'", "deny", "x" },
		{ "cat <(git push -f)", "deny", "x" },
		{ "g() { git \"$@\"; }; g push -f", "deny", "x" },
		{ "shopt -s expand_aliases\nalias g='git push'\ng -f", "deny", "x" },
		{ "F=-f; P=push; git $P $F", "deny", "x" },
		{ "X='git push -f'; $X", "deny", "x" },
		{ "git push $A", "deny", "x" },
		{ "git push $(<flags)", "deny", "x" },
		{ "git push \"`< flags`\"", "deny", "x" },
		{ "git push $(<flags; true)", "notify", NULL },
		{ "git $(cat what) -f", "deny", "x" },
		{ "$TOOL push -f", "deny", "x" },
		{ "python3 -c 'import os; os.system(\"git push -f\")'", "deny", "x" },
		{ "trap 'git push -f' EXIT", "deny", "x" },
		{ "(( a[$(git push -f)] ))", "deny", "x" },
		{ "[[ $(git push -f) ]]", "deny", "x" },
		{ "git push", "notify", NULL },
		{ "git push --force-with-lease", "notify", NULL },
		{ "git \"$X\"", "notify", NULL },
		{ "git \"$X\" < $F", "notify", NULL },
		{ "git \"$X\" \"$Y\" < $F", "deny", "x" },
		{ "git commit -m 'git push -f'", "notify", NULL },
		{ "echo git push -f", "notify", NULL },
		{ "cat <<'E'\ngit push -f\nE", "notify", NULL },
		{ "gitk push -f", "notify", NULL },
		{ "$CC -c x.c", "notify", NULL },
		{ "run() { \"$@\"; }; run make", "notify", NULL },
		{ "# git push -f", "notify", NULL },
		{ "rm -rf /; git push -f", "blocked", NULL },
	};

	(void)state;
	load("[{\"id\":\"x\",\"program\":\"git\",\"words\":[\"push\",\"-f|--force\"],"
	     "\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

/* A * stands for what is not known also where nothing is guessed. */
static void test_ruling_knows_ends_of_words(void **state)
{
	static const struct row rows[] = {
		{ "cat ~/.ssh/id_rsa", "deny", "x" },
		{ "cp \"$HOME\"/.ssh/id_rsa.bak .", "deny", "x" },
		{ "dd if=$D/id_rsa of=a", "deny", "x" },
		{ "$CAT ~/id_rsa", "deny", "x" },
		{ "cat < ~/.ssh/id_rsa", "deny", "x" },
		{ "base64 < $D/id_rsa", "deny", "x" },
		{ "read -r k < ~/safe.pem", "deny", "y" },
		{ "cat ~/id_$KIND", "notify", NULL },
		{ "cat ~/*", "notify", NULL },
		{ "cat $F $G", "notify", NULL },
		{ "cat < $F", "notify", NULL },
		{ "cat < ~/id_$KIND", "notify", NULL },
		{ "read k < $F", "notify", NULL },
		{ "read k < ~/a.txt", "notify", NULL },
		{ "$X $Y", "notify", NULL },
	};

	(void)state;
	load("[{\"id\":\"x\",\"words\":[\"*id_rsa*\"],\"decision\":\"deny\"},"
	     "{\"id\":\"y\",\"program\":\"read\",\"words\":[\"*.pem\"],\"decision\":\"deny\"},"
	     "{\"id\":\"z\",\"program\":\"curl\",\"words\":[\"*\"],\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

/* A rule on the words of a program, which come from variables. */
static void test_ruling_knows_variables(void **state)
{
	static const struct row rows[] = {
		{ "a=([3]=prod); deploy ${a[3]}", "deny", "x" },
		{ "a=([3]=prod y); deploy ${a[4]} ${a[3]}", "deny", "x" },
		{ "a=(v); a+=([5]=prod); deploy ${a[5]}", "deny", "x" },
		{ "declare -a a=([3]=prod); deploy ${a[3]}", "deny", "x" },
		{ "i=3; a=([i]=prod); deploy ${a[3]}", "deny", "x" },
		{ "i=0; a[i]=prod; i=1; a[i]=y; i=0; deploy ${a[i]}", "deny", "x" },
		{ "a=(x y z); a[$I]=prod; deploy ${a[2]}", "deny", "x" },
		{ "a=(x y z); a[$I]=prod; deploy $a", "deny", "x" },
		{ "a=([5000]=prod); deploy ${a[5000]}", "deny", "x" },
		{ "a=(x prod); deploy ${a[-1]}", "deny", "x" },
		{ "a=([3]=prod); deploy \"${a[@]}\"", "deny", "x" },
		{ "a=(pr); a[0]+=od; deploy $a", "deny", "x" },
		{ "a=prod; a+=(y); deploy ${a[0]}", "deny", "x" },
		{ "a=([3]=y); deploy ${a[3]} ${a[0]} ${a[4]}", "notify", NULL },
		{ "a=(x prod y); deploy ${a[-1]} ${a[@]:2}", "notify", NULL },
		{ "a=('[3]=prod'); deploy ${a[3]}", "notify", NULL },
		{ "set -- x prod; deploy ${@: -1}", "deny", "x" },
		{ "set -- x prod; deploy ${*: -1:1}", "deny", "x" },
		{ "set -- x prod z; deploy ${@:(-2):1}", "deny", "x" },
		{ "set -- x prod; deploy \"${@:$I:1}\"", "deny", "x" },
		{ "set -- x prod y; deploy ${@: -1} ${@: -9}", "notify", NULL },
		{ "X=prod; unset -f X; deploy $X", "deny", "x" },
		{ "readonly X=prod\nX=y\ndeploy $X", "deny", "x" },
		{ "X=prod; declare -r X\nX=y\ndeploy $X", "deny", "x" },
		{ "readonly X=prod; unset X; deploy $X", "deny", "x" },
		{ "readonly -a a=(prod); a=(y); deploy ${a[0]}", "deny", "x" },
		{ "readonly X=y; X=prod\ndeploy $X", "deny", "x" },
		{ "export X; readonly X=y; bash -c 'X=z; deploy $X'", "notify", NULL },
		{ "f() { local -r d=$1; deploy $d; }; f prod; f y", "deny", "x" },
		{ "declare -l X=PROD; deploy $X", "deny", "x" },
		{ "declare -l X; X=PROD; deploy $X", "deny", "x" },
		{ "false && declare -u X; X=prod; deploy $X", "deny", "x" },
		{ "declare -l a=(PROD); deploy ${a[0]}", "deny", "x" },
		{ "declare -u X=y; deploy $X", "notify", NULL },
		{ "declare -i X=p; deploy $X", "deny", "x" },
		{ "declare -i X=12; deploy $X", "notify", NULL },
		{ "declare -n R=X; X=a; read R <<< prod; deploy $X", "deny", "x" },
		{ "declare -n R; R=X; X=prod; deploy $R", "deny", "x" },
		{ "declare -n A=a B=b C=c D=d R=X; X=a; R=prod; deploy $X", "deny", "x" },
		{ "declare -n R=a; a=(y prod); deploy ${R[1]}", "deny", "x" },
		{ "declare -n R=X; X=prod; R=y; deploy $X", "notify", NULL },
		{ "X=a; f() { declare -g X=prod; }; f; deploy $X", "deny", "x" },
		{ "X=a; f() { declare X=prod; }; f; deploy $X", "notify", NULL },
		{ "a=(prod); f() { local a=(x); }; f; deploy ${a[0]}", "deny", "x" },
		{ "declare -a a='(prod x)'; deploy ${a[0]}", "deny", "x" },
		{ "a=(x); read 'a[3]' <<< prod; deploy ${a[3]}", "deny", "x" },
		{ "printf -v 'a[3]' prod; deploy ${a[3]}", "deny", "x" },
		{ "declare 'a[3]=prod'; deploy ${a[3]}", "deny", "x" },
		{ "X=PROD; deploy ${X@L}", "deny", "x" },
		{ "X=Prod; deploy ${X@L} ${X@u}", "deny", "x" },
		{ "X='\\x70r\\157d'; deploy ${X@E}", "deny", "x" },
		{ "X=prod; eval \"deploy ${X@Q}\"", "deny", "x" },
		{ "X='a b'; eval \"deploy ${X@Q}\"", "notify", NULL },
		{ "a=(x PROD); deploy ${a[1]@L}", "deny", "x" },
		{ "X='$(deploy prod)'; echo \"${X@P}\"", "deny", "x" },
		{ "X='${Y}d'; Y=pro; deploy ${X@P}", "deny", "x" },
		{ "X=prod; deploy ${X@U}", "notify", NULL },
		{ "shopt -s lastpipe; X=a; echo prod | read X; deploy $X", "deny", "x" },
		{ "X=a; echo prod | read X; deploy $X", "notify", NULL },
		{ "mapfile -O 1 a <<< prod; deploy ${a[1]}", "deny", "x" },
		{ "a=(prod); mapfile -O 1 a <<< y; deploy ${a[0]}", "deny", "x" },
		{ "mapfile -ts1 a <<< $'x\\nprod'; deploy ${a[0]}", "deny", "x" },
		{ "mapfile -tn 1 a <<< $'x\\nprod'; deploy ${a[@]}", "notify", NULL },
		{ "mapfile <<< prod; deploy $MAPFILE", "deny", "x" },
		{ "a=(x); mapfile a < f; deploy ${a[0]}", "deny", "x" },
		{ "a=(x); read -a a < f; deploy ${a[1]}", "deny", "x" },
		{ "REPLY=x; read < f; deploy $REPLY", "deny", "x" },
		{ "read -n 4 X <<< prodx; deploy $X", "deny", "x" },
		{ "read X <<< 'pr\\od'; deploy $X", "deny", "x" },
		{ "read -r X <<< 'pr\\od'; deploy $X", "notify", NULL },
		{ "OPTARG=x; getopts a: o; deploy $OPTARG", "deny", "x" },
		{ "set -- -v prod; getopts v o; shift $((OPTIND - 1)); deploy $1", "deny", "x" },
		{ "getopts v o; shift $((OPTIND - 1)); deploy $1", "notify", NULL },
		{ "BASH_ARGV0=prod; deploy $0", "deny", "x" },
		{ "exec -a prod bash -c 'deploy $0'", "deny", "x" },
		{ "exec -ca prod bash -c 'deploy $0'", "deny", "x" },
		{ "env --argv0=prod sh -c 'deploy $0'", "deny", "x" },
		{ "exec -a prod bash -c 'deploy $0' y", "notify", NULL },
		{ "X=a; . /dev/stdin <<< 'X=prod'; deploy $X", "deny", "x" },
		{ "X=a; source <(echo X=prod); deploy $X", "deny", "x" },
		{ "X=a; echo X=prod > f; . ./f; deploy $X", "deny", "x" },
		{ "echo X=y > f; cp g f; . ./f; deploy $X", "deny", "x" },
		{ "source <(echo 'deploy $1') prod", "deny", "x" },
		{ "source <(echo 'f() { deploy prod; }'); f", "deny", "x" },
		{ "X=prod; source <(echo X=y); deploy $X", "notify", NULL },
		{ "source <(echo 'shift; set -- prod') y; deploy x", "notify", NULL },
		{ "test 1 && X=prod || X=y; deploy $X", "deny", "x" },
		{ "test 1 && X=y || X=prod; deploy $X", "deny", "x" },
		{ "X=prod; build || X=y && deploy $X", "deny", "x" },
		{ "X=prod; false && X=y; deploy $X", "deny", "x" },
		{ "X=prod; true || X=y; deploy $X", "deny", "x" },
		{ "X=prod; true && X=y; deploy $X", "notify", NULL },
		{ "X=prod; build && X=y && deploy $X", "notify", NULL },
		{ "X=$(test 1 && echo y || echo prod); deploy \"$X\"", "deny", "x" },
		{ "deploy \"$(test 1 && echo prod || echo y)\"", "deny", "x" },
		{ "deploy \"$(test 1 && echo y || echo z)\"", "notify", NULL },
		{ "X=prod; f() { X=y; }; unset -f f; f; deploy $X", "deny", "x" },
	};

	(void)state;
	load("[{\"id\":\"x\",\"program\":\"deploy\",\"words\":\"prod\",\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_ruling_matches_members(void **state)
{
	static const struct row rows[] = {
		{ "curl x", "confirm", "any" },
		{ "$X x", "deny", "sudo" },
		{ "$X", "confirm", "any" }, /* the program may be it, and no word is asked for */
		{ "sudo ls", "deny", "sudo" },
		{ "kubectl delete pod", "deny", "star" },
		{ "helm del-thing x", "deny", "star" },
		{ "helm --dry-run delete x", "notify", NULL },
		{ "helm $A delete x", "deny", "star" },
		{ "echo production", "confirm", "word" },
		{ "touch x", "notify", NULL },
		{ "cd /srv/prod; touch x", "confirm", "dir" },
		{ "cd ../prod/sub && touch x", "confirm", "dir" },
		{ "(cd /srv/prod); touch x", "notify", NULL },
		{ "cd \"$D\" && touch x", "confirm", "dir" },
		{ "CDPATH=/srv; cd sub && touch x", "confirm", "dir" },
		{ "CDPATH=/srv cd sub && touch x", "confirm", "dir" },
		{ "CDPATH=$X; cd sub && touch x", "confirm", "dir" },
		{ "export CDPATH=/srv; sh -c 'cd sub && touch x'", "confirm", "dir" },
		{ "CDPATH=/srv bash -c 'cd sub; touch x'", "confirm", "dir" },
		{ "CDPATH=/srv; pushd sub; touch x", "confirm", "dir" },
		{ "CDPATH=/srv; cd .git; touch x", "confirm", "dir" },
		{ "CDPATH=/srv; touch x; (cd sub); touch x", "notify", NULL },
		{ "CDPATH=/srv; cd ./sub && cd .. && cd /opt && touch x", "notify", NULL },
		{ "CDPATH= cd sub && touch x", "notify", NULL },
		{ "unset CDPATH; cd sub && touch x", "notify", NULL },
		{ "cd /srv/product && touch x", "notify", NULL },
		{ "cd /srv/prod; cd /tmp; cd -; touch x", "confirm", "dir" },
		{ "cd \"$D\"; cd /srv/product; touch x", "notify", NULL },
		{ "pushd /srv/prod; popd; touch x", "notify", NULL },
		{ "pushd -n /srv/prod; touch x", "notify", NULL },
		{ "pushd -n /srv/prod; popd; touch x", "confirm", "dir" },
		{ "cd /srv/prod; pushd /tmp; pushd /opt; pushd -0; touch x", "confirm", "dir" },
		{ "/opt/a/tool x", "deny", "path" },
		{ "tool x", "deny", "path" },
		{ "/opt/b/tool x", "notify", NULL },
		{ "old x", "notify", NULL },
		{ "only-input x", "notify", NULL },
	};

	(void)state;
	load("[{\"id\":\"any\",\"program\":\"curl\",\"decision\":\"confirm\"},"
	     "{\"id\":\"sudo\",\"program\":[\"sudo\",\"doas\"],\"words\":\"*\",\"decision\":\"deny\"},"
	     "{\"id\":\"star\",\"program\":[\"kube*\",\"helm\"],\"words\":[\"del*\"],"
	     "\"without\":\"--dry-run\",\"decision\":\"deny\"},"
	     "{\"id\":\"word\",\"words\":\"production\",\"decision\":\"confirm\"},"
	     "{\"id\":\"dir\",\"program\":\"touch\",\"directory\":\"/srv/prod\",\"decision\":\"confirm\"},"
	     "{\"id\":\"path\",\"program\":\"/opt/a/tool\",\"words\":\"x\",\"decision\":\"deny\"},"
	     "{\"id\":\"old\",\"program\":\"old\",\"until\":\"2020-01-31\",\"decision\":\"deny\"},"
	     "{\"id\":\"in\",\"program\":\"only-input\",\"words\":\"x\",\"capability\":\"process.input\","
	     "\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

/* Words that a rule ignores do not count for its words, wherever they stand; nothing but a known word
 * is ignored. */
static void test_ruling_ignores_words(void **state)
{
	static const struct row rows[] = {
		{ "send a.env", "deny", "send" },
		{ "send a.env.example", "notify", NULL },
		{ "send a.env.example a.env", "deny", "send" },
		{ "send -i a.env b", "notify", NULL },
		{ "send -i k a.env", "deny", "send" },
		{ "send -ri a.env b", "notify", NULL },
		{ "send -ir a.env b", "deny", "send" },
		{ "send -i -i a.env", "deny", "send" },
		{ "send -i -a.env b", "deny", "send" }, /* -i may be a flag */
		{ "send -ki a.env b", "deny", "send" }, /* i is the value of -k */
		{ "send -rk a.env b", "notify", NULL },
		{ "send -- -i a.env", "deny", "send" },
		{ "send $X a.env", "deny", "send" },
		{ "send -i $X b", "deny", "send" },
		{ "send --skip a.env", "notify", NULL },
		{ "send --skip=a.env", "notify", NULL },
		{ "send --skipped a.env", "deny", "send" },
		{ "send < a.env", "deny", "send" },
		{ "send -i < a.env", "deny", "send" },
		{ "send a.env.\"$X\"", "deny", "send" },
		{ "find a.env", "notify", NULL },
		{ "find a.env b", "notify", NULL },
		{ "find x a.env", "deny", "find" },
		{ "find -v a.env b", "notify", NULL },
		{ "find -v x b a.env", "deny", "find" },
		{ "find -n 1 x a.env", "deny", "find" },
		{ "find -n 3 a.env b", "notify", NULL },
		{ "find -ve x a.env", "deny", "find" },
		{ "find --expr=x a.env", "deny", "find" },
		{ "find -- a.env b", "notify", NULL },
		{ "find -- -e a.env", "deny", "find" },
		{ "find - a.env", "deny", "find" },
		{ "find $X a.env", "deny", "find" },
		{ "find x < a.env", "deny", "find" },
	};

	(void)state;
	load("[{\"id\":\"send\",\"program\":\"send\",\"words\":\"*.env*\",\"decision\":\"deny\","
	     "\"ignore\":[\"*.env.example|-i *|-k *\",\"--skip *|--skip=*\"]},"
	     "{\"id\":\"find\",\"program\":\"find\",\"words\":\"*.env\",\"decision\":\"deny\","
	     "\"ignore\":\"-n *\",\"pattern_unless\":\"-e|--expr\"}]", "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

/* The subcommand is the first operand, or several of them, and words stand behind it. */
static void test_ruling_finds_the_subcommand(void **state)
{
	static const struct row rows[] = {
		{ "vcs push -f", "deny", "push" },
		{ "vcs -f push", "notify", NULL },
		{ "vcs -C push -f", "notify", NULL },
		{ "vcs -C dir push -f", "deny", "push" },
		{ "vcs -v -C dir push -f", "deny", "push" },
		{ "vcs -C \"$D\" push -f", "deny", "push" },
		{ "vcs commit -m push -f", "notify", NULL },
		{ "vcs push", "notify", NULL },
		{ "vcs", "notify", NULL },
		{ "vcs $X -f", "deny", "push" },
		{ "vcs $X", "deny", "push" }, /* two words */
		{ "vcs \"$X\"", "deny", "drop" },
		{ "vcs $X commit -f", "deny", "push" },
		{ "vcs drop x", "deny", "drop" },
		{ "vcs undo x", "deny", "drop" },
		{ "vcs commit drop", "notify", NULL },
		{ "vcs drop", "deny", "drop" },
	};
	static const struct row paths[] = {
		{ "vcs set drop -f x", "deny", "set" },
		{ "vcs -C dir set -C dir -q drop x -f", "deny", "set" },
		{ "vcs set -f drop", "notify", NULL }, /* behind the subcommand */
		{ "vcs set keep drop -f", "notify", NULL },
		{ "vcs drop set -f", "notify", NULL },
		{ "vcs set", "notify", NULL },
		{ "vcs $X -f", "deny", "set" },
		{ "vcs \"$X\" drop -f", "deny", "set" },
		{ "vcs \"$X\" keep -f", "deny", "set" }, /* get */
		{ "vcs \"$X\" keep", "deny", "undo" },
		{ "vcs set $X", "deny", "set" },
		{ "vcs see all", "deny", "see" }, /* behind the second alternative */
		{ "vcs see", "notify", NULL },
		{ "vcs cut off x", "deny", "cut" }, /* not behind the first one */
		{ "vcs cut x", "deny", "cut" },
		{ "vcs cut x off", "notify", NULL },
		{ "vcs undo", "deny", "undo" },
		{ "vcs any undo", "deny", "undo" },
		{ "vcs find -x a b", "notify", NULL }, /* the pattern stands behind the subcommand */
		{ "vcs find a b", "notify", NULL },
		{ "vcs find b a", "deny", "find" },
		{ "vcs find -e b a", "deny", "find" },
	};
	static const struct row guesses[] = { /* "$X" may be an option */
		{ "vcs \"$X\" away", "deny", "far" },
		{ "vcs \"$X\" far away", "deny", "far" },
		{ "vcs \"$X\" \"$Y\" far \"$Z\" away", "deny", "far" },
		{ "vcs \"$X\" keep away", "notify", NULL },
		{ "vcs far keep away", "notify", NULL },
		{ "vcs keep \"$X\" far away", "notify", NULL },
	};
	static const struct row exceptions[] = {
		{ "ls see", "allow", "b" },
		{ "ls do it", "allow", "d" },
		{ "ls do it now", "allow", "d" },
		{ "ls -x do it", "notify", NULL },
		{ "ls do -x it", "notify", NULL },
		{ "ls see x", "allow", "a" },
		{ "ls run y", "allow", "c" },
		{ "ls -x run y", "notify", NULL },
		{ "ls -C x run y", "notify", NULL },
		{ "ls -xv run y", "notify", NULL },
		{ "ls see y", "notify", NULL },
		{ "ls x see", "notify", NULL },
		{ "ls \"$X\"", "notify", NULL },
	};

	(void)state;
	load("[{\"id\":\"push\",\"program\":\"vcs\",\"subcommand\":\"push\",\"words\":\"-f\","
	     "\"ignore\":\"-C *\",\"decision\":\"deny\"},"
	     "{\"id\":\"drop\",\"program\":\"vcs\",\"subcommand\":\"drop|undo\",\"decision\":\"deny\"}]",
	     "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
	load("[{\"id\":\"set\",\"program\":\"vcs\",\"subcommand\":\"get|set drop\",\"words\":\"-f\","
	     "\"ignore\":\"-C *\",\"decision\":\"deny\"},"
	     "{\"id\":\"undo\",\"program\":\"vcs\",\"subcommand\":[\"undo\",\"* undo\"],"
	     "\"decision\":\"deny\"},"
	     "{\"id\":\"find\",\"program\":\"vcs\",\"subcommand\":\"find\",\"words\":\"a\","
	     "\"pattern_unless\":\"-e\",\"decision\":\"deny\"},"
	     "{\"id\":\"see\",\"program\":\"vcs\",\"subcommand\":[\"see all\",\"see\"],"
	     "\"words\":\"all\",\"decision\":\"deny\"},"
	     "{\"id\":\"cut\",\"program\":\"vcs\",\"subcommand\":\"cut off|cut\","
	     "\"without\":\"off\",\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, paths, sizeof(paths) / sizeof(paths[0]));
	load("[{\"id\":\"far\",\"program\":\"vcs\",\"subcommand\":\"far away\","
	     "\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, guesses, sizeof(guesses) / sizeof(guesses[0]));
	load("[{\"id\":\"a\",\"program\":\"ls\",\"subcommand\":\"see\",\"words\":\"x\","
	     "\"decision\":\"allow\"},{\"id\":\"b\",\"program\":\"ls\",\"subcommand\":\"see\","
	     "\"without\":\"*\",\"decision\":\"allow\"},{\"id\":\"c\",\"program\":\"ls\",\"ignore\":\"-C *\","
	     "\"subcommand\":\"run\",\"decision\":\"allow\"},{\"id\":\"d\",\"program\":\"ls\","
	     "\"subcommand\":\"do it\",\"decision\":\"allow\"}]", "");
	expect_rows(TIER_NOTIFY, exceptions, sizeof(exceptions) / sizeof(exceptions[0]));
}

/* The request may set CDPATH as well as the text. */
static void test_ruling_follows_cdpath_of_the_request(void **state)
{
	static const char *const cdpath[] = { "CDPATH=/srv", NULL };
	struct question q = { .tier = TIER_NOTIFY, .command = "cd sub && touch x" };
	struct ruling ruling;

	(void)state;
	load("[{\"id\":\"dir\",\"program\":\"touch\",\"directory\":\"/srv/prod\",\"decision\":\"deny\"}]",
	     "");
	assert_string_equal(decide(&q, &ruling), "notify");
	q.environment = cdpath;
	assert_string_equal(decide(&q, &ruling), "deny");
}

/* A value may switch off the option that it is of: a rule that excludes the option then matches, but
 * is no exception by that. */
static void test_ruling_sees_options_that_are_off(void **state)
{
	static const struct row rows[] = {
		{ "helm rm x --dry-run", "notify", NULL },
		{ "helm rm x --dry-run=server", "notify", NULL },
		{ "helm rm x --dry-run=offline", "notify", NULL },
		{ "helm rm x --dry-run=none", "deny", "own" },
		{ "helm rm x --dry-run=false", "deny", "own" },
		{ "helm rm x --dry-run=False", "deny", "own" },
		{ "helm rm x --dry-run=f", "deny", "own" },
		{ "helm rm x --dry-run=no", "deny", "own" },
		{ "helm rm x --dry-run=OFF", "deny", "own" },
		{ "helm rm x --dry-run=0", "deny", "own" },
		{ "helm rm x --dry-run=", "deny", "own" },
		{ "helm rm x --dry-run=$A", "deny", "own" }, /* could be none */
		{ "$HELM rm x --dry-run=none", "deny", "own" },
		{ "helm rm x --dry-run --dry-run=false", "deny", "own" }, /* the last one counts */
		{ "helm rm x --dry-run=client a --dry-run=none", "deny", "own" },
		{ "helm rm x --dry-run --no-dry-run", "deny", "own" },
		{ "helm rm x --dry-run --dry-run=$A", "deny", "own" },
		{ "helm rm x --dry-run=false --dry-run", "notify", NULL },
		{ "helm rm x --no-dry-run --dry-run=server", "notify", NULL },
		{ "helm rm x --dry-run --wait=false", "notify", NULL },
		{ "helm rm --dry-run $A", "notify", NULL },
		{ "helm rm x --dry-run false", "deny", "own" },
		{ "helm rm x --dry-run true false", "notify", NULL },
		{ "helm rm x --dry-run=true false", "notify", NULL },
		{ "helm rm x --dry-run false --dry-run", "notify", NULL },
		{ "helm rm -- x --dry-run", "deny", "own" }, /* an operand */
		{ "helm rm --dry-run -- x", "notify", NULL },
		{ "publish x -n", "notify", NULL },
		{ "publish x -n=false", "deny", "any" },
		{ "publish x -vn=0", "deny", "any" },
		{ "publish x -n=$A", "deny", "any" },
		{ "publish x -n -n=0", "deny", "any" },
		{ "publish x -n=1 -v=0", "notify", NULL },
		{ "publish x -n false", "notify", NULL },
		{ "publish x -- -vn", "deny", "any" },
		{ "publish -- rm x", "notify", NULL },
		{ "publish x -n --dry-run=no", "deny", "any" },
		{ "publish x --dry-run=no -n", "notify", NULL },
		{ "make --keep=none --keep=no", "notify", NULL },
		{ "kubectl delete ns x --dry-run --dry-run=false", "deny", "k8s.delete" },
		{ "npm publish --dry-run --no-dry-run", "deny", "publish.npm" },
		{ "publish x --dry-run=no", "deny", "any" },
		{ "publish x --dry-run=yes", "notify", NULL },
		{ "make --keep=no", "deny", "whole" },
		{ "make --keep=none", "notify", NULL },
		{ "npm publish --dry-run=false", "deny", "publish.npm" },
		{ "npm publish --dry-run", "notify", NULL },
		{ "kubectl delete ns x --dry-run=none", "deny", "k8s.delete" },
		{ "rclone sync a b --dry-run=false", "deny", "cloud.rclone_sync" },
	};
	static const struct row exceptions[] = {
		{ "ls --all", "confirm", NULL },
		{ "ls --all=no", "confirm", NULL },
		{ "ls --all --no-all", "confirm", NULL },
		{ "ls -- --all", "confirm", NULL },
		{ "ls --all false", "confirm", NULL },
		{ "ls x", "allow", "ls" },
	};

	(void)state;
	load("[{\"id\":\"own\",\"program\":\"helm\",\"words\":\"rm\",\"without\":\"--dry-run\","
	     "\"decision\":\"deny\"},"
	     "{\"id\":\"any\",\"words\":\"x\",\"without\":[\"-n|--dry-run\",\"rm|ns\"],"
	     "\"decision\":\"deny\"},"
	     "{\"id\":\"whole\",\"program\":\"make\",\"without\":\"--keep=none\","
	     "\"decision\":\"deny\"}]", "k8s:deny,publish:deny,cloud:deny");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
	load("[{\"id\":\"ls\",\"program\":\"ls\",\"without\":\"--all\",\"decision\":\"allow\"}]", "");
	expect_rows(TIER_CONFIRM, exceptions, sizeof(exceptions) / sizeof(exceptions[0]));
}

/* Links lead into the directory of a rule, or are its name. */
static void test_ruling_follows_links_of_directories(void **state)
{
	char real[160], link[160], command[256], rules[512];
	const char *const names[] = { real, link };

	(void)state;
	snprintf(real, sizeof(real), "%s/real", tmp.dir);
	snprintf(link, sizeof(link), "%s/link", tmp.dir);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink(real, link), 0);
	for (size_t i = 0; i < 2; i++) {
		snprintf(rules, sizeof(rules), "[{\"id\":\"a\",\"program\":\"x\",\"directory\":\"%s\","
			 "\"decision\":\"deny\"}]", names[i]);
		load(rules, "");
		for (size_t k = 0; k < 2; k++) {
			snprintf(command, sizeof(command), "cd %s && x", names[k]);
			expect_rows(TIER_NOTIFY, &(struct row){ command, "deny", "a" }, 1);
		}
		expect_rows(TIER_NOTIFY, &(struct row){ "x", "notify", NULL }, 1);
	}
}

/* The links of /proc and /dev/fd are those of the command, and not of the server. */
static void test_ruling_follows_links_of_processes(void **state)
{
	static const struct row rows[] = {
		{ "cd /proc/self/cwd/sec; make", "deny", "m" },
		{ "cd /proc/$$/cwd/sec; make", "deny", "m" },
		{ "cd /proc/thread-self/cwd/sec; make", "deny", "m" },
		{ "cd /proc/thread-self/../../cwd/sec; make", "deny", "m" },
		{ "cd /proc/net/../cwd/sec; make", "deny", "m" },
		{ "cd /proc/self; cd task/$$; cd root/srv/site/sec; make", "deny", "m" },
		{ "cd /dev/fd/../cwd/sec; make", "deny", "m" },
		{ "cd /dev/fd/../root/srv/site/sec; make", "deny", "m" },
		{ "cd /proc/1/root/srv/site/sec; make", "deny", "m" },
		{ "cd /proc/77/cwd; make", "deny", "m" }, /* may be anywhere */
		{ "env -C /proc/self/cwd/sec make", "deny", "m" },
		{ "exec 3< sec; cd /proc/self/fd/3; make", "deny", "m" },
		{ "exec 3< .. 4<&3; cd /dev/fd/4/site/sec; make", "deny", "m" },
		{ "cd /dev/fd/3/. 3< /srv/site/sec; make", "deny", "m" },
		{ "exec 3< sec; cd /tmp; cd /dev/fd/3; make", "deny", "m" },
		{ "exec 3< $D; cd /dev/fd/3; make", "deny", "m" },
		{ "cd /dev/stdin/. < sec; make", "deny", "m" },
		{ "cd /proc/self/cwd; make", "notify", NULL },
		{ "cd /proc/self/cwd/src; make", "notify", NULL },
		{ "cd /proc/self/cwd/sec; cd ..; make", "notify", NULL },
		{ "exec 3< src; cd /proc/self/fd/3; make", "notify", NULL },
		{ "cd /proc/self/root/srv; make", "notify", NULL },
		{ "cd /proc/self; make", "notify", NULL },
		{ "cd /dev/fd; make", "notify", NULL },
	};

	(void)state;
	load("[{\"id\":\"m\",\"program\":\"make\",\"directory\":\"/srv/site/sec\","
	     "\"decision\":\"deny\"}]", "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

static void count_look(void *ctx, const struct ruling_look *look)
{
	*(unsigned *)ctx += look->rule != NULL;
}

/* What is too complex anyway is not compared with further rules. */
static void test_ruling_stops_where_the_budget_ends(void **state)
{
	struct buf rules, text;
	unsigned looks = 0;
	const struct ruling_watch watch = { .on_look = count_look, .ctx = &looks };
	const struct ruling_request rq = { .book = &book, .tier = TIER_NOTIFY,
					   .capability = RULE_RUN, .watch = &watch };
	struct blocklist_input in = { .directory = "/srv/site" };
	struct blocklist_verdict v;
	struct ruling ruling;

	(void)state;
	buf_init(&rules, SIZE_MAX / 2);
	buf_init(&text, SIZE_MAX / 2);
	for (int i = 0; i < 200; i++)
		buf_addf(&rules, "%s{\"id\":\"r%d\",\"program\":\"x\",\"words\":\"--aa|--ab|--ac|--ad\","
			 "\"decision\":\"deny\"}", i ? "," : "[", i);
	buf_add(&rules, "]", 2);
	load(rules.data, "");
	buf_adds(&text, "x");
	for (int i = 0; i < 8000; i++)
		buf_adds(&text, " --option");
	buf_add(&text, "", 1);
	in.command = text.data;
	ruling_judge(&rq, &in, &v, &ruling);
	assert_true(v.blocked);
	assert_string_equal(v.rule, "text.too_complex");
	assert_in_range(looks, 1, 150);
	buf_release(&rules);
	buf_release(&text);
}

/* Many rules on one program ask once where it is. */
static void test_ruling_looks_once_for_a_program(void **state)
{
	static const struct row rows[] = {
		{ "/usr/bin/git status", "notify", NULL }, { "/none/../nowhere/git x", "deny", "r0" },
	};
	struct buf rules;

	(void)state;
	buf_init(&rules, SIZE_MAX / 2);
	for (int i = 0; i < 400; i++)
		buf_addf(&rules, "%s{\"id\":\"r%d\",\"program\":\"/nowhere/git\",\"decision\":\"deny\"}",
			 i ? "," : "[", i);
	buf_add(&rules, "]", 2);
	load(rules.data, "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
	buf_release(&rules);
}

static void expect_in(const char *directory, const char *decision)
{
	const struct question q = { .tier = TIER_CONFIRM, .command = "ls", .directory = directory };
	struct ruling ruling;

	assert_string_equal(decide(&q, &ruling), decision);
}

static void load_in(const char *directory, const char *decision)
{
	char rules[512];

	snprintf(rules, sizeof(rules), "[{\"id\":\"a\",\"program\":\"ls\",\"directory\":\"%s\","
		 "\"decision\":\"%s\"}]", directory, decision);
	load(rules, "");
}

/* However a path to the program is spelled, what is there or not. */
static void test_ruling_knows_a_program_by_any_path(void **state)
{
	static const struct {
		const char *path; /* below the directory */
		bool fits;
	} rows[] = {
		{ "bin/tool", true }, { "/bin/tool", true }, { "bin//tool", true },
		{ "./bin/./tool", true }, { "bin/../bin/tool", true }, { "link/tool", true },
		{ "own/linked", true }, { "own/tool", false }, { "own/../link/tool", true },
		{ "bin//late", true }, { "link/late", true }, { "own/late", false },
		{ "none/at//all", true }, { "none/x/../at/./all", true }, { "none/all", false },
		{ "bin/many-a", true }, { "link/many-b", true }, { "own/many-b", false },
		{ "star/a/one", true }, { "short/one", true }, { "star/one", false },
		{ "short/late-one", true }, { "own/one", true }, { "own/another", false },
		{ "fold/ed", true }, { "fold/x/../ed", true },
	};
	struct scratch place;
	char rules[1024], command[256];

	(void)state;
	scratch_init(&place);
	scratch_mkdir(&place, "bin");
	scratch_mkdir(&place, "own");
	scratch_file(&place, "bin/tool", "", 0755);
	scratch_file(&place, "bin/linked", "", 0755);
	scratch_file(&place, "own/tool", "", 0755);
	scratch_mkdir(&place, "star");
	scratch_mkdir(&place, "star/a");
	scratch_file(&place, "star/a/one", "", 0755);
	scratch_link(&place, "star/a", "short");
	scratch_link(&place, "../star/a/one", "own/one");
	scratch_link(&place, "../star/a/one", "own/another");
	scratch_link(&place, "bin", "link");
	scratch_link(&place, "../bin/linked", "own/linked");
	snprintf(rules, sizeof(rules),
		 "[{\"id\":\"x\",\"program\":[\"%s/bin/tool\",\"%s/bin/linked\",\"%s/bin/late\","
		 "\"%s/none/at/all\",\"%s/bin/many*\",\"%s/star/*/*one\",\"%s/fold/x/..//ed\"],"
		 "\"decision\":\"deny\"}]", place.dir, place.dir, place.dir, place.dir, place.dir,
		 place.dir, place.dir);
	load(rules, "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(command, sizeof(command), "%s/%s", place.dir, rows[i].path);
		expect_rows(TIER_NOTIFY, &(struct row){ command, rows[i].fits ? "deny" : "notify",
							rows[i].fits ? "x" : NULL }, 1);
	}
	scratch_release(&place);
}

/* An exception is for the path that it names. */
static void test_ruling_excepts_no_other_path(void **state)
{
	static const struct row rows[] = {
		{ "/usr/bin/id", "allow", "x" },
		{ "/usr//bin/id", "confirm", NULL },
		{ "/usr/bin/../bin/id", "confirm", NULL },
		{ "/bin/id", "confirm", NULL },
	};

	(void)state;
	load("[{\"id\":\"x\",\"program\":\"/usr/bin/id\",\"decision\":\"allow\"}]", "");
	expect_rows(TIER_CONFIRM, rows, sizeof(rows) / sizeof(rows[0]));
	load("[{\"id\":\"x\",\"program\":\"/usr/bin/id\",\"decision\":\"notify\"}]", "");
	expect_rows(TIER_CONFIRM, rows + 1, sizeof(rows) / sizeof(rows[0]) - 1);
}

/* A command may make or change a link: that puts no rule out of force, and is no exception. */
static void test_ruling_follows_links_that_change(void **state)
{
	char one[160], two[160], moved[160], late[160];

	(void)state;
	snprintf(one, sizeof(one), "%s/one", tmp.dir);
	snprintf(two, sizeof(two), "%s/two", tmp.dir);
	snprintf(moved, sizeof(moved), "%s/moved", tmp.dir);
	snprintf(late, sizeof(late), "%s/late", tmp.dir);
	assert_int_equal(mkdir(one, 0700), 0);
	assert_int_equal(mkdir(two, 0700), 0);
	assert_int_equal(symlink(one, moved), 0);
	load_in(moved, "deny");
	expect_in(two, "confirm");
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(symlink(two, moved), 0);
	expect_in(one, "deny");
	expect_in(two, "deny");

	load_in(moved, "allow");
	expect_in(two, "allow");
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(symlink(one, moved), 0);
	expect_in(one, "confirm");

	load_in(late, "deny");
	expect_in(two, "confirm");
	assert_int_equal(symlink(two, late), 0);
	expect_in(two, "deny");
	expect_in(one, "confirm");
}

/* What is searched for may begin, and go on, anywhere in a long text: to try each place by itself
 * would take minutes here. */
static void test_ruling_searches_long_texts(void **state)
{
	static const char *const phrases[] = { "a*b", "a a*b", " b" };
	char text[(64 << 10) + 8], rules[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		size_t len = (size_t)snprintf(rules, sizeof(rules), "[");

		for (int n = 0; n < 12; n++)
			len += (size_t)snprintf(rules + len, sizeof(rules) - len,
						"%s{\"id\":\"r%d\",\"program\":\"psql\",\"text\":"
						"\"%s\",\"decision\":\"deny\"}", n ? "," : "", n,
						phrases[i]);
		snprintf(rules + len, sizeof(rules) - len, "]");
		load(rules, "");
		snprintf(text, sizeof(text), "psql '%*s'", 65000, "");
		for (size_t at = 0; phrases[i][0] == 'a' && at < 65000; at += i + 1)
			text[strlen("psql '") + at] = 'a';
		expect_rows(TIER_NOTIFY, (const struct row[]){ { text, "notify", NULL } }, 1);
		text[strlen(text) - 2] = 'b';
		expect_rows(TIER_NOTIFY, (const struct row[]){ { text, "deny", "r0" } }, 1);
	}
}

/* Statements of another language, in a word or on standard input. */
static void test_ruling_matches_text(void **state)
{
	static const struct row rows[] = {
		{ "psql -c 'drop table t'", "deny", "drop" },
		{ "psql -c 'DROP\n  TABLE t'", "deny", "drop" },
		{ "echo 'Drop Table t;' | psql", "deny", "drop" },
		{ "psql <<E\nselect 1;\ndrop table t;\nE", "deny", "drop" },
		{ "psql <<<'drop table t'", "deny", "drop" },
		{ "psql -c \"drop table $T\"", "deny", "drop" },
		{ "sh -c 'psql -c \"drop table t\"'", "deny", "drop" },
		{ "psql -c 'droptable t'", "notify", NULL },
		{ "psql -c 'select 1'", "notify", NULL },
		{ "psql -c \"$SQL\"", "notify", NULL }, /* text that is not known says nothing */
		{ "cat x.sql | psql", "notify", NULL },
		{ "psql -c \"drop $X t\"", "notify", NULL },
		{ "psql -c \"update $T set a = 1\"", "confirm", "all" }, /* but a * is any text */
		{ "psql -c \"update t set a = 1 $WHERE\"", "confirm", "all" },
		{ "echo 'drop table t'", "notify", NULL },
		{ "psql -c 'update t set a = 1'", "confirm", "all" },
		{ "psql -c 'UPDATE t AS u SET a = 1'", "confirm", "all" },
		{ "psql -c 'update t set a = 1 where b'", "notify", NULL },
		{ "psql -c 'select 1 for update; set x = 1'", "notify", NULL },
		{ "psql -c 'update t'", "notify", NULL },
		{ "mysql -e 'drop table t'", "deny", "star" },
		{ "mysql -e 'select 1; DROP table t'", "deny", "star" },
		{ "mysql -e 'droptable t'", "notify", NULL },
		{ "mysql -e 'select 1;\tgrant x'", "deny", "blank" },
		{ "mysql -e 'select 1;  grant x'", "deny", "blank" },
		{ "mysql -e 'migrant x'", "notify", NULL },
		{ "mysql -e \"$A\"'grant x'", "notify", NULL },
	};

	(void)state;
	load("[{\"id\":\"drop\",\"program\":\"psql\",\"text\":\"drop table|drop schema\","
	     "\"decision\":\"deny\"},"
	     "{\"id\":\"all\",\"program\":\"psql\",\"text\":\"update * set \","
	     "\"without_text\":\"where \",\"decision\":\"confirm\"},"
	     "{\"id\":\"star\",\"program\":\"mysql\",\"text\":\"x y|**drop table\","
	     "\"decision\":\"deny\"},"
	     "{\"id\":\"blank\",\"program\":\"mysql\",\"text\":\"* grant\",\"decision\":\"deny\"}]",
	     "");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

/* A pack decides on what is written, and guesses nothing. */
static void test_ruling_packs_do_not_guess(void **state)
{
	static const struct row rows[] = {
		{ "git push -f", "confirm", "git.push_force" },
		{ "git push \"+$B\"", "confirm", "git.push_force" },
		{ "git push \"$A\"", "notify", NULL },
		{ "git push -$A", "notify", NULL },
		{ "$TOOL push -f", "notify", NULL },
		{ "git restore \"$F\"", "confirm", "git.restore" },
	};

	(void)state;
	load("[]", "git:confirm");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
}

/* Own rules before packs, packs before the tier; the strictest of all commands. */
static void test_ruling_order(void **state)
{
	static const struct row rows[] = {
		{ "git push -f", "confirm", "git.push_force" },
		{ "git push -f origin wip", "notify", "wip" },
		{ "git push -f origin wip main", "confirm", "git.push_force" },
		{ "git push -f origin wip && git reset --hard", "confirm", "git.reset_hard" },
		{ "git push -f origin \"$B\"", "confirm", "git.push_force" },
		{ "git reset --hard prod", "deny", "prod" },
		{ "ls", "allow", "ls" },
		{ "ls secret", "confirm", "secret" },
		{ "ls && cat x", "notify", NULL },
		{ "ls && ls -l && git push -f", "confirm", "git.push_force" },
	};

	(void)state;
	load("[{\"id\":\"wip\",\"program\":\"git\",\"words\":[\"push\",\"-f\",\"origin\",\"wip\"],"
	     "\"decision\":\"notify\",\"examples\":[\"git push -f origin wip\"]},"
	     "{\"id\":\"prod\",\"program\":\"git\",\"words\":[\"reset\",\"prod\"],\"decision\":\"deny\"},"
	     "{\"id\":\"ls\",\"program\":\"ls\",\"decision\":\"allow\"},"
	     "{\"id\":\"secret\",\"program\":\"ls\",\"words\":[\"secret\"],\"decision\":\"confirm\"}]",
	     "git:confirm");
	expect_rows(TIER_NOTIFY, rows, sizeof(rows) / sizeof(rows[0]));
	expect_rows(TIER_DENY, &(struct row){ "ls", "deny", NULL }, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "ls && cat x", "confirm", NULL }, 1);
	/* A pack never loosens the tier. */
	load("[]", "git:notify");
	expect_rows(TIER_CONFIRM, &(struct row){ "git push -f", "confirm", NULL }, 1);
	expect_rows(TIER_AUTONOMOUS, &(struct row){ "git push -f", "notify", "git.push_force" }, 1);
}

static const char ls_allowed[] =
	"[{\"id\":\"ls\",\"program\":\"ls\",\"decision\":\"allow\"},"
	"{\"id\":\"git\",\"program\":\"git\",\"words\":[\"status\",\"-s\",\"-b\"],\"decision\":\"allow\"},"
	"{\"id\":\"more\",\"program\":\"true\",\"words\":[\"a\",\"*\"],\"decision\":\"allow\"},"
	"{\"id\":\"rest\",\"program\":[\"cd\",\"echo\",\"env\",\"timeout\",\"printf\"],"
	"\"decision\":\"allow\"},"
	"{\"id\":\"cat\",\"program\":\"cat\",\"environment\":[\"CI\",\"MY_*\"],\"stdin\":true,"
	"\"user\":\"me\",\"decision\":\"allow\"}]";

/* What an allow does not name, it does not cover. */
static void test_ruling_names_all_that_decide(void **state)
{
	struct question q = { .tier = TIER_NOTIFY };
	struct ruling ruling;
	char text[256] = "", list[2048] = "[";
	size_t len = 0, at = 1;

	(void)state;
	for (int i = 0; i < 10; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "p%d; p1; p1; ", i);
		at += (size_t)snprintf(list + at, sizeof(list) - at,
				       "%s{\"id\": \"r%d\", \"program\": \"p%d\", \"decision\": "
				       "\"%s\"}", i ? "," : "", i, i, i == 9 ? "deny" : "confirm");
	}
	strcpy(list + at, "]");
	load(list, "git:confirm");
	q.command = "p2; ls; p3; p2; git push -f; p3";
	assert_string_equal(decide(&q, &ruling), "confirm");
	assert_string_equal(ruling.rule->id, "r2");
	assert_int_equal(ruling.also_count, 2);
	assert_string_equal(ruling.also[0].rule->id, "r3");
	assert_null(ruling.also[0].pack);
	assert_string_equal(ruling.also[1].rule->id, "git.push_force");
	assert_string_equal(ruling.also[1].pack, "git");
	q.command = text;
	assert_string_equal(decide(&q, &ruling), "deny");
	assert_int_equal(ruling.also_count, 0);
	strcpy(strstr(text, "p9"), "git push -f; git push -f");
	assert_string_equal(decide(&q, &ruling), "confirm");
	assert_int_equal(ruling.also_count, RULING_ALSO_MAX + 1);
	assert_string_equal(ruling.also[RULING_ALSO_MAX - 1].rule->id, "r8");
}

/* The ruling on two texts is the one on both together. */
static void test_ruling_joins(void **state)
{
	static const struct {
		const char *one, *two, *decision, *rule, *also;
	} rows[] = {
		{ "true", "true", "notify", NULL, NULL },
		{ "true", "pa", "confirm", "a", NULL },
		{ "pa", "true", "confirm", "a", NULL },
		{ "pa", "pb", "confirm", "a", "b" },
		{ "pa; pb", "pb; pa", "confirm", "a", "b" },
		{ "pa", "pd", "deny", "d", NULL },
		{ "pd", "pa", "deny", "d", NULL },
		{ "true", "pn", "notify", "n", NULL },
		{ "pn", "true", "notify", "n", NULL },
	};

	(void)state;
	load("[{\"id\":\"a\",\"program\":\"pa\",\"decision\":\"confirm\"},"
	     "{\"id\":\"b\",\"program\":\"pb\",\"decision\":\"confirm\"},"
	     "{\"id\":\"n\",\"program\":\"pn\",\"decision\":\"notify\"},"
	     "{\"id\":\"d\",\"program\":\"pd\",\"decision\":\"deny\"}]", "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ruling one, two;

		decide(&(struct question){ .tier = TIER_NOTIFY, .command = rows[i].one }, &one);
		decide(&(struct question){ .tier = TIER_NOTIFY, .command = rows[i].two }, &two);
		ruling_join(&one, &two);
		assert_string_equal(rule_decision_name(one.tier), rows[i].decision);
		assert_int_equal(!one.rule, !rows[i].rule);
		if (one.rule)
			assert_string_equal(one.rule->id, rows[i].rule);
		assert_int_equal(one.also_count, rows[i].also ? 1 : 0);
		if (rows[i].also)
			assert_string_equal(one.also[0].rule->id, rows[i].also);
	}
}

static void test_ruling_joins_as_many_as_are_named(void **state)
{
	struct ruling one = { .tier = TIER_CONFIRM }, two = one;
	struct rule rules[2 * RULING_ALSO_MAX + 2];

	(void)state;
	for (size_t i = 0; i < RULING_ALSO_MAX; i++) {
		one.also[i].rule = &rules[i];
		two.also[i].rule = &rules[RULING_ALSO_MAX + i];
	}
	one.rule = &rules[2 * RULING_ALSO_MAX];
	two.rule = &rules[2 * RULING_ALSO_MAX + 1];
	one.also_count = RULING_ALSO_MAX;
	two.also_count = RULING_ALSO_MAX + 1;
	ruling_join(&one, &two);
	assert_int_equal(one.also_count, RULING_ALSO_MAX + 1);
	assert_ptr_equal(one.also[0].rule, &rules[0]);
	assert_ptr_equal(one.also[RULING_ALSO_MAX - 1].rule, &rules[RULING_ALSO_MAX - 1]);
}

static void test_ruling_exception_covers_what_it_names(void **state)
{
	static const struct row rows[] = {
		{ "ls -l a b", "allow", "ls" },
		{ "/bin/ls", "confirm", NULL }, /* PATH finds another path */
		{ "ls; ls -l || ls x", "allow", "ls" },
		{ "cd x && ls", "allow", "rest" },
		{ "ls 2>&1 >/dev/null", "allow", "ls" },
		{ "timeout 5 ls", "allow", "rest" },
		{ "git status -s -b", "allow", "git" },
		{ "git -sb status", "allow", "git" },
		{ "true a b c", "allow", "more" },
		{ "echo x | cat", "allow", "rest" },
		{ "CI=1 cat x", "allow", "cat" },
		{ "ls *.c", "confirm", NULL },
		{ "ls $A", "confirm", NULL },
		{ "ls ~", "confirm", NULL },
		{ "git status", "confirm", NULL },
		{ "git -sx -b status", "confirm", NULL },
		{ "git -c core.fsmonitor=./x status -s -b", "confirm", NULL },
		{ "./ls", "confirm", NULL },
		{ "bin/ls", "confirm", NULL },
		{ "ls > x", "confirm", NULL },
		{ "{ ls; } > x", "confirm", NULL },
		{ "ls < x", "confirm", NULL },
		{ "ls <<E\nE", "confirm", NULL },
		{ "echo x | ls", "confirm", NULL },
		{ "echo x | { true a; ls; }", "confirm", NULL },
		{ "echo x | timeout 5 ls", "confirm", NULL },
		{ "LD_PRELOAD=./x ls", "confirm", NULL },
		{ "env NODE_OPTIONS=-rx ls", "confirm", NULL },
		{ "env -S 'PATH=. ls'", "confirm", NULL },
		{ "PATH=.:$PATH; ls", "confirm", NULL },
		{ "export PATH=.; ls", "confirm", NULL },
		{ "for PATH in .; do ls; done", "confirm", NULL },
		{ "select HOME in .; do ls; done", "confirm", NULL },
		{ "ls $((PATH=1)); ls", "confirm", NULL },
		{ "if ((HOME=1)); then ls; fi", "confirm", NULL },
		{ "for ((TERM=1; ; )); do ls; done", "confirm", NULL },
		{ "ls ${TZ:=x}; ls", "confirm", NULL },
		{ "ls ${x[PATH=1]}", "confirm", NULL },
		{ "ls {PATH}>/dev/null; ls", "confirm", NULL },
		{ "coproc PATH { ls; }; ls", "confirm", NULL },
		{ "printf -v HOME . ; ls", "confirm", NULL },
		{ "echo x | while ls; do true; done", "confirm", NULL },
		{ "if ls -l; then ls; else true a; fi", "allow", "ls" },
		{ "case $1 in a) ls;; esac", "allow", "ls" },
		{ "(ls; ls -l) && { ls; }", "allow", "ls" },
		{ "PATH=. ; ls", "confirm", NULL },
		{ "printf -v PATH . ; ls", "confirm", NULL },
		{ "hash -p ./x ls; ls", "confirm", NULL },
		{ "alias ls=x; ls", "confirm", NULL },
		{ "ls() { cat; }; ls", "confirm", NULL },
		{ "f() { ls; }; f", "confirm", NULL },
		{ "source ./x; ls", "confirm", NULL },
		{ ". ./x; ls", "confirm", NULL },
		{ "ls $(echo a)", "confirm", NULL },
		{ "echo $(ls)", "confirm", NULL },
		{ "[[ a = b ]] && ls", "confirm", NULL },
		{ "exec ls", "confirm", NULL },
		{ "env ls -l; env rm x", "confirm", NULL },
		{ "sudo ls", "confirm", NULL },
		{ "X=ls; $X", "confirm", NULL }, /* an assignment */
		{ "MY_X=1 OTHER=2 cat x", "confirm", NULL },
		{ "no-such-program", "confirm", NULL },
		{ "rm -rf /", "blocked", NULL },
	};

	(void)state;
	load(ls_allowed, "");
	expect_rows(TIER_CONFIRM, rows, sizeof(rows) / sizeof(rows[0]));
}

/* The tier lets the rest of the text pass: what changes what the excepted words run still counts,
 * before and behind them. */
static void test_ruling_exception_in_plain_texts_only(void **state)
{
	static const char *const excepted[] = {
		"git push --force origin dev",
		"cd src && git push --force origin dev",
		"git status; git push --force origin dev",
		"git push --force origin dev || exit 1",
		"true; echo pushing; pwd; : ; git push --force origin dev; false",
		"if git fetch; then git push --force origin dev; else echo no; fi",
		"(cd src && git push --force origin dev) 2>&1 | tail -n 3",
		"{ git push --force origin dev; } >/dev/null 2>&1",
		"git push --force origin dev 2>&1 | tee log",
		"echo x > f; git push --force origin dev; cat < f",
		"time git push --force origin dev",
		"TRACE=1 git push --force origin dev",
		"OTHER=1 ls; git push --force origin dev",
		"env TRACE=1 git push --force origin dev",
		"timeout -k 1 5 nice -n 5 git push --force origin dev",
		"sh -c 'cd src && git push --force origin dev'",
		"timeout 5 bash -c 'git push --force origin dev' 2>/dev/null",
		"echo y | cat; git push --force origin dev",
	};
	static const char *const altered[] = {
		"export GIT_DIR=/b/.git; git push --force origin dev",
		"git push --force origin dev; export GIT_DIR=/b/.git",
		"GIT_DIR=/b/.git; git push --force origin dev",
		"TRACE=1; git push --force origin dev",
		"readonly B=main\nB=dev\ngit push --force origin $B",
		"declare B=dev; git push --force origin $B",
		"typeset B=dev; git push --force origin $B",
		"local B=dev; git push --force origin $B",
		"read B; git push --force origin dev",
		"read B < f; git push --force origin dev",
		"while read B; do git push --force origin dev; done",
		"printf -v B x; git push --force origin dev",
		"printf '%n' PATH; git push --force origin dev",
		"mapfile B < f; git push --force origin dev",
		"readarray B < f; git push --force origin dev",
		"getopts ab GIT_DIR; git push --force origin dev",
		"unset HOME; git push --force origin dev",
		"let PATH=1; git push --force origin dev",
		"[ -v 'a[PATH=1]' ]; git push --force origin dev",
		"test -v 'a[PATH=1]'; git push --force origin dev",
		"[[ PATH=1 -eq 1 ]]; git push --force origin dev",
		"PATH=.; git push --force origin dev",
		"PATH+=:.; git push --force origin dev",
		"PATH=. :; git push --force origin dev",
		"TRACE=1 :; git push --force origin dev",
		"TRACE=1 $EMPTY; git push --force origin dev",
		"time TRACE=1; git push --force origin dev",
		"a[PATH=1]=x; git push --force origin dev",
		"TRACE[PATH=1]=x git push --force origin dev",
		"TRACE=(a b) git push --force origin dev",
		"coproc X { git push --force origin dev; }",
		"coproc cat; git push --force origin dev",
		"hash -p /bin/echo git; git push --force origin dev",
		"BASH_CMDS[git]=x; git push --force origin dev",
		"alias git=echo; git push --force origin dev",
		"alias git=echo\ngit push --force origin dev",
		"enable -n echo; git push --force origin dev",
		"set -a; git push --force origin dev",
		"set -- x; git push --force origin dev",
		"shopt -s expand_aliases; git push --force origin dev",
		"trap 'cd /' DEBUG; git push --force origin dev",
		"ulimit -f 0; git push --force origin dev",
		"umask 0; git push --force origin dev",
		". ./x; git push --force origin dev",
		"source ./x; git push --force origin dev",
		"eval \"$X\"; git push --force origin dev",
		"eval 'export GIT_DIR=/b'; git push --force origin dev",
		"eval 'git push --force origin dev'",
		"command export GIT_DIR=/b; git push --force origin dev",
		"builtin export GIT_DIR=/b; git push --force origin dev",
		"command git push --force origin dev",
		"$X GIT_DIR=/b; git push --force origin dev",
		"\"$X\" GIT_DIR=/b; git push --force origin dev",
		"$(echo export) GIT_DIR=/b; git push --force origin dev",
		"e* GIT_DIR=/b; git push --force origin dev",
		"{export,GIT_DIR=/b}; git push --force origin dev",
		"pushd /b; git push --force origin dev",
		"while :; do git push --force origin dev; git() { x; }; done",
		"git() { x; }; git push --force origin dev",
		"f() { export GIT_DIR=/b; }; f; git push --force origin dev",
		"{ git push --force origin dev; } > f",
		"{ git push --force origin dev; } 2>> f",
		"( git push --force origin dev ) < f",
		"{ git push --force origin dev; } <<E\nx\nE",
		"if true; then git push --force origin dev; fi > f",
		"until git push --force origin dev; do :; done < f",
		"{ { git push --force origin dev; } >&3; } 3> f",
		"exec > f; git push --force origin dev",
		"exec 0< f; git push --force origin dev",
		"exec 3> f; git push --force origin dev >&3",
		"sudo git push --force origin dev",
		"sudo -u you git push --force origin dev",
		"sudo sh -c 'git push --force origin dev'",
		"doas git push --force origin dev",
		"su -c 'git push --force origin dev'",
		"chroot /b git push --force origin dev",
		"ssh host git push --force origin dev",
		"nohup git push --force origin dev",
		"env -i git push --force origin dev",
		"env -u HOME git push --force origin dev",
		"env -C /b git push --force origin dev",
		"env - git push --force origin dev",
		"env OTHER=1 git push --force origin dev",
		"env GIT_DIR=/b env TRACE=1 git push --force origin dev",
		"env PATH=. nice env TRACE=1 git push --force origin dev",
		"env TRACE=1 sh -c 'git push --force origin dev'",
		"env GIT_DIR=/b sh -c 'git push --force origin dev'",
		"GIT_DIR=/b sh -c 'git push --force origin dev'",
		"export GIT_DIR=/b; sh -c 'git push --force origin dev'",
		"sh -c 'export GIT_DIR=/b; git push --force origin dev'",
		"sh -c \"$X; git push --force origin dev\"",
		"sh -ac 'git push --force origin dev'",
		"sh -l -c 'git push --force origin dev'",
		"bash --rcfile f -ic 'git push --force origin dev'",
		"sh -c 'git push --force origin dev' > f",
		"sh -c 'git push --force origin dev' < f",
		"cat f | sh -c 'git push --force origin dev'",
		"sh <<< 'git push --force origin dev'",
		"echo 'git push --force origin dev' | sh",
		"timeout $X git push --force origin dev",
		"timeout 5 env -i git push --force origin dev",
		"./timeout 5 git push --force origin dev",
		"echo dev | xargs git push --force origin",
		"find . -exec git push --force origin dev ';'",
		"python3 -c 'import os; os.system(\"git push --force origin dev\")'",
		"> f; git push --force origin dev",
	};

	(void)state;
	load("[{\"id\":\"dev\",\"program\":\"git\",\"subcommand\":\"push\",\"words\":[\"--force\","
	     "\"origin\",\"dev\"],\"environment\":[\"TRACE\"],\"decision\":\"allow\"}]", "git:deny");
	for (size_t i = 0; i < sizeof(excepted) / sizeof(excepted[0]); i++) {
		struct ruling ruling;
		const char *got = decide(&(struct question){ .tier = TIER_AUTONOMOUS,
							     .command = excepted[i] }, &ruling);

		if (strcmp(got, "allow"))
			fail_msg("%s: %s", excepted[i], got);
	}
	for (size_t i = 0; i < sizeof(altered) / sizeof(altered[0]); i++) {
		struct ruling ruling;
		const char *got = decide(&(struct question){ .tier = TIER_NOTIFY,
							     .command = altered[i] }, &ruling);

		if (strcmp(got, "deny") && strcmp(got, "blocked"))
			fail_msg("%s: %s", altered[i], got);
	}
}

/* Each letter of a cluster is named, or the cluster as it is: one letter does not name the others. */
static void test_ruling_exception_and_clusters(void **state)
{
	static const struct row rows[] = {
		{ "ls --all", "allow", "either" },
		{ "ls -a", "allow", "either" },
		{ "ls -aR", "confirm", NULL },
		{ "cat -An", "allow", "whole" },
		{ "cat -nA", "confirm", NULL },
		{ "cat -AnT", "confirm", NULL },
		{ "true -x -O2g", "allow", "prefix" },
		{ "true -xO2", "confirm", NULL },
	};

	(void)state;
	load("[{\"id\":\"either\",\"program\":\"ls\",\"words\":\"--all|-a\",\"decision\":\"allow\"},"
	     "{\"id\":\"whole\",\"program\":\"cat\",\"words\":\"-An\",\"decision\":\"allow\"},"
	     "{\"id\":\"prefix\",\"program\":\"true\",\"words\":[\"-x\",\"-O*\"],"
	     "\"decision\":\"allow\"}]", "");
	expect_rows(TIER_CONFIRM, rows, sizeof(rows) / sizeof(rows[0]));
}

/* A cd may fail and .. may be behind a link, so what it comes back to is not known for certain. */
static void test_ruling_exception_stays_in_its_directory(void **state)
{
	static const struct row rows[] = {
		{ "ls; (cd /srv/prod); ls", "allow", "ls" },
		{ "cd /srv/prod & ls", "allow", "cd" },
		{ "cd /srv/prod; cd -; ls", "confirm", NULL },
		{ "cd -P link; cd ..; ls", "confirm", NULL },
		{ "cd /srv/prod; cd missing/../../work; ls", "confirm", NULL },
		{ "cd sub; cd /srv/site; ls", "confirm", NULL },
		{ "true && cd . && ls", "confirm", NULL },
		{ "f() { cd -P link; cd ..; }; f; ls", "confirm", NULL },
		{ "env -C link/.. ls", "confirm", NULL },
	};

	(void)state;
	load("[{\"id\":\"cd\",\"program\":[\"cd\",\"true\",\"env\"],\"words\":\"*\",\"decision\":\"allow\"},"
	     "{\"id\":\"ls\",\"program\":\"ls\",\"directory\":\"/srv/site\",\"decision\":\"allow\"}]", "");
	expect_rows(TIER_CONFIRM, rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_ruling_exception_and_the_request(void **state)
{
	static const char *const none[] = { NULL }, *const dash_l[] = { "-l", NULL };
	static const char *const path[] = { "PATH=.", NULL }, *const ci[] = { "CI=1", "MY_A=b", NULL };
	static const struct {
		struct question q;
		const char *decision;
	} rows[] = {
		{ { .command = "ls", .args = dash_l }, "allow" },
		{ { .command = "cd", .args = none }, "confirm" }, /* a builtin needs a shell */
		{ { .command = "ls", .environment = path }, "confirm" },
		{ { .command = "cat x", .environment = ci }, "allow" },
		{ { .command = "ls", .input = "x" }, "confirm" },
		{ { .command = "cat", .input = "x" }, "allow" },
		{ { .command = "ls", .user = "me" }, "confirm" },
		{ { .command = "cat x", .user = "me" }, "allow" },
		{ { .command = "cat x", .user = "you" }, "confirm" },
		{ { .command = "ls", .no_machine = true }, "confirm" },
		{ { .command = "echo a", .has_log_file = true }, "confirm" },
	};
	struct ruling ruling;

	(void)state;
	load(ls_allowed, "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct question q = rows[i].q;

		q.tier = TIER_CONFIRM;
		if (strcmp(decide(&q, &ruling), rows[i].decision))
			fail_msg("row %zu, %s: not %s", i, q.command, rows[i].decision);
	}
}

/* Programs that a run can replace: in a directory of PATH, behind a link, or before the true one. */
static void test_ruling_exception_needs_an_installed_program(void **state)
{
	AUTO_FREE char *before = mem_strdup(getenv("PATH"));
	char path[256], link[128];
	struct scratch outside;

	(void)state;
	load("[{\"id\":\"a\",\"program\":[\"own\",\"ls\",\"env\",\"printf\",\"linked\",\"through\"],"
	     "\"decision\":\"allow\"}]", "");
	scratch_file(&tmp, "own", "#!/bin/sh\n", 0755);
	scratch_init(&outside);
	snprintf(link, sizeof(link), "%s/linked", outside.dir);
	snprintf(path, sizeof(path), "%s/own", tmp.dir);
	assert_int_equal(symlink(path, link), 0);
	/* A link to a program that is none of ours may lie where commands can replace it. */
	scratch_link(&tmp, "/bin/ls", "way");
	snprintf(path, sizeof(path), "%s/way", tmp.dir);
	scratch_link(&outside, path, "through");

	snprintf(path, sizeof(path), "%s:/usr/bin:/bin:%s", outside.dir, tmp.dir);
	setenv("PATH", path, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "ls", "allow", "a" }, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "env printf x", "allow", "a" }, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "printf x", "confirm", NULL }, 1); /* the shell's */
	expect_rows(TIER_CONFIRM, &(struct row){ "own", "confirm", NULL }, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "linked", "confirm", NULL }, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "through", "confirm", NULL }, 1);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", tmp.dir);
	setenv("PATH", path, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "ls", "confirm", NULL }, 1);
	snprintf(path, sizeof(path), "%s/not-yet:/usr/bin:/bin", tmp.dir);
	setenv("PATH", path, 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "ls", "confirm", NULL }, 1);
	setenv("PATH", "bin:/usr/bin:/bin", 1);
	expect_rows(TIER_CONFIRM, &(struct row){ "ls", "confirm", NULL }, 1);
	setenv("PATH", before, 1);
	scratch_release(&outside);
}

static void test_ruling_holds_on_its_last_day(void **state)
{
	char today[CLOCK_TEXT_SIZE], rules[128];

	(void)state;
	clock_wall_text(clock_wall_ms(), today);
	snprintf(rules, sizeof(rules),
		 "[{\"id\":\"a\",\"program\":\"x\",\"until\":\"%.10s\",\"decision\":\"deny\"}]", today);
	load(rules, "");
	expect_rows(TIER_NOTIFY, &(struct row){ "x", "deny", "a" }, 1);
}

/* ---- mistakes ---- */

#define STARS_20 "********************"
#define STARS_100 STARS_20 STARS_20 STARS_20 STARS_20 STARS_20
#define STARS_200 STARS_100 STARS_100
#define STARS_300 STARS_200 STARS_100

static void test_ruling_refuses_bad_rules(void **state)
{
	static const struct {
		const char *rule, *part;
	} rows[] = {
		{ "1", "is an object" },
		{ "{}", "no id" },
		{ "{\"id\":\"a b\"}", "letters" },
		{ "{\"id\":\"tier.x\"}", "tier." },
		{ "{\"id\":\"a\",\"program\":\"x\"}", "decision is missing" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"ask\"}", "none of allow" },
		{ "{\"id\":\"a\",\"programs\":\"x\",\"decision\":\"deny\"}", "the nearest is \"program\"" },
		{ "{\"id\":\"a\",\"program\":1,\"decision\":\"deny\"}", "program is a string" },
		{ "{\"id\":\"a\",\"program\":[],\"decision\":\"deny\"}", "is empty" },
		{ "{\"id\":\"a\",\"program\":\"\",\"decision\":\"deny\"}", "1 to 1024" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"reason\":\"a\\u202eb\",\"decision\":\"deny\"}",
		  "1 to 512" },
		{ "{\"id\":\"a\",\"program\":\"bin/x\",\"decision\":\"deny\"}", "absolute" },
		{ "{\"id\":\"a\",\"program\":\"/bin/x/\",\"decision\":\"deny\"}", "absolute" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"directory\":\"x\",\"decision\":\"deny\"}", "absolute" },
		{ "{\"id\":\"a\",\"decision\":\"deny\"}", "every command" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"ignore\":\"y\",\"decision\":\"deny\"}",
		  "words is missing" },
		{ "{\"id\":\"a\",\"words\":\"x\",\"ignore\":\"y|\",\"decision\":\"deny\"}",
		  "ignore has an alternative" },
		{ "{\"id\":\"a\",\"subcommand\":\"set |get\",\"decision\":\"deny\"}",
		  "subcommand has an operand that is empty" },
		{ "{\"id\":\"a\",\"words\":\"x||y\",\"decision\":\"deny\"}", "is empty, or longer" },
		{ "{\"id\":\"a\",\"words\":\"x|\",\"decision\":\"deny\"}", "is empty, or longer" },
		{ "{\"id\":\"a\",\"text\":[\"x\",\"y|*\"],\"decision\":\"deny\"}", "every text" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"without_text\":\"**|y\",\"decision\":\"deny\"}",
		  "every text" },
		{ "{\"id\":\"a\",\"words\":\"x\",\"decision\":\"allow\"}", "names its programs" },
		{ "{\"id\":\"a\",\"program\":\"x*\",\"decision\":\"allow\"}", "whole" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"environment\":\"P*\",\"decision\":\"allow\"}", "PATH" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"environment\":\"" STARS_300
		  "\",\"decision\":\"allow\"}", "longer than 256" },
		{ "{\"id\":\"a\",\"program\":\"/" STARS_300 "\",\"decision\":\"deny\"}",
		  "longer than 256" },
		{ "{\"id\":\"a\",\"program\":[\"x\",\"y|z\"],\"decision\":\"deny\"}",
		  "program has a |: several programs are an array" },
		{ "{\"id\":\"a\",\"program\":[\"ls\",\"git push\"],\"decision\":\"deny\"}",
		  "program has a blank: the words behind the program are subcommand or words" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"stdin\":true,\"decision\":\"deny\"}", "allow only" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"until\":\"2027-13-01\",\"decision\":\"deny\"}",
		  "not a date" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"until\":\"2027-02-29\",\"decision\":\"deny\"}",
		  "not a date" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"capability\":\"process.kill\",\"decision\":\"deny\"}",
		  "neither process.run" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"deny\",\"examples\":[\"y\"]}",
		  "rule \"a\" does not match its example: y: its program is \"y\"" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"deny\",\"examples\":[\"Y=1\"]}",
		  "Y=1: it runs no program" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"deny\",\"examples\":[\"; x\"]}",
		  "; x: no shell accepts it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"deny\",\"examples\":[\"x 'y\"]}",
		  "does not match its example: x 'y: no shell accepts it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"deny\",\"counterexamples\":[\"y 'z\"]}",
		  "cannot be tried on its counterexample: y 'z: no shell accepts it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"words\":[\"y\",\"-f|--force\"],"
		  "\"decision\":\"deny\",\"examples\":[\"cd / && x y -g\"]}",
		  "-g: \"-f|--force\" of words is not in it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"without\":\"-n\",\"decision\":\"deny\","
		  "\"examples\":[\"x -n\"]}", "x -n: \"-n\" of without is in it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"text\":\"drop\",\"decision\":\"deny\","
		  "\"examples\":[\"x dorp\"]}", "\"drop\" of text is not in it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"without_text\":\"if\",\"decision\":\"deny\","
		  "\"examples\":[\"x if\"]}", "\"if\" of without_text is in it" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"directory\":\"/srv\",\"decision\":\"deny\","
		  "\"examples\":[\"cd /etc && x\"]}", "x: it runs in another directory" },
		{ "{\"id\":\"a\",\"program\":\"ls\",\"words\":\"-l\",\"decision\":\"allow\","
		  "\"examples\":[\"ls -l src\"]}",
		  "ls -l src: \"src\" is not named by words, where \"*\" lets further words pass" },
		{ "{\"id\":\"a\",\"program\":\"ls\",\"words\":\"-l\",\"decision\":\"allow\","
		  "\"examples\":[\"ls -l $A\"]}", "a word is not known before it runs" },
		{ "{\"id\":\"a\",\"program\":\"ls\",\"words\":\"-l\",\"decision\":\"allow\","
		  "\"examples\":[\"ls $A\"]}", "what decides is not known before it runs" },
		{ "{\"id\":\"a\",\"program\":\"rm\",\"words\":\"-r\",\"decision\":\"allow\","
		  "\"examples\":[\"rm -rf /\"]}", "the blocklist blocks it, so no allow has an effect" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"deny\",\"counterexamples\":[\"sudo x\"]}",
		  "matches its counterexample: sudo x" },
		{ "{\"id\":\"a\",\"program\":\"x\",\"decision\":\"allow\",\"examples\":[\"x *.c\"]}",
		  "does not match its example" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *rule = json_loads(rows[i].rule, JSON_DECODE_ANY, NULL);
		struct ruleset set = { .list = NULL };
		ERR_LOCAL(e);

		assert_non_null(rule);
		if (!ruleset_add(&set, rule, "test:1", RULE_OF_OPERATOR, TIER_DENY, &e) &&
		    !ruleset_test(&set, &e))
			fail_msg("taken: %s", rows[i].rule);
		if (!strstr(e.message, rows[i].part))
			fail_msg("%s: %s", rows[i].rule, e.message);
		err_release(&e);
		ruleset_release(&set);
		json_decref(rule);
	}
}

/* A rule with a list of @words words and a reason of @reason bytes: is it taken? */
static bool is_taken(size_t words, size_t reason)
{
	char text[1024] = { 0 }, word[32];
	json_t *rule, *list = json_array();
	struct ruleset set = { .list = NULL };
	ERR_LOCAL(e);
	bool taken;

	memset(text, 'x', reason);
	for (size_t i = 0; i < words; i++) {
		snprintf(word, sizeof(word), "w%zu", i);
		json_array_append_new(list, json_string(word));
	}
	rule = json_pack("{s:s, s:s, s:o, s:s, s:s}", "id", "a", "program", "x", "words", list,
			 "decision", "deny", "reason", text);
	taken = !ruleset_add(&set, rule, "test:1", RULE_OF_OPERATOR, TIER_DENY, &e);
	err_release(&e);
	ruleset_release(&set);
	json_decref(rule);
	return taken;
}

static void test_ruling_bounds_lists_and_texts(void **state)
{
	(void)state;
	assert_true(is_taken(64, 512));
	assert_false(is_taken(65, 512));
	assert_false(is_taken(64, 513));
}

static void test_ruling_refuses_bad_packs(void **state)
{
	static const char *const rows[][2] = {
		{ "packs=gits:confirm", "the nearest is \"git\"" },
		{ "packs=git", "does not end in notify" },
		{ "packs=git:allow", "does not end in notify" },
		{ "packs=git:deny,git:notify", "there twice" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rulebook bad = { .own = NULL };
		struct config c;
		ERR_LOCAL(e);

		config_init(&c);
		assert_int_equal(config_set(&c, rows[i][0], &e), 0);
		assert_int_equal(rulebook_open(&bad, &c, &e), -1);
		if (!strstr(e.message, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], e.message);
		err_release(&e);
		rulebook_release(&bad);
		config_release(&c);
	}
}

static int setup(void **state)
{
	(void)state;
	scratch_init(&tmp);
	config_init(&config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rulebook_release(&book);
	config_release(&config);
	scratch_release(&tmp);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ruling_sees_what_would_run),
		cmocka_unit_test(test_ruling_knows_ends_of_words),
		cmocka_unit_test(test_ruling_knows_variables),
		cmocka_unit_test(test_ruling_matches_members),
		cmocka_unit_test(test_ruling_ignores_words),
		cmocka_unit_test(test_ruling_finds_the_subcommand),
		cmocka_unit_test(test_ruling_follows_cdpath_of_the_request),
		cmocka_unit_test(test_ruling_sees_options_that_are_off),
		cmocka_unit_test(test_ruling_follows_links_of_directories),
		cmocka_unit_test(test_ruling_follows_links_of_processes),
		cmocka_unit_test(test_ruling_follows_links_that_change),
		cmocka_unit_test(test_ruling_knows_a_program_by_any_path),
		cmocka_unit_test(test_ruling_looks_once_for_a_program),
		cmocka_unit_test(test_ruling_stops_where_the_budget_ends),
		cmocka_unit_test(test_ruling_excepts_no_other_path),
		cmocka_unit_test(test_ruling_matches_text),
		cmocka_unit_test(test_ruling_searches_long_texts),
		cmocka_unit_test(test_ruling_packs_do_not_guess),
		cmocka_unit_test(test_ruling_order),
		cmocka_unit_test(test_ruling_names_all_that_decide),
		cmocka_unit_test(test_ruling_joins),
		cmocka_unit_test(test_ruling_joins_as_many_as_are_named),
		cmocka_unit_test(test_ruling_exception_covers_what_it_names),
		cmocka_unit_test(test_ruling_exception_in_plain_texts_only),
		cmocka_unit_test(test_ruling_exception_and_clusters),
		cmocka_unit_test(test_ruling_exception_stays_in_its_directory),
		cmocka_unit_test(test_ruling_exception_and_the_request),
		cmocka_unit_test(test_ruling_exception_needs_an_installed_program),
		cmocka_unit_test(test_ruling_holds_on_its_last_day),
		cmocka_unit_test(test_ruling_refuses_bad_rules),
		cmocka_unit_test(test_ruling_bounds_lists_and_texts),
		cmocka_unit_test(test_ruling_refuses_bad_packs),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
