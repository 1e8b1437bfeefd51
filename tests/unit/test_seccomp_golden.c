/*
 * What every profile says to every system call, by name, against the files in
 * tests/golden; and the table in docs/security.md against the rows it is made of.
 * `make golden` writes both anew: a change of the filter is then a change in a
 * file that a reviewer sees.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "os/sandbox/seccomp_table.h"

#define GOLDEN_MAX (4u << 20)
#define LAST_NUMBER 520
#define PAGE "docs/security.md"
#define TABLE_BEGIN "<!-- made by `make golden` from src/os/sandbox/seccomp_table.c -->\n"
#define TABLE_END "<!-- end -->\n"

static const struct {
	const char *name;
	struct confine_seccomp_options options;
} profiles[] = {
	{ "default", { .shim_is_init = true } },
	{ "default-root", { .as_root = true, .shim_is_init = true } },
	{ "default-offline", { .no_network = true, .shim_is_init = true } },
	{ "default-doors", { .protect_pid = SERVER_PID, .protect_group = SERVER_GROUP } },
	{ "default-ports", { .tcp_only = true, .shim_is_init = true } },
	{ "strict", { .strict = true, .shim_is_init = true } },
	{ "strict-doors", { .strict = true, .protect_pid = SERVER_PID, .protect_group = SERVER_GROUP } },
};
#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

static const char *error_name(int error)
{
	switch (error) {
	case EPERM:
		return "EPERM";
	case ENOSYS:
		return "ENOSYS";
	case EAFNOSUPPORT:
		return "EAFNOSUPPORT";
	default:
		fail_msg("errno %d has no name here", error);
		return "";
	}
}

static const char *verdict(uint32_t action)
{
	if (action == SECCOMP_RET_ALLOW)
		return "allow";
	if (action == SECCOMP_RET_KILL_PROCESS)
		return "kill";
	assert_int_equal(action & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
	return error_name((int)(action & SECCOMP_RET_DATA));
}

/* ---- arguments at their edges ---- */

struct edge {
	uint64_t args[4];
	const char *text;
};

