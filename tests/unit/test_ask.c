#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "rpc/ask.h"
#include "rpc/req.h"
#include "wire_end.h"

static int answers;
static uint64_t answered_handle;
static bool had_result;
static char why_not[256];

static void on_answer(void *ctx, uint64_t handle, const json_t *result, const char *why)
{
	assert_ptr_equal(ctx, &answers);
	assert_true((result != NULL) != (why != NULL));
	answers++;
	answered_handle = handle;
	had_result = result;
	snprintf(why_not, sizeof(why_not), "%s", why ? why : "");
}

static struct ask *open_ask(struct wire_end *w)
{
	wire_end_open(w, 1 << 20);
	answers = 0;
	return ask_new(w->loop, &w->out);
}

static void close_ask(struct wire_end *w, struct ask *a)
{
	ask_free(a);
	wire_end_close(w);
}

/* Ask; the question as it was sent, or NULL when it could not be. */
static json_t *question(struct wire_end *w, struct ask *a, int deadline_ms, uint64_t handle)
{
	struct buf params;
	json_t *sent = NULL;

	buf_init(&params, 100);
	buf_adds(&params, "{\"command\":\"x\"}");
	if (!ask_send(a, "capability.confirm", &params, deadline_ms, on_answer, &answers, handle))
		sent = json_loads(wire_end_line(w), 0, NULL);
	buf_release(&params);
	return sent;
}

/* Answer @sent with @member and @value (stolen). */
static void reply(struct ask *a, const json_t *sent, const char *member, json_t *value)
{
	json_t *message = json_pack("{ss sO so}", "jsonrpc", "2.0", "id",
				    json_object_get(sent, "id"), member, value);

	ask_answer(a, message);
	json_decref(message);
}

static void test_ask_is_a_request_with_an_id_of_its_own(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 1000, 1), *two = question(&w, a, 1000, 2);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(one, "jsonrpc")), "2.0");
	assert_string_equal(json_string_value(json_object_get(one, "method")),
			    "capability.confirm");
	assert_non_null(json_object_get(json_object_get(one, "params"), "command"));
	assert_true(json_string_length(json_object_get(one, "id")) >= 16);
	assert_false(json_equal(json_object_get(one, "id"), json_object_get(two, "id")));
	json_decref(one);
	json_decref(two);
	close_ask(&w, a);
	assert_int_equal(answers, 0);
}

static void test_ask_is_settled_once(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 1000, 1), *two = question(&w, a, 1000, 2);

	(void)state;
	reply(a, one, "result", json_object());
	assert_int_equal(answers, 1);
	assert_int_equal(answered_handle, 1);
	assert_true(had_result);
	reply(a, one, "result", json_object());
	assert_int_equal(answers, 1);
	reply(a, two, "result", json_null());
	assert_int_equal(answers, 2);
	assert_int_equal(answered_handle, 2);
	json_decref(one);
	json_decref(two);
	close_ask(&w, a);
}

static void test_ask_error_answer_has_a_reason(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 1000, 1);

	(void)state;
	reply(a, one, "error", json_pack("{si ss}", "code", 1, "message", "not today"));
	assert_int_equal(answers, 1);
	assert_false(had_result);
	assert_non_null(strstr(why_not, "not today"));
	json_decref(one);
	close_ask(&w, a);
}

static void test_ask_answer_with_result_and_error_is_no_result(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 1000, 1);
	json_t *both = json_pack("{sO s{} s{}}", "id", json_object_get(one, "id"), "result",
				 "error");

	(void)state;
	ask_answer(a, both);
	assert_int_equal(answers, 1);
	assert_false(had_result);
	json_decref(both);
	json_decref(one);
	close_ask(&w, a);
}

static void test_ask_forged_answers_are_ignored(void **state)
{
	static const char *const forged[] = {
		"{\"id\":\"ask-0000000000000000\",\"result\":{\"allow\":true}}",
		"{\"id\":1,\"result\":{\"allow\":true}}",
		"{\"id\":null,\"result\":{\"allow\":true}}",
		"{\"result\":{\"allow\":true}}",
		"{\"id\":\"\",\"result\":{\"allow\":true}}",
	};
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 1000, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		json_t *message = json_loads(forged[i], 0, NULL);

		ask_answer(a, message);
		json_decref(message);
	}
	assert_int_equal(answers, 0);
	json_decref(one);
	close_ask(&w, a);
}

