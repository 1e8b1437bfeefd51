#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "rpc/req.h"
#include "wire_end.h"

static void write_ok(const struct req *r, struct result *result, struct buf *line)
{
	buf_addf(line, "ok %s %s", r->id, result->json.data);
}

static void write_fail(const struct req *r, const struct err *e, const struct result *partial,
		       struct buf *line)
{
	buf_addf(line, "fail %s %s%s", r->id, err_rows[e->type].name,
		 partial ? partial->json.data : "");
}

static const struct dialect speaking = {
	.page_bytes = 1000, .text_bytes = 800, .ok = write_ok, .fail = write_fail,
};
static const struct dialect silent = {
	.silent_cancel = true, .ok = write_ok, .fail = write_fail,
};

static int ended, freed, called;
static uint64_t last_ended;
static struct outq *queue;
static uint64_t sent_when_ended, sent_when_freed;

static void on_end(void *ctx, uint64_t handle)
{
	(void)ctx;
	ended++;
	last_ended = handle;
	sent_when_ended = queue->written;
}

static void on_free(void *task)
{
	assert_ptr_equal(task, &freed);
	freed++;
	sent_when_freed = queue->written;
}

static struct reqtab *open_table(struct wire_end *w, int max)
{
	struct reqtab *t;

	wire_end_open(w, 1 << 20);
	t = reqtab_new(w->loop, &w->out, max);
	reqtab_on_end(t, on_end, NULL);
	queue = &w->out;
	ended = freed = called = 0;
	return t;
}

static void close_table(struct wire_end *w, struct reqtab *t)
{
	reqtab_free(t);
	wire_end_close(w);
}

static struct req *add(struct reqtab *t, const struct dialect *d, const char *id,
		       struct req_batch *batch)
{
	ERR_LOCAL(e);
	struct req *r = req_new(t, d, id, strlen(id), json_object(), batch, &e);

	assert_non_null(r);
	return r;
}

static void answer(struct req *r)
{
	req_result(r);
	req_ok(r);
}

static void refuse(struct req *r)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_PROCESS_NOT_FOUND, "none");
	err_detail(&e, "x", json_true());
	req_fail(r, &e);
	assert_null(e.details);
}

static void test_req_is_answered_once_and_gone(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add(t, &speaking, "\"a\"", NULL);
	uint64_t handle = r->handle;

	(void)state;
	r->task = &freed;
	r->task_free = on_free;
	assert_ptr_equal(req_find(t, handle), r);
	assert_ptr_equal(req_find_id(t, "\"a\" and more", 3), r);
	assert_int_equal(reqtab_count(t), 1);
	answer(r);
	assert_string_equal(wire_end_line(&w), "ok \"a\" {}");
	assert_null(req_find(t, handle));
	assert_null(req_find_id(t, "\"a\"", 3));
	assert_int_equal(reqtab_count(t), 0);
	assert_int_equal(freed, 1);
	assert_int_equal(ended, 1);
	assert_int_equal(last_ended, handle);
	assert_int_equal(sent_when_ended, 0);
	assert_int_equal(sent_when_freed, strlen("ok \"a\" {}\n"));
	close_table(&w, t);
}

static void test_req_fails_in_its_dialect(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);

	(void)state;
	refuse(add(t, &speaking, "7", NULL));
	assert_string_equal(wire_end_line(&w), "fail 7 ProcessNotFound");
	close_table(&w, t);
}

static void test_req_same_id_in_flight_is_refused(void **state)
{
	ERR_LOCAL(e);
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add(t, &speaking, "1", NULL);

	(void)state;
	assert_null(req_new(t, &speaking, "1", 1, json_pack("{si}", "id", 1), NULL, &e));
	assert_int_equal(e.type, ERR_INVALID_REQUEST);
	assert_int_equal(json_integer_value(json_object_get(e.details, "id")), 1);
	err_release(&e);
	add(t, &speaking, "\"1\"", NULL);
	add(t, &speaking, "11", NULL);
	answer(r);
	add(t, &speaking, "1", NULL);
	close_table(&w, t);
}