static const struct edge clone_edges[] = {
	{ { 17 }, "SIGCHLD" },
	{ { 0x7d0f00 }, "a thread" },
	{ { 0x4111 }, "vfork" },
	{ { 0x20000 | 17 }, "CLONE_NEWNS" },
	{ { 0x2000000 | 17 }, "CLONE_NEWCGROUP" },
	{ { 0x4000000 | 17 }, "CLONE_NEWUTS" },
	{ { 0x8000000 | 17 }, "CLONE_NEWIPC" },
	{ { 0x10000000 | 17 }, "CLONE_NEWUSER" },
	{ { 0x20000000 | 17 }, "CLONE_NEWPID" },
	{ { 0x40000000 | 17 }, "CLONE_NEWNET" },
	{ { 0x7e020000 }, "all of them" },
	{ { HIGH | 0x10000000 }, "high bits, CLONE_NEWUSER" },
	{ { HIGH | 17 }, "high bits, SIGCHLD" },
};
static const struct edge ioctl_edges[] = {
	{ { 0, 0x5401 }, "TCGETS" },
	{ { 0, 0x5412 }, "TIOCSTI" },
	{ { 0, HIGH | 0x5412 }, "high bits, TIOCSTI" },
	{ { 0, 0x541c }, "TIOCLINUX" },
	{ { 0, 0x5423 }, "TIOCSETD" },
	{ { 0, 0x541d }, "TIOCCONS" },
	{ { 0, 0x8901 }, "FIOSETOWN" },
	{ { 0, 0x8902 }, "SIOCSPGRP" },
	{ { 0, HIGH | 0x8901 }, "high bits, FIOSETOWN" },
	{ { 0, 0x8903 }, "FIOGETOWN" },
};
static const struct edge family_edges[] = {
	{ { 0 }, "AF_UNSPEC" },
	{ { AF_UNIX }, "AF_UNIX" },
	{ { HIGH | AF_UNIX }, "high bits, AF_UNIX" },
	{ { AF_INET }, "AF_INET" },
	{ { AF_INET6 }, "AF_INET6" },
	{ { UINT64_C(1) << 32 | AF_INET }, "high bits, AF_INET" },
	{ { AF_NETLINK }, "AF_NETLINK" },
	{ { AF_PACKET }, "AF_PACKET" },
	{ { AF_ALG }, "AF_ALG" },
	{ { AF_VSOCK }, "AF_VSOCK" },
	{ { UINT32_MAX }, "-1" },
};
static const struct edge socket_edges[] = {
	{ { 0 }, "AF_UNSPEC" },
	{ { AF_UNIX }, "AF_UNIX" },
	{ { HIGH | AF_UNIX }, "high bits, AF_UNIX" },
	{ { AF_UNIX, SOCK_DGRAM }, "AF_UNIX, DGRAM" },
	{ { AF_INET }, "AF_INET" },
	{ { AF_INET6 }, "AF_INET6" },
	{ { UINT64_C(1) << 32 | AF_INET, HIGH | SOCK_DGRAM }, "high bits, AF_INET, DGRAM" },
	{ { AF_INET, SOCK_STREAM, 0 }, "AF_INET, STREAM" },
	{ { HIGH | AF_INET6, HIGH | SOCK_STREAM, HIGH | IPPROTO_TCP }, "high bits, AF_INET6, TCP" },
	{ { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP }, "AF_INET, STREAM, flags" },
	{ { AF_NETLINK, SOCK_DGRAM, 11 }, "AF_NETLINK, DGRAM, CONNECTOR" },
	{ { HIGH | AF_NETLINK, 0, HIGH | 11 }, "high bits, AF_NETLINK, CONNECTOR" },
	{ { AF_INET, SOCK_STREAM, 262 }, "AF_INET, STREAM, MPTCP" },
	{ { AF_INET, SOCK_STREAM, 132 }, "AF_INET, STREAM, SCTP" },
	{ { AF_INET6, SOCK_STREAM, 256 }, "AF_INET6, STREAM, SMC" },
	{ { AF_INET6, SOCK_DGRAM, 0 }, "AF_INET6, DGRAM" },
	{ { AF_INET, SOCK_RAW, IPPROTO_TCP }, "AF_INET, RAW" },
	{ { AF_INET, SOCK_SEQPACKET, 0 }, "AF_INET, SEQPACKET" },
	{ { AF_INET, SOCK_STREAM | 0x10, 0 }, "AF_INET, STREAM, unknown flag" },
	{ { AF_NETLINK, SOCK_RAW, 0 }, "AF_NETLINK" },
	{ { AF_PACKET }, "AF_PACKET" },
	{ { AF_ALG }, "AF_ALG" },
	{ { AF_VSOCK, SOCK_STREAM }, "AF_VSOCK" },
	{ { 43, SOCK_STREAM }, "AF_SMC" },
	{ { UINT32_MAX }, "-1" },
};
static const struct edge third_flags_edges[] = {
	{ { 0, 0, 0 }, "0" }, { { 0, 0, 0x4040 }, "NOSIGNAL, DONTWAIT" },
	{ { 0, 0, 0x20000000 }, "FASTOPEN" }, { { 0, 0, HIGH | 0x20004000 }, "high bits, FASTOPEN" },
};
static const struct edge fourth_flags_edges[] = {
	{ { 0, 0, 0, 0 }, "0" }, { { 0, 0, 0, 0x4040 }, "NOSIGNAL, DONTWAIT" },
	{ { 0, 0, 0, 0x20000000 }, "FASTOPEN" },
	{ { 0, 0, 0, HIGH | 0x20004000 }, "high bits, FASTOPEN" },
};
static const struct edge option_edges[] = {
	{ { 0, 1, 30 }, "SOL_SOCKET, 30" }, { { 0, 6, 1 }, "TCP_NODELAY" },
	{ { 0, 6, 23 }, "TCP_FASTOPEN" }, { { 0, 6, 30 }, "TCP_FASTOPEN_CONNECT" },
	{ { 0, HIGH | 6, HIGH | 30 }, "high bits, TCP_FASTOPEN_CONNECT" },
};
static const struct edge personality_edges[] = {
	{ { 0 }, "PER_LINUX" },
	{ { 8 }, "PER_LINUX32" },
	{ { 0x20000 }, "UNAME26" },
	{ { 0x20008 }, "PER_LINUX32, UNAME26" },
	{ { UINT32_MAX }, "query" },
	{ { 0x40000 }, "ADDR_NO_RANDOMIZE" },
	{ { 0x400000 }, "READ_IMPLIES_EXEC" },
	{ { HIGH | 0x400000 }, "high bits, READ_IMPLIES_EXEC" },
};
#define PID_EDGES(before)                                                    \
	{ { before 0 }, "0" }, { { before 1 }, "1" },                        \
	{ { before 77 }, "another" },                                        \
	{ { before SERVER_PID }, "server" },                                 \
	{ { before HIGH | SERVER_PID }, "high bits, server" },               \
	{ { before (uint32_t)-SERVER_PID }, "-server" },                     \
	{ { before SERVER_GROUP }, "leader of its group" },                  \
	{ { before (uint32_t)-SERVER_GROUP }, "-group" },                    \
	{ { before HIGH | (uint32_t)-SERVER_GROUP }, "high bits, -group" },  \
	{ { before UINT32_MAX }, "-1" },                                     \
	{ { before UINT64_MAX }, "-1 in 64 bits" },                          \
	{ { before SHIM_OWN_PID }, "shim" },                                 \
	{ { before (uint32_t)-SHIM_OWN_PID }, "-shim" }