static void test_ask_deadline_settles_and_a_late_answer_is_ignored(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 5, 9);

	(void)state;
	ev_run(w.loop, 0);
	assert_int_equal(answers, 1);
	assert_int_equal(answered_handle, 9);
	assert_false(had_result);
	assert_non_null(strstr(why_not, "5 ms"));
	reply(a, one, "result", json_object());
	assert_int_equal(answers, 1);
	json_decref(one);
	close_ask(&w, a);
}

static void test_ask_dropped_question_calls_nothing(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = question(&w, a, 5, 1), *two = question(&w, a, 1000, 2);

	(void)state;
	ask_drop(a, 1);
	ask_drop(a, 77);
	reply(a, one, "result", json_object());
	assert_int_equal(answers, 0);
	reply(a, two, "result", json_object());
	assert_int_equal(answers, 1);
	ev_run(w.loop, 0);
	assert_int_equal(answers, 1);
	json_decref(one);
	json_decref(two);
	close_ask(&w, a);
}

static void test_ask_end_settles_all(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);

	(void)state;
	json_decref(question(&w, a, 1000, 1));
	json_decref(question(&w, a, 1000, 2));
	ask_end(a, "closing");
	assert_int_equal(answers, 2);
	assert_string_equal(why_not, "closing");
	ask_end(a, "closing");
	assert_int_equal(answers, 2);

	/* A start that queued may ask only then. */
	assert_null(question(&w, a, 1000, 3));
	assert_int_equal(answers, 3);
	assert_int_equal(answered_handle, 3);
	assert_string_equal(why_not, "closing");
	close_ask(&w, a);
}

static void test_ask_number_of_questions_is_bounded(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	int asked = 0;
	json_t *sent;

	(void)state;
	while (asked < 5000 && (sent = question(&w, a, 1000, 1))) {
		json_decref(sent);
		asked++;
	}
	assert_int_equal(asked, 4096 + REQ_SLOT_END_MAX);
	ask_drop(a, 1);
	sent = question(&w, a, 1000, 1);
	assert_non_null(sent);
	json_decref(sent);
	close_ask(&w, a);
}

/* MCP withdraws a question whose answer is not wanted any more, but not an answered one. */
static void check_withdrawn(struct wire_end *w, const json_t *sent)
{
	json_t *line = json_loads(wire_end_line(w), 0, NULL);
	const json_t *params = json_object_get(line, "params");

	assert_string_equal(json_string_value(json_object_get(line, "method")),
			    "notifications/cancelled");
	assert_true(json_equal(json_object_get(params, "requestId"), json_object_get(sent, "id")));
	json_decref(line);
}

static json_t *mcp_question(struct wire_end *w, struct ask *a, uint64_t handle)
{
	struct buf params;
	json_t *sent;

	buf_init(&params, 100);
	buf_adds(&params, "{}");
	assert_int_equal(ask_send_mcp(a, "elicitation/create", &params, 60000, on_answer, &answers,
				      handle), 0);
	sent = json_loads(wire_end_line(w), 0, NULL);
	buf_release(&params);
	return sent;
}

static void test_ask_takes_mcp_questions_back(void **state)
{
	struct wire_end w;
	struct ask *a = open_ask(&w);
	json_t *one = mcp_question(&w, a, 1), *two = mcp_question(&w, a, 2), *three;

	(void)state;
	ask_drop(a, 1);
	check_withdrawn(&w, one);
	reply(a, two, "result", json_object());
	assert_int_equal(answers, 1);
	three = mcp_question(&w, a, 3); /* the next line: nothing was taken back before it */
	ask_end(a, "the end");
	check_withdrawn(&w, three);
	assert_int_equal(answers, 2);
	assert_string_equal(why_not, "the end");
	json_decref(one);
	json_decref(two);
	json_decref(three);
	close_ask(&w, a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask_takes_mcp_questions_back),
		cmocka_unit_test(test_ask_is_a_request_with_an_id_of_its_own),
		cmocka_unit_test(test_ask_is_settled_once),
		cmocka_unit_test(test_ask_error_answer_has_a_reason),
		cmocka_unit_test(test_ask_answer_with_result_and_error_is_no_result),
		cmocka_unit_test(test_ask_forged_answers_are_ignored),
		cmocka_unit_test(test_ask_deadline_settles_and_a_late_answer_is_ignored),
		cmocka_unit_test(test_ask_dropped_question_calls_nothing),
		cmocka_unit_test(test_ask_end_settles_all),
		cmocka_unit_test(test_ask_number_of_questions_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
