#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "rpc/plain.h"
#include "rpc/rpc.h"
#include "wire_end.h"

#define V "{\"jsonrpc\":\"2.0\"," /* how every good message starts here */

struct fixture {
	struct wire_end w;
	struct reqtab *reqs;
	struct dialect plain;
	struct rpc rpc;
	struct buf seen; /* what was routed: "method(id)" or "answer" each */
};

/* Answers "echo" with {} at once; leaves "wait" open; everything else is only seen. */
static void route(void *ctx, struct rpc_message *m)
{
	struct fixture *f = ctx;
	struct req *r;

	buf_addf(&f->seen, "%s(%.*s) ", m->method ? m->method : "answer",
		 m->id ? (int)m->id_len : 1, m->id ? m->id : "-");
	if (!m->method || !m->id)
		return;
	r = rpc_request(f->reqs, &f->plain, m);
	if (!r || !strcmp(m->method, "wait"))
		return;
	req_result(r);
	req_ok(r);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	wire_end_open(&f->w, 1 << 20);
	f->reqs = reqtab_new(f->w.loop, &f->w.out, 100);
	f->plain = plain_dialect(NULL);
	f->rpc = (struct rpc){ .reqs = f->reqs, .route = route, .ctx = f };
	buf_init(&f->seen, 1 << 20);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	rpc_release(&f->rpc);
	reqtab_free(f->reqs);
	wire_end_close(&f->w);
	buf_release(&f->seen);
	free(f);
	return 0;
}

static void say(struct fixture *f, const char *line)
{
	rpc_line(&f->rpc, line, strlen(line));
	while (rpc_more(&f->rpc))
		;
}

/* @line is answered with an error of @code and the id @id (raw token). */
static void check_error(struct fixture *f, const char *line, int code, const char *id)
{
	char wanted[1200];
	const char *answer;

	say(f, line);
	answer = wire_end_line(&f->w);
	assert_non_null(answer);
	snprintf(wanted, sizeof(wanted), V "\"id\":%s,\"error\":{\"code\":%d,",
		 id, code);
	if (strncmp(answer, wanted, strlen(wanted)))
		fail_msg("%s\n answered with %s\n wanted        %s", line, answer, wanted);
	assert_null(wire_end_line(&f->w));
}

static void check_silent(struct fixture *f, const char *line)
{
	const char *answer;

	say(f, line);
	answer = wire_end_line(&f->w);
	if (answer)
		fail_msg("%s\n answered with %s", line, answer);
}

static void test_rpc_echoes_every_legal_id_as_it_came(void **state)
{
	static const char *const ids[] = {
		"0", "-0", "\"\"", "1.0", "1e2", "9007199254740993", "-9223372036854775808",
		"\"\\u0061\"", "\"\\u0000\"", "\"\xc3\xa4\"", "1E300",
	};
	struct fixture *f = *state;
	char line[200], wanted[200];

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		snprintf(line, sizeof(line), V "\"id\" : %s ,\"method\":\"echo\"}", ids[i]);
		snprintf(wanted, sizeof(wanted), V "\"id\":%s,\"result\":{}}",
			 ids[i]);
		say(f, line);
		assert_string_equal(wire_end_line(&f->w), wanted);
	}
}

static void test_rpc_illegal_ids_are_answered_with_null(void **state)
{
	static const char *const ids[] = { "null", "1.5", "true", "{}", "[]", "1e-1" };
	struct fixture *f = *state;
	char line[2000];

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		snprintf(line, sizeof(line), V "\"id\":%s,\"method\":\"echo\"}",
			 ids[i]);
		check_error(f, line, -32600, "null");
	}
	snprintf(line, sizeof(line), V "\"id\":\"%01023d\",\"method\":\"echo\"}",
		 0);
	check_error(f, line, -32600, "null");
	assert_int_equal(f->seen.len, 0);
}

static size_t asked; /* bytes that jansson asked for */

static void *count_bytes(size_t size)
{
	asked += size;
	return malloc(size);
}