#define COMMA ,
static const struct edge pid_edges[] = { PID_EDGES() };
static const struct edge ptrace_edges[] = {
	{ { 0, 0 }, "TRACEME" },
	{ { 16, 77 }, "ATTACH another" },
	{ { 16, SERVER_PID }, "ATTACH server" },
	{ { 0x4206, SHIM_OWN_PID }, "SEIZE shim" },
	{ { 16, HIGH | SERVER_PID }, "ATTACH high bits, server" },
};
static const struct edge priority_edges[] = {
	PID_EDGES(1 COMMA), { { 0, SERVER_PID }, "0, server" },
	{ { 2, 77 }, "2, 77" }, { { HIGH | 2, 0 }, "high bits, 2" }, { { 3, 77 }, "3, 77" },
	{ { HIGH | 3, 0 }, "high bits, 3" },
};
static const struct edge fcntl_edges[] = {
	PID_EDGES(3 COMMA 8 COMMA), { { 3, HIGH | 8, SERVER_PID }, "high bits, F_SETOWN, server" },
	{ { 3, 1, SERVER_PID }, "F_GETFD" }, { { 3, 9, SERVER_PID }, "F_GETOWN" },
	{ { 3, 15, 0 }, "F_SETOWN_EX" }, { { 3, HIGH | 15, 0 }, "high bits, F_SETOWN_EX" },
	{ { 3, 16, 0 }, "F_GETOWN_EX" },
	{ { 3, 1024, 0 }, "F_SETLEASE" }, { { 3, HIGH | 1024, 0 }, "high bits, F_SETLEASE" },
	{ { 3, 1025, 0 }, "F_GETLEASE" }, { { 3, 1040, 0 }, "F_SETDELEG" },
};

#define MODE_EDGES(before)                                        \
	{ { before 0755 }, "0755" }, { { before 01777 }, "01777" },  \
	{ { before S_ISUID | 0755 }, "04755" },                      \
	{ { before S_ISGID | 0775 }, "02775" },                      \
	{ { before HIGH | S_ISUID }, "high bits, 04000" },           \
	{ { before 0100000 | S_ISUID }, "S_IFREG, 04000" }
static const struct edge mode_second_edges[] = { MODE_EDGES(0 COMMA) };
static const struct edge mode_third_edges[] = { MODE_EDGES(0 COMMA 0 COMMA) };
static const struct edge open_edges[] = {
	MODE_EDGES(0 COMMA O_CREAT COMMA),
	{ { 0, O_TMPFILE | O_RDWR, S_ISUID }, "O_TMPFILE, 04000" },
	{ { 0, HIGH | O_CREAT, S_ISUID }, "high bits, O_CREAT, 04000" },
	{ { 0, O_DIRECTORY, S_ISUID }, "O_DIRECTORY, 04000" },
	{ { 0, 3 }, "access mode 3" },
	{ { 0, HIGH | 3 | O_CLOEXEC, 0644 }, "high bits, access mode 3, O_CLOEXEC" },
	{ { 0, O_WRONLY }, "O_WRONLY" },
	{ { 0, O_RDWR }, "O_RDWR" },
};
static const struct edge openat_edges[] = {
	MODE_EDGES(0 COMMA 0 COMMA O_CREAT COMMA),
	{ { 0, 0, O_TMPFILE | O_RDWR, S_ISUID }, "O_TMPFILE, 04000" },
	{ { 0, 0, HIGH | O_CREAT, S_ISUID }, "high bits, O_CREAT, 04000" },
	{ { 0, 0, O_DIRECTORY, S_ISUID }, "O_DIRECTORY, 04000" },
	{ { 0, 0, 3 }, "access mode 3" },
	{ { 0, 0, HIGH | 3 | O_CLOEXEC, 0644 }, "high bits, access mode 3, O_CLOEXEC" },
	{ { 0, 0, O_WRONLY }, "O_WRONLY" },
	{ { 0, 0, O_RDWR }, "O_RDWR" },
};

