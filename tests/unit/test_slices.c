#include "unit.h"

#include <unistd.h>

#include "base/clock.h"
#include "cap/slices.h"

#define JOBS 100

static struct ev_loop *loop;

struct short_job {
	struct slices_job job;
	unsigned turn; /* of the loop in which it worked */
};

static bool work_once(void *data, int64_t until_us)
{
	(void)until_us;
	((struct short_job *)data)->turn = ev_iteration(loop);
	return false;
}

/* Short jobs need not wait for a turn each. */
static void test_slices_share_a_turn(void **state)
{
	static struct short_job jobs[JOBS];
	struct slices s = { 0 };

	(void)state;
	loop = loop_new();
	for (int i = 0; i < JOBS; i++) {
		jobs[i] = (struct short_job){ .job = { .work = work_once, .data = &jobs[i] } };
		slices_add(&s, loop, &jobs[i].job);
	}
	ev_run(loop, 0); /* ends when nothing is left */
	assert_in_range(jobs[JOBS - 1].turn - jobs[0].turn, 0, JOBS / 2);
	assert_null(s.first);
	loop_free(loop);
}

/* A job that always has more to do; a request comes while it works. */
struct long_job {
	struct slices_job job;
	ev_io io;
	int to;
	int slices, before_request; /* of that, when the request was handled */
};

static bool work_on(void *data, int64_t until_us)
{
	struct long_job *j = data;

	if (!j->slices++)
		assert_int_equal(write(j->to, "x", 1), 1);
	while (clock_mono_us() < until_us)
		;
	return true;
}

static void on_request(struct ev_loop *l, ev_io *io, int events)
{
	struct long_job *j = io->data;

	(void)events;
	j->before_request = j->slices;
	ev_io_stop(l, io);
	slices_drop(&j->job);
}

/* It is handled behind the slice in which it came, not behind one more. */
static void test_slices_go_behind_requests(void **state)
{
	struct long_job j = { .job = { .work = work_on, .data = &j } };
	struct slices s = { 0 };
	int p[2];

	(void)state;
	loop = loop_new();
	assert_int_equal(pipe(p), 0);
	ev_io_init(&j.io, on_request, p[0], EV_READ);
	j.io.data = &j;
	j.to = p[1];
	ev_io_start(loop, &j.io);
	slices_add(&s, loop, &j.job);
	ev_run(loop, 0);
	assert_int_equal(j.before_request, 1);
	slices_drop(&j.job); /* it is in no queue */
	loop_free(loop);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices_share_a_turn),
		cmocka_unit_test(test_slices_go_behind_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
