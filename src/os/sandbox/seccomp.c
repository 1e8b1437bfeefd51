/*
 * The cost of installing a filter grows with its length (the kernel compiles it) and
 * its depth (the kernel runs it once for every number, to find those always allowed),
 * and every command pays it. So the rows become one verdict per number, equal
 * neighbours become ranges, and the ranges a balanced search; calls checked by argument
 * share blocks behind it. The result is half of what libseccomp emits for the same
 * rows, so we take only names and numbers from libseccomp.
 *
 * The program is built from its end, since BPF jumps only forward: a label is an index
 * into the reversed code, and known before a jump to it is emitted.
 *
 * BPF loads 32 bits of an argument. The kernel itself uses no more of the arguments
 * checked here; args[n] starts with its low half on the machines that we support.
 */
#include "os/sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/seccomp_table.h"
#include "os/shim/proto.h"

#define NUMBERS (FILTER_LAST_REVIEWED + 1)
#define SKIPPED 0xffffffffu  /* a tracer sets it to skip a call: unknown, not foreign */
#define JUMP_MAX 250         /* the offset has 8 bits; leaves room for two detours */
#define LEAF_EXCEPTIONS 2    /* single numbers inside a range that a leaf checks: measured */
#define NO_LABEL SIZE_MAX
#define IOPRIO_WHO_USER_VALUE 3 /* linux/ioprio.h is newer than the oldest supported headers */

/* With one of these open(2) uses its mode. O_TMPFILE contains O_DIRECTORY, which creates
 * nothing. */
#define CREATING_FLAGS ((uint32_t)(O_CREAT | (O_TMPFILE & ~O_DIRECTORY)))

#define NAMESPACE_FLAGS \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		    CLONE_NEWPID | CLONE_NEWNET))