/* All spellings of an id are one id; 1 and "1" are two. */
static void test_req_ids_are_values(void **state)
{
	static const char *const same[][2] = {
		{ "1", "1.0" }, { "1", "10e-1" }, { "-0", "0" }, { "-0.0", "0" },
		{ "\"a\"", "\"\\u0061\"" }, { "\"/\"", "\"\\/\"" }, { "\"\\n\"", "\"\\u000a\"" },
		{ "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"" }, { "1e300", "10e299" },
	}, *const other[][2] = {
		{ "1", "\"1\"" }, { "\"a\"", "\"a\\u0000\"" }, { "9007199254740993", "9007199254740992" },
		{ "1", "-1" }, { "\"a\"", "\"A\"" },
	};
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	json_t *value;

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		for (int k = 0; k < 2; k++) {
			struct req *r = add(t, &speaking, same[i][k], NULL);

			assert_string_equal(r->id, same[i][k]);
			assert_ptr_equal(req_find_id(t, same[i][!k], strlen(same[i][!k])), r);
			value = json_loads(same[i][!k], JSON_DECODE_ANY, NULL);
			assert_ptr_equal(req_find_value(t, value), r);
			json_decref(value);
			answer(r);
			wire_end_line(&w);
		}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		struct req *r = add(t, &speaking, other[i][0], NULL);

		assert_null(req_find_id(t, other[i][1], strlen(other[i][1])));
		answer(r);
		wire_end_line(&w);
	}
	assert_null(req_find_value(t, NULL));
	close_table(&w, t);
}

/* Each answer of a batch leaves room for an error in the place of those to come. */
static void test_req_batch_is_one_line(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req_batch *b = batch_new(t, 3);

	(void)state;
	assert_true(req_fits(NULL, REQ_LINE_MAX));
	assert_false(req_fits(NULL, REQ_LINE_MAX + 1));
	assert_true(req_fits(b, REQ_LINE_MAX - 2 - 2 * REQ_BATCH_EACH));
	assert_false(req_fits(b, REQ_LINE_MAX - 1 - 2 * REQ_BATCH_EACH));
	batch_add(b, "1", 1);
	assert_true(req_fits(b, REQ_LINE_MAX - 4 - REQ_BATCH_EACH));
	assert_false(req_fits(b, REQ_LINE_MAX - 3 - REQ_BATCH_EACH));
	batch_add(b, NULL, 0);
	batch_add(b, "2", 1);
	assert_string_equal(wire_end_line(&w), "[1,2]");
	close_table(&w, t);
}

static void take(struct req *r, enum req_slot slot)
{
	ERR_LOCAL(e);

	assert_int_equal(req_take_slot(r, slot, &e), 0);
}

static void refuse_slot(struct req *r, enum req_slot slot)
{
	ERR_LOCAL(e);

	assert_true(reqtab_full(r->tab, slot));
	assert_int_equal(req_take_slot(r, slot, &e), -1);
	assert_int_equal(e.type, ERR_LIMIT_REACHED);
	err_release(&e);
}

/* The answer_now hook of a wait: @ctx counts its calls. */
static void end_wait(void *ctx, struct req *r)
{
	++*(int *)ctx;
	answer(r);
}

/* Calls that wait, calls that end something and other calls do not take each other's slots. */
static void test_req_places(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 2);
	struct req *r = add(t, &speaking, "1", NULL);
	char id[16];
	int answered = 0;

	(void)state;
	take(r, REQ_SLOT_WAIT);
	take(r, REQ_SLOT_WAIT); /* it has one */
	take(add(t, &speaking, "2", NULL), REQ_SLOT_WAIT);
	refuse_slot(add(t, &speaking, "3", NULL), REQ_SLOT_WAIT);
	for (int i = 0; i < REQ_SLOT_END_MAX; i++) {
		snprintf(id, sizeof(id), "%d", 100 + i);
		take(add(t, &speaking, id, NULL), REQ_SLOT_END);
		req_find_id(t, id, strlen(id))->answer_now = end_wait;
		req_find_id(t, id, strlen(id))->answer_now_ctx = &answered;
	}
	assert_int_equal(answered, 0);
	take(add(t, &speaking, "4", NULL), REQ_SLOT_END);
	assert_int_equal(answered, 1);
	assert_null(req_find_id(t, "100", 3)); /* the oldest */
	assert_non_null(req_find_id(t, "101", 3));
	take(add(t, &speaking, "5", NULL), REQ_SLOT_NONE);
	answer(r);
	take(req_find_id(t, "3", 1), REQ_SLOT_WAIT);
	refuse_slot(add(t, &speaking, "6", NULL), REQ_SLOT_WAIT);
	close_table(&w, t);
}