#define EDGES(name, list) { name, list, sizeof(list) / sizeof((list)[0]) }
static const struct {
	const char *call;
	const struct edge *edges;
	size_t count;
} calls_with_edges[] = {
	EDGES("clone", clone_edges),
	EDGES("ioctl", ioctl_edges),
	EDGES("socket", socket_edges),
	EDGES("sendmsg", third_flags_edges),
	EDGES("sendto", fourth_flags_edges),
	EDGES("sendmmsg", fourth_flags_edges),
	EDGES("setsockopt", option_edges),
	EDGES("socketpair", family_edges),
	EDGES("personality", personality_edges),
	EDGES("kill", pid_edges),
	EDGES("tkill", pid_edges),
	EDGES("tgkill", pid_edges),
	EDGES("rt_sigqueueinfo", pid_edges),
	EDGES("rt_tgsigqueueinfo", pid_edges),
	EDGES("pidfd_open", pid_edges),
	EDGES("prlimit64", pid_edges),
	EDGES("sched_setparam", pid_edges),
	EDGES("sched_setscheduler", pid_edges),
	EDGES("sched_setattr", pid_edges),
	EDGES("sched_setaffinity", pid_edges),
	EDGES("process_vm_readv", pid_edges),
	EDGES("process_vm_writev", pid_edges),
	EDGES("ptrace", ptrace_edges),
	EDGES("setpriority", priority_edges),
	EDGES("ioprio_set", priority_edges),
	EDGES("fcntl", fcntl_edges),
	EDGES("chmod", mode_second_edges),
	EDGES("fchmod", mode_second_edges),
	EDGES("creat", mode_second_edges),
	EDGES("mknod", mode_second_edges),
	EDGES("fchmodat", mode_third_edges),
	EDGES("fchmodat2", mode_third_edges),
	EDGES("mknodat", mode_third_edges),
	EDGES("open", open_edges),
	EDGES("openat", openat_edges),
};

/* The one verdict of a call, or NULL if that depends on its arguments. */
static const char *sole_verdict(struct filter *f, uint32_t nr)
{
	static const uint64_t values[] = { 0,	       1,      2,      3,      8,      15,     17,  6,  30,
					   SERVER_PID, UINT64_MAX, 0x400, 0x5412, 0x8901, 0x40000 };
	const size_t count = sizeof(values) / sizeof(values[0]);
	uint32_t first = filter_call(f, nr, 0, 0, 0);

	for (size_t i = 0; i < count * count * count; i++)
		if (filter_call4(f, nr, (const uint64_t[]){ values[i % count],
							    values[i / count % count],
							    values[i / count / count],
							    values[i % count] }) != first)
			return NULL;
	return verdict(first);
}

static void add_edges(struct buf *b, struct filter *f, uint32_t nr, const char *name)
{
	for (size_t i = 0; i < sizeof(calls_with_edges) / sizeof(calls_with_edges[0]); i++) {
		if (strcmp(calls_with_edges[i].call, name))
			continue;
		for (size_t k = 0; k < calls_with_edges[i].count; k++) {
			const struct edge *edge = &calls_with_edges[i].edges[k];

			buf_addf(b, "        %-30s %s\n", edge->text,
			     verdict(filter_call4(f, nr, edge->args)));
		}
		return;
	}
	fail_msg("%s depends on its arguments: add their edges here", name);
}