/* The id may be what has too many values: it is not parsed for its own sake, after those. */
static void test_rpc_parses_no_id_of_too_many_values(void **state)
{
	json_malloc_t usual;
	json_free_t usual_free;
	struct buf line;

	buf_init(&line, 1 << 20);
	buf_adds(&line, V "\"method\":\"echo\",\"id\":[");
	for (int i = 0; i < 4 * JSON_VALUES_MAX; i++)
		buf_adds(&line, "{},");
	buf_adds(&line, "{}]}");
	json_get_alloc_funcs(&usual, &usual_free);
	json_set_alloc_funcs(count_bytes, free);
	asked = 0;
	check_error(*state, line.data, -32600, "null");
	json_set_alloc_funcs(usual, usual_free);
	assert_in_range(asked, 0, JSON_VALUES_MAX * 256);
	buf_release(&line);
}

static void test_rpc_malformed_text_is_a_parse_error(void **state)
{
	static const char *const lines[] = {
		"{", "nope", "{\"a\":1,}", V "\"id\":1,\"method\":\"echo\"} x",
		V "\"id\":1,\"method\":\"\xff\"}", "[1", "'a'", "NaN",
		"{\"id\":1,\"id\":1", "\"\\ud800",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		check_error(f, lines[i], -32700, "null");
}

static void test_rpc_nesting_is_limited(void **state)
{
	struct fixture *f = *state;
	char line[400];
	int at = snprintf(line, sizeof(line), V "\"id\":1,\"method\":\"echo\","
					      "\"params\":");

	memset(line + at, '[', 63);
	memset(line + at + 63, ']', 63);
	strcpy(line + at + 126, "}");
	say(f, line);
	assert_string_equal(wire_end_line(&f->w), V "\"id\":1,\"result\":{}}");
	memset(line + at, '[', 64);
	memset(line + at + 64, ']', 64);
	strcpy(line + at + 128, "}");
	check_error(f, line, -32700, "null");
}

static void test_rpc_refused_json_echoes_an_unambiguous_id(void **state)
{
	struct fixture *f = *state;

	check_error(f, V "\"id\":3,\"method\":\"a\",\"method\":\"b\"}", -32600, "3");
	check_error(f, V "\"id\":3,\"method\":\"a\",\"params\":{\"x\":1,\"x\":2}}",
		    -32600, "3");
	check_error(f, V "\"id\":3,\"id\":4,\"method\":\"a\"}", -32600, "null");
	check_error(f, V "\"id\":3,\"i\\u0064\":4,\"method\":\"a\"}", -32600,
		    "null");
	check_error(f, V "\"id\":1.5,\"id\":1.5,\"method\":\"a\"}", -32600, "null");
	check_error(f, V "\"id\":99999999999999999999,\"method\":\"a\"}", -32600,
		    "null");
	check_error(f, "[" V "\"id\":1,\"id\":1,\"method\":\"a\"}]", -32600, "null");
	assert_int_equal(f->seen.len, 0);
}

static void test_rpc_invalid_messages(void **state)
{
	struct fixture *f = *state;

	check_error(f, "1", -32600, "null");
	check_error(f, "\"x\"", -32600, "null");
	check_error(f, "{}", -32600, "null");
	check_error(f, V "\"id\":1}", -32600, "1");
	check_error(f, "{\"id\":1,\"method\":\"echo\"}", -32600, "1");
	check_error(f, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"echo\"}", -32600, "1");
	check_error(f, "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"echo\"}", -32600, "1");
	check_error(f, V "\"id\":1,\"method\":5}", -32600, "1");
	check_error(f, V "\"method\":5}", -32600, "null");
	check_error(f, V "\"id\":1,\"method\":\"echo\\u0000\"}", -32600, "1");
	check_error(f, V "\"id\":1,\"method\":\"echo\",\"params\":true}", -32600, "1");
	check_error(f, V "\"id\":1,\"method\":\"echo\",\"params\":\"x\"}", -32600,
		    "1");
	assert_int_equal(f->seen.len, 0);
}

static void test_rpc_notifications_and_answers_are_never_answered(void **state)
{
	struct fixture *f = *state;

	check_silent(f, V "\"method\":\"echo\"}");
	check_silent(f, V "\"method\":\"echo\",\"params\":3}");
	check_silent(f, V "\"id\":1,\"result\":{}}");
	check_silent(f, V "\"id\":null,\"error\":{}}");
	check_silent(f, "{\"error\":{}}");
	assert_string_equal(f->seen.data, "echo(-) answer(-) answer(-) answer(-) ");
}

static void test_rpc_same_id_in_flight(void **state)
{
	struct fixture *f = *state;

	check_silent(f, V "\"id\":1,\"method\":\"wait\"}");
	check_error(f, V "\"id\":1,\"method\":\"echo\"}", -32600, "null");
	say(f, V "\"id\":\"1\",\"method\":\"echo\"}");
	assert_string_equal(wire_end_line(&f->w),
			    V "\"id\":\"1\",\"result\":{}}");
}

/* Its members may be many, and requests wait. */
static void test_rpc_only_params_of_a_waiting_message_stay(void **state)
{
	struct fixture *f = *state;
	struct req *r;

	say(f, V "\"more\":[1],\"id\":1,\"method\":\"wait\",\"params\":{\"a\":2},\"most\":{}}");
	say(f, V "\"id\":2,\"method\":\"wait\",\"more\":3}");
	r = reqtab_first(f->reqs);
	assert_int_equal(json_object_size(r->root), 1);
	assert_int_equal(json_object_size(json_object_get(r->root, "params")), 1);
	assert_int_equal(json_object_size(r->next->root), 0);
}

static void test_rpc_byte_order_mark_is_tolerated(void **state)
{
	struct fixture *f = *state;

	say(f, "\xef\xbb\xbf" V "\"id\":1,\"method\":\"echo\"}");
	assert_string_equal(wire_end_line(&f->w), V "\"id\":1,\"result\":{}}");
	say(f, "\xef\xbb\xbf[" V "\"id\":2,\"method\":\"echo\"}]");
	assert_string_equal(wire_end_line(&f->w), "[" V "\"id\":2,\"result\":{}}]");
}

static void test_rpc_batch_is_answered_by_one_array(void **state)
{
	struct fixture *f = *state;

	say(f, " [ " V "\"id\":1,\"method\":\"echo\"} ,"
	       V "\"method\":\"note\"},"
	       V "\"id\":\"b\",\"method\":\"echo\"},"
	       V "\"id\":9,\"result\":1}]");
	assert_string_equal(wire_end_line(&f->w), "[" V "\"id\":1,\"result\":{}},"
						  V "\"id\":\"b\",\"result\":{}}]");
	assert_string_equal(f->seen.data, "echo(1) note(-) echo(\"b\") answer(-) ");
	check_silent(f, "[" V "\"method\":\"note\"}]");
}

static void test_rpc_batch_elements_are_checked_one_by_one(void **state)
{
	struct fixture *f = *state;
	json_t *answers;

	say(f, "[1,[]," V "\"id\":1,\"method\":\"echo\"},{\"id\":2}]");
	answers = json_loads(wire_end_line(&f->w), 0, NULL);
	assert_int_equal(json_array_size(answers), 4);
	assert_true(json_is_null(json_object_get(json_array_get(answers, 0), "id")));
	assert_true(json_is_null(json_object_get(json_array_get(answers, 1), "id")));
	assert_non_null(json_object_get(json_array_get(answers, 2), "result"));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(answers, 3), "id")), 2);
	json_decref(answers);
}

