#include "os/ports.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define STATE_LISTEN 0x0A /* TCP_LISTEN in the column st */
#define NAMESPACES_MAX 8  /* of one run */

/* A socket that listens on a local address. */
struct listener {
	ino_t socket;
	unsigned port;
};

/* The listeners of a network namespace. */
struct table {
	ino_t namespace;
	struct listener *list;
	int count;
};

static struct {
	unsigned kinds;
	struct table tables[PORTS_TABLES];
	unsigned table_count; /* read; the newest PORTS_TABLES are there */

	/* of the processes that are looked at */
	ino_t sockets[PORTS_DESCRIPTORS];
	int socket_count;
	int descriptors; /* left to look at */
	const struct table *in[NAMESPACES_MAX];
	int in_count;
} ports_look;

/* The kernel prints each word of an address as a number of this machine. */
static bool ports_is_local4(uint32_t word)
{
	return word == htonl(INADDR_ANY) || word == htonl(INADDR_LOOPBACK);
}

static bool ports_is_local6(const uint32_t word[4])
{
	if (word[0] || word[1])
		return false;
	if (word[2] == htonl(0xffff)) /* an IPv4 address */
		return ports_is_local4(word[3]);
	return !word[2] && (!word[3] || word[3] == htonl(1));
}

static bool ports_is_local(const char *address)
{
	uint32_t word[4];

	if (sscanf(address, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32, &word[0], &word[1],
		   &word[2], &word[3]) == 4)
		return ports_is_local6(word);
	return sscanf(address, "%8" SCNx32, &word[0]) == 1 && ports_is_local4(word[0]);
}

/* ---- tables ---- */

/* Take a line of a table. Returns false behind the listening sockets, which come first. */
static bool ports_take_line(struct table *t, const char *line)
{
	char address[33];
	unsigned port, state;
	unsigned long socket;

	if (sscanf(line, " %*u: %32[0-9A-F]:%x %*s %x %*s %*s %*s %*u %*u %lu", address, &port,
		   &state, &socket) != 4)
		return true; /* the heading */
	if (state != STATE_LISTEN)
		return false;
	if (!ports_is_local(address))
		return true;
	if (t->count % 64 == 0)
		t->list = mem_realloc(t->list, ((size_t)t->count + 64) * sizeof(*t->list));
	t->list[t->count++] = (struct listener){ socket, port };
	return true;
}

static void ports_read_file(struct table *t, pid_t pid, const char *name)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return;
	for (int i = 0; i <= PORTS_SOCKETS && fgets(line, sizeof(line), f); i++)
		if (!ports_take_line(t, line))
			break;
	fclose(f);
}

static struct table *ports_find_table(ino_t namespace)
{
	unsigned count = ports_look.table_count;

	for (unsigned i = 0; namespace && i < count && i < PORTS_TABLES; i++)
		if (ports_look.tables[i].namespace == namespace)
			return &ports_look.tables[i];
	return NULL;
}

/* The table of @namespace, which @pid is in; read now if it is the first to ask. One that cannot be
 * known (0) is read for each process. */
static const struct table *ports_table(ino_t namespace, pid_t pid)
{
	struct table *t = ports_find_table(namespace);

	if (t)
		return t;
	t = &ports_look.tables[ports_look.table_count++ % PORTS_TABLES];
	free(t->list);
	*t = (struct table){ .namespace = namespace };
	if (ports_look.kinds & PORTS_IPV4)
		ports_read_file(t, pid, "tcp");
	if (ports_look.kinds & PORTS_IPV6)
		ports_read_file(t, pid, "tcp6");
	return t;
}

void ports_begin(unsigned tables)
{
	ports_end();
	ports_look.kinds = tables;
}

void ports_end(void)
{
	for (int i = 0; i < PORTS_TABLES; i++)
		free(ports_look.tables[i].list);
	memset(&ports_look, 0, sizeof(ports_look));
}

/* ---- processes ---- */

static bool ports_holds(ino_t socket)
{
	for (int i = 0; i < ports_look.socket_count; i++)
		if (ports_look.sockets[i] == socket)
			return true;
	return false;
}

static void ports_take_descriptor(int directory, const char *name)
{
	char target[64] = "";
	unsigned long socket;

	if (readlinkat(directory, name, target, sizeof(target) - 1) > 0 &&
	    sscanf(target, "socket:[%lu]", &socket) == 1 && !ports_holds(socket))
		ports_look.sockets[ports_look.socket_count++] = socket;
}

static void ports_read_descriptors(pid_t pid)
{
	const struct dirent *entry;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return;
	while (ports_look.descriptors > 0 && (entry = readdir(d))) {
		ports_look.descriptors--;
		ports_take_descriptor(dirfd(d), entry->d_name);
	}
	closedir(d);
}

static void ports_enter(pid_t pid)
{
	struct stat st = { .st_ino = 0 };
	const struct table *t;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	(void)stat(path, &st);
	for (int i = 0; i < ports_look.in_count; i++)
		if (ports_look.in[i]->namespace == st.st_ino)
			return;
	if (ports_look.in_count == NAMESPACES_MAX)
		return;
	t = ports_table(st.st_ino, pid);
	ports_look.in[ports_look.in_count++] = t;
}

void ports_look_at(const struct procfs_process *processes, int count)
{
	ports_look.socket_count = ports_look.in_count = 0;
	ports_look.descriptors = PORTS_DESCRIPTORS;
	for (int i = 0; i < count; i++)
		ports_read_descriptors(processes[i].pid);
	for (int i = 0; ports_look.socket_count && i < count; i++)
		ports_enter(processes[i].pid);
}

bool ports_listens(unsigned port)
{
	for (int i = 0; i < ports_look.in_count; i++)
		for (int k = 0; k < ports_look.in[i]->count; k++)
			if (ports_look.in[i]->list[k].port == port &&
			    ports_holds(ports_look.in[i]->list[k].socket))
				return true;
	return false;
}