static void write_profile(struct buf *b, size_t index)
{
	struct filter f = filter_make(profiles[index].options);
	struct seccomp_data foreign = { .nr = 1, .arch = AUDIT_ARCH_I386 };
	char name[64];

	buf_addf(b, "profile %s, x86_64, %zu instructions\n\n", profiles[index].name, f.len);
	for (int nr = 0; nr <= LAST_NUMBER; nr++) {
		const char *sole = sole_verdict(&f, (uint32_t)nr);

		if (!filter_name(SHIM_NATIVE_ARCH, nr, name, sizeof(name)))
			strcpy(name, "-");
		buf_addf(b, "%5d %-32s %s\n", nr, name, sole ? sole : "by argument");
		if (!sole)
			add_edges(b, &f, (uint32_t)nr, name);
	}
	buf_addf(b, "\nbeyond: 0x3fffffff %s, x32 0x40000000 %s, x32 0x40000209 %s, 0xffffffff %s\n",
	     verdict(filter_call(&f, 0x3fffffff, 0, 0, 0)), verdict(filter_call(&f, 0x40000000, 0, 0, 0)),
	     verdict(filter_call(&f, 0x40000209, 0, 0, 0)), verdict(filter_call(&f, 0xffffffff, 0, 0, 0)));
	buf_addf(b, "another architecture: %s\n", verdict(filter_run(&f, &foreign)));
	filter_free(&f);
}

/* ---- the table of the page ---- */

static const char *when(uint8_t set)
{
	switch (set) {
	case FILTER_ALWAYS:
		return "always";
	case FILTER_STRICT:
		return "strict";
	case FILTER_OFFLINE:
		return "strict; network off without a network namespace";
	case FILTER_DOORS:
		return "without a PID namespace";
	case FILTER_INIT:
		return "with a PID namespace";
	case FILTER_LISTED:
		return "`sandbox.network` lists ports";
	case FILTER_DOORS | FILTER_INIT:
		return "always, for the shim; for the others without a PID namespace";
	default:
		fail_msg("set %d has no words here", set);
		return "";
	}
}

static bool same_line(const struct filter_row *a, const struct filter_row *b)
{
	return a->group == b->group && a->set == b->set && a->check == b->check && a->error == b->error;
}

static bool is_first(size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_line(&filter_rows[i], &filter_rows[index]))
			return false;
	return true;
}

static void write_table(struct buf *b)
{
	buf_adds(b, "| calls | when | answer | why |\n|---|---|---|---|\n");
	for (size_t i = 0; i < filter_row_count; i++) {
		const struct filter_row *row = &filter_rows[i];
		const char *text = filter_check_texts[row->check];

		if (!is_first(i))
			continue;
		buf_adds(b, "| ");
		for (size_t k = i; k < filter_row_count; k++)
			if (same_line(row, &filter_rows[k]))
				buf_addf(b, "%s%s", k == i ? "" : ", ", filter_rows[k].name);
		buf_addf(b, "%s%s | %s | %s | %s |\n", *text ? ": " : "", text, when(row->set),
			 error_name(row->error), filter_reasons[row->group]);
	}
	buf_addf(b, "| numbers above %d, the last one reviewed, and unassigned ones below | always | ENOSYS "
		    "| a newer kernel never widens the list |\n", FILTER_LAST_REVIEWED);
	buf_adds(b, "| another architecture, x32 | always | the process dies of SIGSYS | a second set of "
		    "numbers |\n");
}

/* ---- files ---- */

static void read_file(const char *path, struct buf *b)
{
	FILE *file = fopen(path, "r");
	char piece[4096];
	size_t n;

	if (!file)
		return; /* reads as empty: the comparison says what is missing */
	while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
		assert_int_equal(buf_add(b, piece, n), 0);
	fclose(file);
}

static void write_file(const char *path, const struct buf *b)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(b->data, 1, b->len, file), b->len);
	assert_int_equal(fclose(file), 0);
}

static bool is_regenerating(void)
{
	return getenv("PROCPEN_GOLDEN") != NULL;
}