static void test_req_list_is_oldest_first_and_survives_removal(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 1000);
	uint64_t handles[600];
	char id[16];
	int seen = 0;

	(void)state;
	for (int i = 0; i < 600; i++) {
		snprintf(id, sizeof(id), "%d", i);
		handles[i] = add(t, &speaking, id, NULL)->handle;
	}
	for (int i = 0; i < 600; i += 3)
		answer(req_find(t, handles[i]));
	answer(req_find(t, handles[598]));
	for (struct req *r = reqtab_first(t); r; r = r->next, seen++)
		assert_ptr_equal(req_find_id(t, r->id, strlen(r->id)), r);
	assert_int_equal(seen, 399);
	assert_string_equal(reqtab_first(t)->id, "1");
	close_table(&w, t);
	assert_int_equal(ended, 600);
}

static void on_cancel(void *ctx, struct req *r)
{
	assert_ptr_equal(ctx, &called);
	called++;
	assert_true(r->cancelled);
}

static struct req *add_cancellable(struct reqtab *t, const struct dialect *d)
{
	struct req *r = add(t, d, "5", NULL);

	r->on_cancel = on_cancel;
	r->on_cancel_ctx = &called;
	return r;
}

static void test_req_cancel_is_answered_where_the_dialect_speaks(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add_cancellable(t, &speaking);

	(void)state;
	req_cancel(r);
	req_cancel(r);
	assert_int_equal(called, 1);
	answer(r);
	assert_string_equal(wire_end_line(&w), "ok 5 {}");
	close_table(&w, t);
}

static void test_req_cancel_is_silent_where_the_dialect_is(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add_cancellable(t, &silent);

	(void)state;
	req_cancel(r);
	assert_int_equal(reqtab_count(t), 1);
	answer(r);
	assert_int_equal(reqtab_count(t), 0);
	r = add_cancellable(t, &silent);
	req_cancel(r);
	refuse(r);
	assert_null(wire_end_line(&w));
	answer(add(t, &silent, "6", NULL));
	assert_string_equal(wire_end_line(&w), "ok 6 {}");
	close_table(&w, t);
}

static void test_req_cancel_without_handler_ends_the_request(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);

	(void)state;
	req_cancel(add(t, &speaking, "1", NULL));
	assert_string_equal(wire_end_line(&w), "fail 1 Cancelled");
	req_cancel(add(t, &silent, "1", NULL));
	assert_null(wire_end_line(&w));
	assert_int_equal(reqtab_count(t), 0);
	close_table(&w, t);
}

static void on_timer(void *ctx, struct req *r)
{
	called++;
	assert_ptr_equal(ctx, &called);
	answer(r);
}

static void test_req_timer_fires_once_and_dies_with_the_request(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add(t, &speaking, "1", NULL);

	(void)state;
	req_timer(r, 1, on_timer, &called);
	req_timer(r, 2, on_timer, &called);
	ev_run(w.loop, 0);
	assert_int_equal(called, 1);
	r = add(t, &speaking, "2", NULL);
	req_timer(r, 1, on_timer, &called);
	answer(r);
	ev_run(w.loop, 0);
	assert_int_equal(called, 1);
	close_table(&w, t);
}

static void test_req_batch_is_one_array_when_all_are_in(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req_batch *b = batch_new(t, 4);
	struct req *r1 = add(t, &speaking, "1", b), *r2 = add(t, &silent, "2", b);
	struct req *r3 = add(t, &speaking, "3", b);

	(void)state;
	assert_int_equal(req_page_bytes(r1), 250);
	assert_int_equal(req_text_bytes(r1), 200);
	answer(r3);
	batch_add(b, NULL, 0);
	req_cancel(r2);
	assert_null(wire_end_line(&w));
	refuse(r1);
	assert_string_equal(wire_end_line(&w), "[ok 3 {},fail 1 ProcessNotFound]");
	close_table(&w, t);
}