static void test_rpc_batch_size_is_limited(void **state)
{
	struct fixture *f = *state;
	struct buf line;
	json_t *answers;

	check_error(f, "[]", -32600, "null");
	buf_init(&line, 1 << 20);
	for (int i = 0; i < 1000; i++)
		buf_adds(&line, i ? ",1" : "[1");
	buf_adds(&line, ",1]");
	check_error(f, line.data, -32600, "null");
	buf_truncate(&line, line.len - 3);
	buf_adds(&line, "]");
	f->rpc.garbage = 0;
	say(f, line.data); /* taken; its elements are refused until there were too many in a row */
	answers = json_loads(wire_end_line(&f->w), 0, NULL);
	assert_int_equal(json_array_size(answers), RPC_GARBAGE_MAX);
	json_decref(answers);
	buf_release(&line);
}

/* Between two elements the owner can do something else. */
static void test_rpc_batch_goes_element_by_element(void **state)
{
	static const char line[] = "[" V "\"id\":1,\"method\":\"echo\"},"
				   V "\"id\":2,\"method\":\"echo\"}]";
	struct fixture *f = *state;

	rpc_line(&f->rpc, line, strlen(line));
	assert_int_equal(f->seen.len, 0);
	assert_true(rpc_more(&f->rpc));
	assert_string_equal(f->seen.data, "echo(1) ");
	assert_false(rpc_more(&f->rpc));
	assert_string_equal(f->seen.data, "echo(1) echo(2) ");
	assert_false(rpc_more(&f->rpc));
	assert_non_null(wire_end_line(&f->w));
	rpc_line(&f->rpc, line, strlen(line)); /* left unfinished: freed by rpc_release() */
	rpc_more(&f->rpc);
}