/* The lines that differ, place by place; the files have one line a call, so they stay aligned. */
static int print_differences(const char *path, const struct buf *golden, const struct buf *now)
{
	const char *a = golden->len ? golden->data : "", *a_end = a + golden->len;
	const char *b = now->data, *b_end = b + now->len;
	int count = 0;

	for (int line = 1; a < a_end || b < b_end; line++) {
		const char *a_next = a < a_end ? memchr(a, '\n', (size_t)(a_end - a)) : NULL;
		const char *b_next = b < b_end ? memchr(b, '\n', (size_t)(b_end - b)) : NULL;
		int a_len = (int)((a_next ? a_next : a_end) - a);
		int b_len = (int)((b_next ? b_next : b_end) - b);

		if ((a_len != b_len || memcmp(a, b, (size_t)a_len)) && count++ < 20)
			print_error("%s:%d\n-%.*s\n+%.*s\n", path, line, a_len, a, b_len, b);
		a = a_next ? a_next + 1 : a_end;
		b = b_next ? b_next + 1 : b_end;
	}
	return count;
}

static void compare_or_write(const char *path, const struct buf *now)
{
	struct buf golden;
	int differences;

	if (is_regenerating()) {
		write_file(path, now);
		return;
	}
	buf_init(&golden, GOLDEN_MAX);
	read_file(path, &golden);
	differences = print_differences(path, &golden, now);
	buf_release(&golden);
	if (differences)
		fail_msg("%s: %d lines differ; if that is meant: make golden", path, differences);
}

static void test_seccomp_golden_profiles(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	print_message("SKIP the golden files are of x86_64\n");
	skip();
#endif
	for (size_t i = 0; i < PROFILES; i++) {
		struct buf now;
		char path[128];

		buf_init(&now, GOLDEN_MAX);
		write_profile(&now, i);
		snprintf(path, sizeof(path), "tests/golden/seccomp-%s.txt", profiles[i].name);
		compare_or_write(path, &now);
		buf_release(&now);
	}
}

static void test_seccomp_golden_page(void **state)
{
	struct buf page, now;
	const char *begin, *end;

	(void)state;
	buf_init(&page, GOLDEN_MAX);
	buf_init(&now, GOLDEN_MAX);
	read_file(PAGE, &page);
	assert_int_equal(buf_add(&page, "", 1), 0);
	begin = strstr(page.data, TABLE_BEGIN);
	assert_non_null(begin);
	begin += strlen(TABLE_BEGIN);
	end = strstr(begin, TABLE_END);
	assert_non_null(end);
	assert_int_equal(buf_add(&now, page.data, (size_t)(begin - (const char *)page.data)), 0);
	write_table(&now);
	buf_adds(&now, end);
	compare_or_write(PAGE, &now);
	buf_release(&page);
	buf_release(&now);
}

/* Each row does something: it names a call of some machine, and has words for people. */
static void test_seccomp_golden_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < filter_row_count; i++) {
		const struct filter_row *row = &filter_rows[i];

		assert_true(row->group < FILTER_GROUP_COUNT && row->check < FILTER_CHECK_COUNT);
		assert_non_null(filter_reasons[row->group]);
		assert_non_null(filter_check_texts[row->check]);
		if (filter_number(row->name) >= 0)
			assert_int_equal(filter_error(filter_number(row->name)), row->error);
	}
}

static void test_seccomp_golden_names(void **state)
{
	char name[64];

	(void)state;
	assert_true(filter_name(SHIM_NATIVE_ARCH, filter_number("mount"), name, sizeof(name)));
	assert_string_equal(name, "mount");
	assert_true(filter_name(SHIM_NATIVE_ARCH, 470, name, sizeof(name)));
	assert_string_equal(name, "listns");
	assert_true(filter_name(AUDIT_ARCH_I386, 21, name, sizeof(name)));
	assert_string_equal(name, "mount");
	assert_false(filter_name(SHIM_NATIVE_ARCH, -1, name, sizeof(name)));
	assert_false(filter_name(SHIM_NATIVE_ARCH, 100000, name, sizeof(name)));
	assert_string_equal(name, "");
	assert_int_equal(filter_number("open_tree_attr"), 467);
	assert_int_equal(filter_number("no_such_call"), -1);
	assert_int_equal(filter_error(filter_number("read")), 0);
#if defined(__x86_64__)
	assert_true(filter_name(AUDIT_ARCH_X86_64, 0x40000000 + 165, name, sizeof(name)));
	assert_string_equal(name, "mount");
	assert_int_equal(filter_number("stime"), -1); /* another machine's */
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seccomp_golden_profiles),
		cmocka_unit_test(test_seccomp_golden_page),
		cmocka_unit_test(test_seccomp_golden_rows),
		cmocka_unit_test(test_seccomp_golden_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