static void test_req_batch_without_answers_sends_nothing(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req_batch *b = batch_new(t, 2);

	(void)state;
	reqtab_send(t, b, NULL, 0);
	req_cancel(add(t, &silent, "2", b));
	assert_null(wire_end_line(&w));
	assert_int_equal(w.changes, 0);
	close_table(&w, t);
}

static void write_huge(const struct req *r, struct result *result, struct buf *line)
{
	static const char block[1 << 16];

	(void)r;
	(void)result;
	while (!buf_add(line, block, sizeof(block)))
		;
}

static void test_req_answer_beyond_the_guard_becomes_an_error(void **state)
{
	static const struct dialect huge = { .ok = write_huge, .fail = write_fail };
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req_batch *b = batch_new(t, 1);

	(void)state;
	answer(add(t, &huge, "1", NULL));
	assert_string_equal(wire_end_line(&w), "fail 1 InternalError");
	answer(add(t, &huge, "1", b));
	assert_string_equal(wire_end_line(&w), "[fail 1 InternalError]");
	close_table(&w, t);
}

/* A result that exceeds the guard is cut, so it must not be sent. */
static void test_req_result_beyond_the_guard_becomes_an_error(void **state)
{
	static char text[REQ_LINE_MAX];
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add(t, &speaking, "1", NULL);

	(void)state;
	jsonw_strn(req_result(r), "text", text, sizeof(text));
	req_ok(r);
	assert_string_equal(wire_end_line(&w), "fail 1 InternalError");
	r = add(t, &silent, "2", NULL);
	r->cancelled = true;
	jsonw_strn(req_result(r), "text", text, sizeof(text));
	req_ok(r);
	assert_null(wire_end_line(&w));
	answer(add(t, &speaking, "3", NULL));
	assert_string_equal(wire_end_line(&w), "ok 3 {}");
	close_table(&w, t);
}

/* A failure sends the result that was written for it, or drops the one that was begun. */
static void test_req_failure_with_and_without_a_result(void **state)
{
	struct wire_end w;
	struct reqtab *t = open_table(&w, 10);
	struct req *r = add(t, &speaking, "1", NULL);
	ERR_LOCAL(e);

	(void)state;
	jsonw_int(req_result(r), "n", 1);
	err_set(&e, ERR_RESOURCE_LIMIT_EXCEEDED, "much");
	req_fail_partial(r, &e);
	assert_string_equal(wire_end_line(&w), "fail 1 ResourceLimitExceeded{\"n\":1}");
	r = add(t, &speaking, "2", NULL);
	jsonw_int(req_result(r), "n", 1);
	refuse(r);
	assert_string_equal(wire_end_line(&w), "fail 2 ProcessNotFound");
	answer(add(t, &speaking, "3", NULL));
	assert_string_equal(wire_end_line(&w), "ok 3 {}");
	close_table(&w, t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_req_is_answered_once_and_gone),
		cmocka_unit_test(test_req_fails_in_its_dialect),
		cmocka_unit_test(test_req_same_id_in_flight_is_refused),
		cmocka_unit_test(test_req_ids_are_values),
		cmocka_unit_test(test_req_batch_is_one_line),
		cmocka_unit_test(test_req_places),
		cmocka_unit_test(test_req_list_is_oldest_first_and_survives_removal),
		cmocka_unit_test(test_req_cancel_is_answered_where_the_dialect_speaks),
		cmocka_unit_test(test_req_cancel_is_silent_where_the_dialect_is),
		cmocka_unit_test(test_req_cancel_without_handler_ends_the_request),
		cmocka_unit_test(test_req_timer_fires_once_and_dies_with_the_request),
		cmocka_unit_test(test_req_batch_is_one_array_when_all_are_in),
		cmocka_unit_test(test_req_batch_without_answers_sends_nothing),
		cmocka_unit_test(test_req_answer_beyond_the_guard_becomes_an_error),
		cmocka_unit_test(test_req_result_beyond_the_guard_becomes_an_error),
		cmocka_unit_test(test_req_failure_with_and_without_a_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
