#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/ports.h"

static bool look(const struct procfs_process *pids, int count, unsigned port, unsigned tables)
{
	bool found;

	ports_begin(tables);
	ports_look_at(pids, count);
	found = ports_listens(port);
	ports_end();
	return found;
}

static bool listens(const struct procfs_process *pids, int count, unsigned port)
{
	bool in4 = look(pids, count, port, PORTS_IPV4);
	bool in6 = look(pids, count, port, PORTS_IPV6);

	assert_int_equal(look(pids, count, port, PORTS_IPV4 | PORTS_IPV6), in4 || in6);
	return in4 || in6;
}

/* A socket bound to @address; *@port: which the kernel chose. -1: this machine has no such address. */
static int bind_to(const char *address, unsigned *port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	bool is6 = strchr(address, ':');
	struct sockaddr *at = is6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in4;
	socklen_t len = is6 ? sizeof(in6) : sizeof(in4);
	int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(at->sa_family, address,
				   is6 ? (void *)&in6.sin6_addr : (void *)&in4.sin_addr), 1);
	if (fd < 0 || bind(fd, at, len) < 0) {
		close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, at, &len), 0);
	*port = ntohs(is6 ? in6.sin6_port : in4.sin_port);
	return fd;
}

static void test_ports_of_local_addresses(void **state)
{
	static const struct {
		const char *address;
		bool seen;
	} cases[] = {
		{ "127.0.0.1", true }, { "0.0.0.0", true }, { "::1", true }, { "::", true },
		{ "::ffff:127.0.0.1", true }, { "127.0.0.2", false },
	};
	struct procfs_process self = { .pid = getpid() };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned port = 0;
		int fd = bind_to(cases[i].address, &port);

		if (fd < 0) {
			print_message("no %s here\n", cases[i].address);
			continue;
		}
		assert_false(listens(&self, 1, port)); /* bound is not listening */
		assert_int_equal(listen(fd, 1), 0);
		assert_int_equal(listens(&self, 1, port), cases[i].seen);
		close(fd);
		assert_false(listens(&self, 1, port));
	}
}

/* A port of a process that was not asked about; an end of a connection. */
static void test_ports_of_others(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int hold[2], listener, client, accepted;
	unsigned port = 0, client_port;
	socklen_t len = sizeof(at);
	struct procfs_process self = { .pid = getpid() }, child;

	(void)state;
	listener = bind_to("127.0.0.1", &port);
	assert_true(listener >= 0);
	assert_int_equal(pipe(hold), 0);
	assert_int_equal(listen(listener, 1), 0);
	child.pid = fork();
	if (!child.pid) {
		char byte;

		close(listener);
		close(hold[1]);
		_exit(read(hold[0], &byte, 1) != 0);
	}
	close(hold[0]);
	for (int i = 0; i < 1000 && look(&child, 1, port, PORTS_IPV4); i++)
		usleep(10000); /* until it has closed its copy */
	assert_false(listens(&child, 1, port));
	assert_true(listens((struct procfs_process[]){ child, self }, 2, port));
	at.sin_port = htons((uint16_t)port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	accepted = accept(listener, NULL, NULL);
	assert_int_equal(getsockname(client, (struct sockaddr *)&at, &len), 0);
	client_port = ntohs(at.sin_port);
	assert_false(listens(&self, 1, client_port));
	close(listener);
	assert_false(listens(&self, 1, port)); /* a connection of that port is open */
	close(accepted);
	close(client);
	close(hold[1]);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_false(listens(&child, 1, port));
	assert_false(listens(&self, 0, port));
}

/* A look reads each table once, however often it is asked. */
static void test_ports_read_once_in_a_look(void **state)
{
	struct procfs_process self = { .pid = getpid() };
	unsigned port = 0;
	int fd = bind_to("127.0.0.1", &port);

	(void)state;
	assert_true(fd >= 0);
	ports_begin(PORTS_IPV4);
	ports_look_at(&self, 1);
	assert_int_equal(listen(fd, 1), 0);
	ports_look_at(&self, 1);
	assert_false(ports_listens(port));
	ports_begin(PORTS_IPV4);
	ports_look_at(&self, 1);
	assert_true(ports_listens(port));
	ports_look_at(&self, 0);
	assert_false(ports_listens(port)); /* of no process */
	ports_look_at(&self, 1);
	assert_true(ports_listens(port));
	ports_end();
	assert_false(ports_listens(port));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports_of_local_addresses),
		cmocka_unit_test(test_ports_of_others),
		cmocka_unit_test(test_ports_read_once_in_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
