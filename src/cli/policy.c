/*
 * Both actions collect the JSON that --json prints; the text is made from it. explain asks the gate
 * of a server that starts here, as `procpen check` does, and looks at how each rule stands.
 */
#include "cli/policy.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cap/command.h"
#include "cap/judge.h"
#include "cap/run_limits.h"
#include "cli/answer.h"
#include "cli/options.h"
#include "cli/say.h"
#include "policy/tier.h"
#include "server/context.h"

struct policy_args {
	const struct cli_command *command;
	struct options options;
};

static void cli_policy_print_member(const char *before, const json_t *object, const char *name)
{
	const char *text = json_get_str(object, name, NULL);

	if (!text)
		return;
	fputs(before, stdout);
	say_text(stdout, text);
}

static void cli_policy_print_line(const char *before, const json_t *object, const char *name)
{
	cli_policy_print_member(before, object, name);
	if (json_get_str(object, name, NULL))
		putchar('\n');
}

/* A line of each of the strings in the member @name. */
static void cli_policy_print_list(const char *before, const json_t *object, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(object, name), i, one) {
		fputs(i ? ", " : before, stdout);
		say_text(stdout, json_string_value(one));
	}
	if (i)
		putchar('\n');
}

/* ---- test ---- */

static size_t cli_policy_count(const char **list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

static json_t *cli_policy_test_rule(const struct rule *r)
{
	ERR_LOCAL(e);
	bool passed = !ruleset_test_rule(r, &e);
	json_t *row = json_pack("{s:s, s:o, s:s, s:b, s:I, s:I}", "rule", r->id, "from",
				say_json_string(r->origin), "decision",
				rule_decision_name(r->decision), "passed", passed, "examples",
				(json_int_t)cli_policy_count(r->examples),
				"counterexamples",
				(json_int_t)cli_policy_count(r->counterexamples));

	if (!passed)
		json_object_set_new(row, "message", say_json_string(e.message));
	err_release(&e);
	return row;
}

static int cli_policy_test_set(const struct ruleset *set, json_t *rows)
{
	int failed = 0;

	for (size_t i = 0; i < set->count; i++) {
		json_array_append_new(rows, cli_policy_test_rule(&set->list[i]));
		failed += !json_get_bool(json_array_get(rows, json_array_size(rows) - 1), "passed",
					 false);
	}
	return failed;
}

static void cli_policy_add_text(void *list, const char *text)
{
	json_array_append_new(list, say_json_string(text));
}

static void cli_policy_print_tests(const json_t *document)
{
	json_t *row, *note;
	size_t i, k;

	json_array_foreach(json_object_get(document, "rules"), i, row) {
		bool passed = json_get_bool(row, "passed", false);

		printf("%-5s %-8s %-24s %lld + %lld", passed ? "ok" : "FAIL",
		       json_get_str(row, "decision", ""), json_get_str(row, "rule", ""),
		       (long long)json_get_int(row, "examples", 0),
		       (long long)json_get_int(row, "counterexamples", 0));
		cli_policy_print_member("  ", row, "from");
		cli_policy_print_member("\n      ", row, "message");
		putchar('\n');
	}
	json_array_foreach(json_object_get(document, "notes"), k, note) {
		fputs("note  ", stdout);
		say_text(stdout, json_string_value(note));
		putchar('\n');
	}
	printf("%zu rules, %lld failed\n", i, (long long)json_get_int(document, "failed", 0));
}

/* Of the configuration in force, or of the one @file alone. */
static int cli_policy_load(struct policy_args *a, const char *file, struct rulebook *book)
{
	struct config *c = &a->options.context.config;
	struct config_files files = { 0 };
	ERR_LOCAL(e);
	int failed;

	c->rules.untested = true;
	failed = (file ? config_load_file(c, file, &files, &e)
		       : config_load(c, a->options.context.config_file, &files, &e)) ||
		 rulebook_open(book, c, &e);
	if (failed)
		answer_fail(a->command, a->options.json, &e);
	err_release(&e);
	config_files_release(&files);
	return failed;
}

static int cli_policy_test(struct policy_args *a, char **words)
{
	struct rulebook book = { .own = NULL };
	json_t *rows, *notes, *document;
	int failed = 0;

	if (words[0] && words[1])
		return say_mistake(a->command, "test takes one file at most");
	if (cli_policy_load(a, words[0], &book)) {
		rulebook_release(&book);
		return EXIT_FAILURE;
	}
	rows = json_array();
	notes = json_array();
	failed = cli_policy_test_set(book.own, rows);
	for (size_t i = 0; i < book.pack_count; i++)
		failed += cli_policy_test_set(&book.packs[i].rules, rows);
	rulebook_each_idle(&book, &a->options.context.config, cli_policy_add_text, notes);
	document = json_pack("{s:i, s:o, s:o}", "failed", failed, "rules", rows, "notes", notes);
	if (a->options.json)
		say_json(document);
	else
		cli_policy_print_tests(document);
	json_decref(document);
	rulebook_release(&book);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- explain: what is collected ---- */

static const char *cli_policy_fit(const struct ruling_look *look)
{
	if (rule_is_over(look->rule))
		return "its last day is over";
	switch (look->fit) {
	case RULE_OTHER_WORDS:
		return "other words";
	case RULE_OTHER_DIRECTORY:
		return "another directory";
	case RULE_MAY_FIT:
		return look->lacks ? look->lacks : "matches: not all of it is known";
	case RULE_FITS_MORE:
	case RULE_FITS:
		return look->lacks ? look->lacks : "matches";
	case RULE_OTHER_PROGRAM:
		break;
	}
	return "another program";
}

/* A ruling_look_fn: each command, and below it the rules on its program. */
static void cli_policy_on_look(void *commands, const struct ruling_look *look)
{
	size_t count = json_array_size(commands);
	const struct rule *r = look->rule;
	char shown[RULING_SHOWN_MAX];
	json_t *row;

	if (!r) {
		ruling_show(look->run, shown, sizeof(shown));
		json_array_append_new(commands, json_pack("{s:s, s:[]}", "command", shown,
							  "rules"));
		return;
	}
	row = json_pack("{s:s, s:s?, s:o, s:s, s:b, s:s}", "rule", r->id, "pack", look->pack,
			"from", say_json_string(r->origin), "decision",
			rule_decision_name(r->decision), "counts",
			look->fit >= RULE_MAY_FIT && !look->lacks, "why", cli_policy_fit(look));
	json_array_append_new(json_object_get(json_array_get(commands, count - 1), "rules"), row);
}

/* The layers that a run would have, or why none could start here. */
static void cli_policy_add_layers(struct cap *cap, json_t *document)
{
	const struct err *why = cap->no_workspace;
	ERR_LOCAL(e);
	struct confine_request nothing;
	struct confine_applied usual;
	json_t *layers = json_array();

	if (!why && confine_prepare(cap->confine, &e))
		why = &e;
	if (!why) {
		run_limits_usual(cap->config, &nothing);
		confine_usual(cap->confine, &nothing, &usual);
		confine_each_applied(cap->confine, &usual, cli_policy_add_text, layers);
	}
	json_object_set_new(document, "layers", layers);
	json_object_set_new(document, "no_layers",
			    why ? say_json_string(why->message) : json_null());
	err_release(&e);
}

/* The members of is_blocked. */
static void cli_policy_add_verdict(const struct blocklist_verdict *v, const struct ruling *ruling,
				   json_t *document)
{
	struct jsonw w;
	struct buf out;
	json_t *verdict;

	buf_init(&out, 1u << 20);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	judge_write(&w, v, ruling, NULL);
	jsonw_end_object(&w);
	verdict = json_loadb(out.data, out.len, 0, NULL);
	json_object_update(document, verdict);
	json_decref(verdict);
	buf_release(&out);
}

/* ---- explain: the text ---- */

static void cli_policy_print_rule(const json_t *row)
{
	printf("  %-8s %-24s ", json_get_str(row, "decision", ""), json_get_str(row, "rule", ""));
	cli_policy_print_member("", row, "why");
	cli_policy_print_member("  (", row, "from");
	puts(")");
}

/* A pack has dozens of rules on one program: those that do not match are only counted. */
static void cli_policy_print_rules(const json_t *rules)
{
	size_t i, others = 0;
	json_t *row;

	json_array_foreach(rules, i, row) {
		if (json_get_str(row, "pack", NULL) && !json_get_bool(row, "counts", false))
			others++;
		else
			cli_policy_print_rule(row);
	}
	if (others)
		printf("  %zu other rule%s of packs on this program\n", others,
		       others == 1 ? "" : "s");
}

static void cli_policy_print_commands(const json_t *document)
{
	json_t *command;
	size_t i;

	json_array_foreach(json_object_get(document, "commands"), i, command) {
		cli_policy_print_member("", command, "command");
		putchar('\n');
		cli_policy_print_rules(json_object_get(command, "rules"));
	}
}

static void cli_policy_print_explanation(const json_t *document)
{
	cli_policy_print_commands(document);
	cli_policy_print_member("decision: ", document, "decision");
	if (json_get_str(document, "rule", NULL)) {
		cli_policy_print_member(", by rule ", document, "rule");
		cli_policy_print_member(" of pack ", document, "pack");
	} else {
		fputs(", by the tier", stdout);
	}
	putchar('\n');
	cli_policy_print_line("why: ", document, "block_reason");
	cli_policy_print_line("instead: ", document, "suggestion");
	cli_policy_print_line("tier of process.run: ", document, "tier");
	cli_policy_print_list("layers: ", document, "layers");
	cli_policy_print_line("layers: none, no command could start: ", document, "no_layers");
}

/* ---- explain ---- */

static int cli_policy_explain_in(const struct policy_args *a, struct cap *cap, json_t *params)
{
	enum tier tier = cap_tier(cap, cap_find(cap, "process.run"));
	json_t *commands = json_array();
	json_t *document = json_pack("{s:o, s:s}", "commands", commands, "tier",
				     tier_name(tier));
	const struct ruling_watch watch = { .on_look = cli_policy_on_look, .ctx = commands };
	struct blocklist_verdict v;
	struct blocklist_input in;
	struct command command;
	struct ruling ruling;
	ERR_LOCAL(e);

	if (command_read(&command, params, cap->scope, &e)) {
		say_mistake(a->command, "%s", e.message);
		err_release(&e);
	} else {
		command_judge(&command, cap->config, cap->shell, &in);
		judge_command(cap, tier, params, &in, &watch, &v, &ruling);
		cli_policy_add_verdict(&v, &ruling, document);
		cli_policy_add_layers(cap, document);
		if (a->options.json)
			say_json(document);
		else
			cli_policy_print_explanation(document);
	}
	command_release(&command);
	json_decref(document);
	return EXIT_SUCCESS;
}

static int cli_policy_explain(struct policy_args *a, char **words)
{
	struct context context = { .state_dir = NULL };
	ERR_LOCAL(e);
	int status = EXIT_FAILURE;
	json_t *params;

	if (!words[0] || !*words[0])
		return say_mistake(a->command, "no command is given");
	if (words[1])
		return say_mistake(a->command,
				   "more than one word: quote the command as one string");
	a->options.context.may_lack_workspace = a->options.context.only_judges = true;
	params = json_object();
	json_object_set_new_nocheck(params, "command", json_string_nocheck(words[0]));
	if (context_open(&context, &a->options.context, &e)) {
		answer_fail(a->command, a->options.json, &e);
	} else {
		struct cap cap = context_cap(&context, NULL, NULL);

		status = cli_policy_explain_in(a, &cap, params);
	}
	err_release(&e);
	json_decref(params);
	context_close(&context);
	return status;
}

/* ---- the command line ---- */

static int cli_policy_act(struct policy_args *a, char **words)
{
	static const char *const names[] = { "test", "explain", NULL };

	if (!words[0])
		return say_mistake(a->command, "what to do is not given: test or explain");
	if (!strcmp(words[0], "test"))
		return cli_policy_test(a, words + 1);
	if (!strcmp(words[0], "explain"))
		return cli_policy_explain(a, words + 1);
	return say_unknown(a->command, "action", words[0], names);
}

int cli_policy(const struct cli_command *command, char **argv)
{
	struct policy_args a = { .command = command };
	struct cmdline given;
	int status;

	options_init(&a.options);
	status = cmdline_read(&given, command, argv, options_take, &a.options);
	if (status == CMDLINE_GO_ON)
		status = cli_policy_act(&a, given.words);
	options_release(&a.options);
	return say_flush(command) ? EXIT_FAILURE : status;
}
