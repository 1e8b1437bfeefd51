#include "unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "no_watches.h"

#include "base/clock.h"
#include "cli/relay.h"

#define MANY (600 << 10)

/* Sockets in place of both terminals. */
static int side_open(int *far)
{
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	*far = pair[1];
	return pair[0];
}

static void on_hang_up(void *ctx)
{
	(void)ctx;
	fail();
}

/* The command may use up what its user may watch, while the caller's terminal is slow. */
static void test_relay_that_cannot_watch(void **state)
{
	static char bytes[MANY];
	struct relay r = { .tty = { .fd = -1, .keeper = -1 }, .on_hang_up = on_hang_up };
	int keys, screen, run, terminal = side_open(&run);
	const int64_t until_ms = clock_mono_ms() + 10000;
	size_t written = 0, taken = 0;

	(void)state;
	r.loop = loop_new();
	r.stdio.in.fd = side_open(&keys);
	r.stdio.out.fd = side_open(&screen);
	r.stdio.in.restore_flags = r.stdio.out.restore_flags = -1;
	loop_timer_init(&r.patience, NULL, NULL);
	relay_start(&r, terminal);
	ev_run(r.loop, EVRUN_NOWAIT);
	no_watches = true;
	for (int turn = 0; taken < MANY && clock_mono_ms() < until_ms; turn++) {
		ssize_t n = write(run, bytes, MANY - written);

		written += n > 0 ? (size_t)n : 0;
		ev_run(r.loop, EVRUN_NOWAIT);
		while (turn > 100 && (n = read(screen, bytes, sizeof(bytes))) > 0)
			taken += (size_t)n;
	}
	assert_int_equal(taken, MANY);
	assert_int_equal(write(keys, "x", 1), 1);
	while (read(run, bytes, 1) != 1)
		ev_run(r.loop, EVRUN_ONCE);
	no_watches = false;
	relay_close(&r);
	close(keys);
	close(screen);
	close(run);
	loop_free(r.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relay_that_cannot_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
