/*
 * seccomp_table - the calls that the system call filter refuses, and why.
 *
 * The single source: the filter (os/sandbox/seccomp), the names in warnings
 * (os/sandbox/seccomp_unotify), tests/golden/seccomp-*.txt and the table in docs/security.md
 * are all made from these rows. A refused call has one errno in every profile, so that a
 * listener can answer by number alone.
 */
#ifndef PROCPEN_OS_SANDBOX_SECCOMP_TABLE_H
#define PROCPEN_OS_SANDBOX_SECCOMP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last system call that was reviewed: rseq_slice_yield (Linux 7.0). From 424 on all
 * architectures number alike. */
#define FILTER_LAST_REVIEWED 471
#define FILTER_X32_BIT 0x40000000u /* x86_64's second set of numbers */

/* When a row applies; bits. */
enum filter_set {
	FILTER_ALWAYS = 1,
	FILTER_STRICT = 2,  /* the strict profile */
	FILTER_OFFLINE = 4, /* no network, and no network namespace; also strict */
	FILTER_DOORS = 8,   /* no PID namespace separates command and server */
	FILTER_INIT = 16,   /* the shim is init of a PID namespace */
	FILTER_LISTED = 32, /* TCP to listed ports is the only network */
};

/* Which uses of a call are refused. */
enum filter_check {
	FILTER_ALL,
	FILTER_CLONE_FLAGS,   /* a namespace flag in the first argument */
	FILTER_TERMINAL,      /* ioctl: one of the terminal requests */
	FILTER_IOCTL_OWNER,   /* ioctl: these, and setting the owner of a descriptor */
	FILTER_FAMILY_RARE,   /* not UNIX, INET, INET6, NETLINK; or NETLINK_CONNECTOR */
	FILTER_FAMILY_REMOTE, /* first argument: not UNIX */
	FILTER_PERSONALITY,   /* first argument: not one of the harmless values */
	FILTER_PID_OTHER,     /* first argument: not 0 */
	FILTER_PID_FIRST,     /* first argument: the server, its group, the shim, or -1 (all) */
	FILTER_PID_SECOND,    /* the same, second argument */
	FILTER_PRIORITY,      /* the same, or a whole user (setpriority) */
	FILTER_IOPRIO,        /* the same, or a whole user (ioprio_set) */
	FILTER_FCNTL_LEASE,   /* F_SETLEASE and F_SETDELEG */
	FILTER_FCNTL_OWNER,   /* these, and F_SETOWN with one of the above; any F_SETOWN_EX */
	FILTER_MODE_SECOND,   /* second argument: a file mode that sets an id */
	FILTER_MODE_THIRD,    /* the same, third argument */
	FILTER_OPEN_MODE,     /* open: it creates a file with such a mode, or has access mode 3 */
	FILTER_OPENAT_MODE,   /* the same for openat */
	FILTER_TCP_ONLY,      /* first to third argument: of INET and INET6, other than TCP */
	FILTER_FASTOPEN_THIRD,  /* third argument: MSG_FASTOPEN */
	FILTER_FASTOPEN_FOURTH, /* the same, fourth argument */
	FILTER_TCP_OPTION,    /* setsockopt: TCP_FASTOPEN_CONNECT */
	FILTER_CHECK_COUNT
};

enum filter_group {
	FILTER_BOOT,
	FILTER_HOST,
	FILTER_MOUNTS,
	FILTER_NAMESPACES,
	FILTER_SURFACE,
	FILTER_NEVER,
	FILTER_TTY,
	FILTER_POINTER,
	FILTER_FAMILIES,
	FILTER_NETWORK,
	FILTER_PORTS,
	FILTER_TRACING,
	FILTER_RARE,
	FILTER_SIGNALS,
	FILTER_ATTRIBUTES,
	FILTER_LEASES,
	FILTER_OWNERS,
	FILTER_PIDFDS,
	FILTER_SET_ID,
	FILTER_OPENING,
	FILTER_GROUP_COUNT
};

/* Holds its name itself, for the reason that base/strtab.h gives. */
struct filter_row {
	char name[32];
	uint8_t group; /* enum filter_group */
	uint8_t set;   /* enum filter_set */
	uint8_t check; /* enum filter_check */
	uint8_t error; /* errno of the answer */
};

/* If two rows of a call apply, FILTER_ALL wins, else the later one. */
extern const struct filter_row filter_rows[];
extern const size_t filter_row_count;

/* Why a group is refused; a sentence for people. */
extern const char *const filter_reasons[FILTER_GROUP_COUNT];

/* What a check refuses of its call, in words; "" for FILTER_ALL. */
extern const char *const filter_check_texts[FILTER_CHECK_COUNT];

/* The first and last of the numbers that this machine leaves to future calls. */
extern const int filter_unassigned[2];

/* The number of a call on this machine, or -1 if it has none. */
int filter_number(const char *name);

/*
 * The name of call @nr of architecture @arch (an AUDIT_ARCH_* value), NUL-terminated
 * in @text; false and "" if it is unknown.
 */
bool filter_name(uint32_t arch, int nr, char *text, size_t size);

/* The errno of call @nr when the filter refuses it, or 0. */
int filter_error(int nr);

#endif