static void test_rpc_too_long_line(void **state)
{
	struct fixture *f = *state;

	rpc_too_long(&f->rpc, 4096);
	assert_non_null(strstr(wire_end_line(&f->w), "\"id\":null,\"error\":{\"code\":-32700"));
}

static void test_rpc_error_data_is_complete(void **state)
{
	struct fixture *f = *state;
	const json_t *data;
	json_t *answer;

	say(f, "{");
	answer = json_loads(wire_end_line(&f->w), 0, NULL);
	data = json_object_get(json_object_get(answer, "error"), "data");
	assert_string_equal(json_string_value(json_object_get(data, "type")), "ParseError");
	assert_true(json_string_length(json_object_get(data, "hint")) > 0);
	assert_true(json_is_boolean(json_object_get(data, "retryable")));
	assert_true(json_is_object(json_object_get(data, "details")));
	json_decref(answer);
}

/* What a type recommends is no help where something ran out. */
static void test_rpc_actions_of_a_shortage(void **state)
{
	ERR_LOCAL(e);
	struct buf line;

	(void)state;
	buf_init(&line, SIZE_MAX);
	err_sys(&e, ERR_SPAWN_FAILED, EACCES, "not started");
	rpc_write_error(&line, NULL, 0, &e, NULL, NULL);
	buf_add(&line, "", 1);
	assert_non_null(strstr(line.data, "\"actions\":[{\"name\":\"check_permissions\""));
	buf_release(&line);
	err_sys(&e, ERR_SPAWN_FAILED, EMFILE, "not started");
	rpc_write_error(&line, NULL, 0, &e, NULL, NULL);
	buf_add(&line, "", 1);
	assert_non_null(strstr(line.data, "\"actions\":[{\"name\":\"retry\""));
	assert_null(strstr(line.data, "check_permissions"));
	buf_release(&line);
	err_release(&e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rpc_echoes_every_legal_id_as_it_came),
		TEST(test_rpc_illegal_ids_are_answered_with_null),
		TEST(test_rpc_parses_no_id_of_too_many_values),
		TEST(test_rpc_malformed_text_is_a_parse_error),
		TEST(test_rpc_nesting_is_limited),
		TEST(test_rpc_refused_json_echoes_an_unambiguous_id),
		TEST(test_rpc_invalid_messages),
		TEST(test_rpc_notifications_and_answers_are_never_answered),
		TEST(test_rpc_same_id_in_flight),
		TEST(test_rpc_only_params_of_a_waiting_message_stay),
		TEST(test_rpc_byte_order_mark_is_tolerated),
		TEST(test_rpc_batch_is_answered_by_one_array),
		TEST(test_rpc_batch_elements_are_checked_one_by_one),
		TEST(test_rpc_batch_size_is_limited),
		TEST(test_rpc_batch_goes_element_by_element),
		TEST(test_rpc_too_long_line),
		TEST(test_rpc_error_data_is_complete),
		cmocka_unit_test(test_rpc_actions_of_a_shortage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