static const uint32_t terminal_ioctls[] = {
	0x5412, /* TIOCSTI */
	0x541c, /* TIOCLINUX */
	0x5423, /* TIOCSETD */
	0x541d, /* TIOCCONS */
};
static const uint32_t owner_ioctls[] = {
	0x8901, /* FIOSETOWN */
	0x8902, /* SIOCSPGRP */
};
static const uint32_t lease_commands[] = {
	1024, /* F_SETLEASE */
	1040, /* F_SETDELEG (Linux 6.19): the same for a directory */
};
static const uint32_t usual_families[] = { AF_UNIX, AF_INET, AF_INET6 };
static const uint32_t ip_families[] = { AF_INET, AF_INET6 };
static const uint32_t stream_types[] = {
	SOCK_STREAM, SOCK_STREAM | SOCK_CLOEXEC, SOCK_STREAM | SOCK_NONBLOCK,
	SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
};
static const uint32_t tcp_protocols[] = { 0, IPPROTO_TCP }; /* not MPTCP: Landlock judges TCP */
static const uint32_t local_families[] = { AF_UNIX };
/* PER_LINUX, PER_LINUX32, both with UNAME26, and the query. */
static const uint32_t harmless_personalities[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

struct builder {
	const struct confine_seccomp_options *options;
	struct sock_filter code[SHIM_FILTER_MAX]; /* last instruction first */
	size_t len;
	bool full; /* one more was emitted: the code is not usable */
	size_t allow, eperm, eafnosupport, enosys, kill; /* labels of the answers */
	size_t pids;                       /* "is A one of ours?" */
	size_t blocks[FILTER_CHECK_COUNT]; /* NO_LABEL: not made yet */
	size_t verdicts[NUMBERS];          /* label for each call */
};

/* ---- instructions ---- */

static size_t seccomp_bpf_emit(struct builder *b, uint16_t code, uint32_t k)
{
	b->full |= b->len == SHIM_FILTER_MAX;
	if (b->full)
		b->len--;
	b->code[b->len] = (struct sock_filter)BPF_STMT(code, k);
	return b->len++;
}

static size_t seccomp_bpf_return(struct builder *b, uint32_t action)
{
	return seccomp_bpf_emit(b, BPF_RET | BPF_K, action);
}

static size_t seccomp_bpf_load(struct builder *b, size_t offset)
{
	return seccomp_bpf_emit(b, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static size_t seccomp_bpf_load_argument(struct builder *b, unsigned index)
{
	return seccomp_bpf_load(b, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

/* Continue at @label; emits nothing if that comes next anyway. */
static void seccomp_bpf_goto(struct builder *b, size_t label)
{
	if (label + 1 != b->len)
		seccomp_bpf_emit(b, BPF_JMP | BPF_JA, (uint32_t)(b->len - label - 1));
}

/* @label, or, if it is too far for a conditional jump, a jump to it. */
static size_t seccomp_bpf_near(struct builder *b, size_t label)
{
	if (b->len - label <= JUMP_MAX)
		return label;
	return seccomp_bpf_emit(b, BPF_JMP | BPF_JA, (uint32_t)(b->len - label - 1));
}

static size_t seccomp_bpf_jump(struct builder *b, uint16_t test, uint32_t k, size_t yes, size_t no)
{
	size_t here;

	yes = seccomp_bpf_near(b, yes);
	no = seccomp_bpf_near(b, no);
	here = seccomp_bpf_emit(b, BPF_JMP | BPF_K | test, k);
	b->code[here].jt = (uint8_t)(here - yes - 1);
	b->code[here].jf = (uint8_t)(here - no - 1);
	return here;
}

/* @yes if A is one of @values, else @no. */
static size_t seccomp_bpf_any_of(struct builder *b, const uint32_t *values, size_t count,
				 size_t yes, size_t no)
{
	for (size_t i = count; i-- > 0;)
		no = seccomp_bpf_jump(b, BPF_JEQ, values[i], yes, no);
	return no;
}

/* ---- checks of arguments ---- */

/* The shim replaces SHIM_OWN_PID by its own pid, and its negative by its process group, which it
 * leads. The leader of the server's group is protected too: no command needs to reach it. */
static size_t seccomp_pids_block(struct builder *b)
{
	const struct confine_seccomp_options *o = b->options;
	uint32_t values[6] = { (uint32_t)o->protect_pid, SHIM_OWN_PID, -(uint32_t)SHIM_OWN_PID,
			       UINT32_MAX };
	size_t count = 4;

	if (b->pids != NO_LABEL)
		return b->pids;
	if (o->shim_is_init) {
		values[0] = 1;
		count = 1;
	} else if (o->protect_group > 0) {
		values[count++] = -(uint32_t)o->protect_group;
		if (o->protect_group != o->protect_pid)
			values[count++] = (uint32_t)o->protect_group;
	}
	b->pids = seccomp_bpf_any_of(b, values, count, b->eperm, b->allow);
	return b->pids;
}

static size_t seccomp_pid_in_argument(struct builder *b, unsigned index)
{
	seccomp_bpf_goto(b, seccomp_pids_block(b));
	return seccomp_bpf_load_argument(b, index);
}

static size_t seccomp_check_block(struct builder *b, enum filter_check check);

static size_t seccomp_ioctl_block(struct builder *b, bool owner)
{
	size_t no = seccomp_bpf_any_of(b, terminal_ioctls, COUNT_OF(terminal_ioctls), b->eperm,
				       b->allow);

	if (owner)
		seccomp_bpf_any_of(b, owner_ioctls, COUNT_OF(owner_ioctls), b->eperm, no);
	return seccomp_bpf_load_argument(b, 1);
}

static size_t seccomp_who_block(struct builder *b, uint32_t whole_user)
{
	seccomp_bpf_jump(b, BPF_JEQ, whole_user, b->eperm,
			 seccomp_check_block(b, FILTER_PID_SECOND));
	return seccomp_bpf_load_argument(b, 0);
}

/* Refuse every F_SETOWN_EX: its pid is behind a pointer. */
static size_t seccomp_fcntl_block(struct builder *b, bool owner)
{
	size_t pid = owner ? seccomp_pid_in_argument(b, 2) : b->allow;
	size_t no = seccomp_bpf_any_of(b, lease_commands, COUNT_OF(lease_commands), b->eperm,
				       b->allow);

	if (owner) {
		no = seccomp_bpf_jump(b, BPF_JEQ, F_SETOWN, pid, no);
		seccomp_bpf_jump(b, BPF_JEQ, F_SETOWN_EX, b->eperm, no);
	}
	return seccomp_bpf_load_argument(b, 1);
}

/* Set-gid directories are how users share a tree, so only root's and strict commands lose them. */
static size_t seccomp_mode_block(struct builder *b, unsigned argument)
{
	bool group_too = b->options->as_root || b->options->strict;

	seccomp_bpf_jump(b, BPF_JSET, S_ISUID | (group_too ? S_ISGID : 0), b->eperm, b->allow);
	return seccomp_bpf_load_argument(b, argument);
}

/* @mode: the block that checks the mode of a file that the call creates. Access mode 3, O_WRONLY
 * with O_RDWR, opens a file for ioctl(2) alone (open(2)): Landlock asks no right for it. */
static size_t seccomp_open_block(struct builder *b, unsigned flags, size_t mode)
{
	size_t creating = seccomp_bpf_jump(b, BPF_JSET, CREATING_FLAGS, mode, b->allow);
	size_t both = seccomp_bpf_jump(b, BPF_JSET, O_RDWR, b->eperm, creating);

	seccomp_bpf_jump(b, BPF_JSET, O_WRONLY, both, creating);
	return seccomp_bpf_load_argument(b, flags);
}

static size_t seccomp_family_block(struct builder *b, const uint32_t *families, size_t count)
{
	seccomp_bpf_any_of(b, families, count, b->allow, b->eafnosupport);
	return seccomp_bpf_load_argument(b, 0);
}

/* If the family in A is AF_NETLINK, judge the protocol, else continue at @other. NETLINK_CONNECTOR
 * tells of every exec, fork and exit on the machine, whatever the PID namespace. */
static size_t seccomp_netlink_block(struct builder *b, size_t other)
{
	size_t protocol;

	seccomp_bpf_jump(b, BPF_JEQ, NETLINK_CONNECTOR, b->eafnosupport, b->allow);
	protocol = seccomp_bpf_load_argument(b, 2);
	return seccomp_bpf_jump(b, BPF_JEQ, AF_NETLINK, protocol, other);
}

static size_t seccomp_usual_block(struct builder *b)
{
	size_t other = seccomp_bpf_any_of(b, usual_families, COUNT_OF(usual_families), b->allow,
					  b->eafnosupport);

	seccomp_netlink_block(b, other);
	return seccomp_bpf_load_argument(b, 0);
}

/* Of AF_INET and AF_INET6 only TCP. */
static size_t seccomp_tcp_block(struct builder *b)
{
	size_t next;

	seccomp_bpf_any_of(b, tcp_protocols, COUNT_OF(tcp_protocols), b->allow, b->eafnosupport);
	next = seccomp_bpf_load_argument(b, 2);
	seccomp_bpf_any_of(b, stream_types, COUNT_OF(stream_types), next, b->eafnosupport);
	next = seccomp_bpf_load_argument(b, 1);
	next = seccomp_bpf_any_of(b, ip_families, COUNT_OF(ip_families), next, b->eafnosupport);
	next = seccomp_netlink_block(b, next);
	seccomp_bpf_jump(b, BPF_JEQ, AF_UNIX, b->allow, next);
	return seccomp_bpf_load_argument(b, 0);
}

/* MSG_FASTOPEN connects without a connect(2), which is what Landlock judges. */
static size_t seccomp_fastopen_block(struct builder *b, unsigned flags)
{
	seccomp_bpf_jump(b, BPF_JSET, MSG_FASTOPEN, b->eperm, b->allow);
	return seccomp_bpf_load_argument(b, flags);
}

static size_t seccomp_tcp_option_block(struct builder *b)
{
	size_t next;

	seccomp_bpf_jump(b, BPF_JEQ, TCP_FASTOPEN_CONNECT, b->eperm, b->allow);
	next = seccomp_bpf_load_argument(b, 2);
	seccomp_bpf_jump(b, BPF_JEQ, IPPROTO_TCP, next, b->allow);
	return seccomp_bpf_load_argument(b, 1);
}

static size_t seccomp_new_check_block(struct builder *b, enum filter_check check)
{
	switch (check) {
	case FILTER_CLONE_FLAGS:
		seccomp_bpf_jump(b, BPF_JSET, NAMESPACE_FLAGS, b->eperm, b->allow);
		return seccomp_bpf_load_argument(b, 0);
	case FILTER_TERMINAL:
	case FILTER_IOCTL_OWNER:
		return seccomp_ioctl_block(b, check == FILTER_IOCTL_OWNER);
	case FILTER_FAMILY_RARE:
		return seccomp_usual_block(b);
	case FILTER_FAMILY_REMOTE:
		return seccomp_family_block(b, local_families, COUNT_OF(local_families));
	case FILTER_PERSONALITY:
		seccomp_bpf_any_of(b, harmless_personalities, COUNT_OF(harmless_personalities),
				   b->allow, b->eperm);
		return seccomp_bpf_load_argument(b, 0);
	case FILTER_PID_OTHER:
		seccomp_bpf_jump(b, BPF_JEQ, 0, b->allow, b->eperm);
		return seccomp_bpf_load_argument(b, 0);
	case FILTER_PID_FIRST:
		return seccomp_pid_in_argument(b, 0);
	case FILTER_PID_SECOND:
		return seccomp_pid_in_argument(b, 1);
	case FILTER_PRIORITY:
		return seccomp_who_block(b, PRIO_USER);
	case FILTER_IOPRIO:
		return seccomp_who_block(b, IOPRIO_WHO_USER_VALUE);
	case FILTER_FCNTL_LEASE:
	case FILTER_FCNTL_OWNER:
		return seccomp_fcntl_block(b, check == FILTER_FCNTL_OWNER);
	case FILTER_MODE_SECOND:
		return seccomp_mode_block(b, 1);
	case FILTER_MODE_THIRD:
		return seccomp_mode_block(b, 2);
	case FILTER_OPEN_MODE:
		return seccomp_open_block(b, 1, seccomp_check_block(b, FILTER_MODE_THIRD));
	case FILTER_OPENAT_MODE:
		return seccomp_open_block(b, 2, seccomp_mode_block(b, 3));
	case FILTER_TCP_ONLY:
		return seccomp_tcp_block(b);
	case FILTER_FASTOPEN_THIRD:
		return seccomp_fastopen_block(b, 2);
	case FILTER_FASTOPEN_FOURTH:
		return seccomp_fastopen_block(b, 3);
	case FILTER_TCP_OPTION:
		return seccomp_tcp_option_block(b);
	default:
		mem_bug(__FILE__, __LINE__, "a row with a check that has no code");
	}
}

static size_t seccomp_check_block(struct builder *b, enum filter_check check)
{
	if (b->blocks[check] == NO_LABEL)
		b->blocks[check] = seccomp_new_check_block(b, check);
	return b->blocks[check];
}

/* ---- a verdict for each number ---- */

static void seccomp_add_answers(struct builder *b)
{
	bool notify = b->options->notify;

	b->allow = seccomp_bpf_return(b, SECCOMP_RET_ALLOW);
	b->enosys = seccomp_bpf_return(b, SECCOMP_RET_ERRNO | ENOSYS);
	b->eperm =
		seccomp_bpf_return(b, notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM);
	b->eafnosupport =
		notify ? b->eperm : seccomp_bpf_return(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	b->kill = notify ? b->eperm : seccomp_bpf_return(b, SECCOMP_RET_KILL_PROCESS);
}

static size_t seccomp_answer_of(const struct builder *b, const struct filter_row *row)
{
	switch (row->error) {
	case EPERM:
		return b->eperm;
	case ENOSYS:
		return b->enosys;
	case EAFNOSUPPORT:
		return b->eafnosupport;
	default:
		mem_bug(__FILE__, __LINE__, "a row with an errno that has no answer");
	}
}

static unsigned seccomp_sets_of(const struct confine_seccomp_options *o)
{
	return FILTER_ALWAYS | (o->strict ? FILTER_STRICT | FILTER_OFFLINE : 0u) |
	       (o->no_network ? FILTER_OFFLINE : 0u) | (o->protect_pid > 0 ? FILTER_DOORS : 0u) |
	       (o->shim_is_init ? FILTER_INIT : 0u) | (o->tcp_only ? FILTER_LISTED : 0u);
}

/* The row that decides each call: the one with FILTER_ALL, else the later one. */
static void seccomp_choose_rows(const struct filter_row *rows[NUMBERS], unsigned sets)
{
	for (size_t i = 0; i < filter_row_count; i++) {
		const struct filter_row *row = &filter_rows[i];
		int nr = filter_number(row->name);

		if (nr < 0 || !(row->set & sets))
			continue;
		BUG_IF(nr >= NUMBERS);
		if (!rows[nr] || rows[nr]->check != FILTER_ALL)
			rows[nr] = row;
	}
}

static void seccomp_add_verdicts(struct builder *b)
{
	const struct filter_row *rows[NUMBERS] = { NULL };

	seccomp_choose_rows(rows, seccomp_sets_of(b->options));
	for (int nr = 0; nr < NUMBERS; nr++) {
		bool unassigned = nr >= filter_unassigned[0] && nr <= filter_unassigned[1];

		if (rows[nr] && rows[nr]->check == FILTER_ALL)
			b->verdicts[nr] = seccomp_answer_of(b, rows[nr]);
		else if (rows[nr])
			b->verdicts[nr] = seccomp_check_block(b, rows[nr]->check);
		else
			b->verdicts[nr] = unassigned ? b->enosys : b->allow;
	}
}

/* ---- the search ---- */

/* The range of numbers from @first to the next leaf, which go to @label, and its exceptions. */
struct leaf {
	uint32_t first;
	size_t label;
	struct {
		uint32_t number;
		size_t label;
	} exceptions[LEAF_EXCEPTIONS];
	size_t count;
};

struct leaves {
	struct leaf at[NUMBERS + 3];
	size_t count;
};

/* The next range begins at @first. A single number between two equal ranges becomes an exception
 * of the first, and the second goes on with it. */
static void seccomp_add_range(struct leaves *l, uint32_t first, size_t label)
{
	struct leaf *last = l->count ? &l->at[l->count - 1] : NULL;
	struct leaf *before = l->count > 1 ? last - 1 : NULL;

	if (last && last->label == label)
		return; /* the range continues, perhaps after an exception */
	if (before && before->label == label && before->count < LEAF_EXCEPTIONS &&
	    last->first + 1 == first && !last->count) {
		before->exceptions[before->count].number = last->first;
		before->exceptions[before->count++].label = last->label;
		l->count--;
		return;
	}
	l->at[l->count++] = (struct leaf){ .first = first, .label = label };
}

static size_t seccomp_emit_search(struct builder *b, const struct leaf *leaves, size_t count)
{
	size_t half = count / 2, above, below;

	if (count == 1) {
		size_t label = leaves->label;

		for (size_t i = leaves->count; i-- > 0;)
			label = seccomp_bpf_jump(b, BPF_JEQ, leaves->exceptions[i].number,
						 leaves->exceptions[i].label, label);
		return label;
	}
	above = seccomp_emit_search(b, leaves + half, count - half);
	below = seccomp_emit_search(b, leaves, half);
	return seccomp_bpf_jump(b, BPF_JGE, leaves[half].first, above, below);
}

static void seccomp_add_search(struct builder *b)
{
	struct leaves *l = mem_zalloc(sizeof(*l));

	for (uint32_t nr = 0; nr < NUMBERS; nr++)
		seccomp_add_range(l, nr, b->verdicts[nr]);
	seccomp_add_range(l, NUMBERS, b->enosys);
	seccomp_add_range(l, FILTER_X32_BIT, b->kill);
	seccomp_add_range(l, SKIPPED, b->enosys);
	seccomp_bpf_goto(b, seccomp_emit_search(b, l->at, l->count));
	free(l);
}

/* The first instructions: check the architecture, because others number calls differently. */
static void seccomp_add_entry(struct builder *b)
{
	size_t native = seccomp_bpf_load(b, offsetof(struct seccomp_data, nr));

	seccomp_bpf_jump(b, BPF_JEQ, SHIM_NATIVE_ARCH, native, b->kill);
	seccomp_bpf_load(b, offsetof(struct seccomp_data, arch));
}

/* Copy the code, first instruction first. Returns 0, or -1 if it did not fit. */
static int seccomp_copy_code(const struct builder *b, struct sock_filter **program, size_t *len,
			     struct err *e)
{
	if (b->full)
		return err_set(e, ERR_SANDBOX_UNAVAILABLE,
			       "the system call filter needs more than %d instructions",
			       SHIM_FILTER_MAX);
	*program = mem_zalloc(b->len * sizeof(**program));
	for (size_t i = 0; i < b->len; i++)
		(*program)[i] = b->code[b->len - 1 - i];
	*len = b->len;
	return 0;
}

int confine_seccomp_build(const struct confine_seccomp_options *options,
			  struct sock_filter **program, size_t *len, struct err *e)
{
	struct builder *b = mem_zalloc(sizeof(*b));
	int result;

	if (filter_number("execve") < 0) {
		free(b);
		return err_set(e, ERR_SANDBOX_UNAVAILABLE,
			       "the system call filter cannot be built: the calls of this machine "
			       "are not known");
	}
	b->options = options;
	b->pids = NO_LABEL;
	for (size_t i = 0; i < FILTER_CHECK_COUNT; i++)
		b->blocks[i] = NO_LABEL;
	seccomp_add_answers(b);
	seccomp_add_verdicts(b);
	seccomp_add_search(b);
	seccomp_add_entry(b);
	result = seccomp_copy_code(b, program, len, e);
	free(b);
	return result;
}

bool confine_seccomp_can_notify(void)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
