#include "os/ports.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


#define STATE_LISTEN 0x0A /* TCP_LISTEN in the column st */
#define NAMESPACES_MAX 8  /* of one run */

struct ports {
	unsigned port;
	unsigned tables;
	ino_t sockets[PORTS_DESCRIPTORS]; /* of the processes */
	int socket_count;
	int descriptors; /* left to look at */
	ino_t namespaces[NAMESPACES_MAX]; /* already read */
	int namespace_count;
	bool found;
};

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

static bool ports_holds(const struct ports *s, ino_t socket)
{
	for (int i = 0; i < s->socket_count; i++)
		if (s->sockets[i] == socket)
			return true;
	return false;
}

/* Take a line of the table. Returns false behind the listening sockets, which come first. */
static bool ports_take_line(struct ports *s, const char *line)
{
	char address[33];
	unsigned port, state;
	unsigned long socket;

	if (sscanf(line, " %*u: %32[0-9A-F]:%x %*s %x %*s %*s %*s %*u %*u %lu", address, &port,
		   &state, &socket) != 4)
		return true; /* the heading */
	if (state != STATE_LISTEN)
		return false;
	s->found = port == s->port && ports_is_local(address) && ports_holds(s, socket);
	return !s->found;
}

static void ports_read_table(struct ports *s, pid_t pid, const char *name)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return;
	for (int i = 0; i <= PORTS_SOCKETS && fgets(line, sizeof(line), f); i++)
		if (!ports_take_line(s, line))
			break;
	fclose(f);
}

/* Read the tables of @pid, unless they are those of another process. */
static void ports_read_namespace(struct ports *s, pid_t pid)
{
	struct stat st = { .st_ino = 0 }; /* one that cannot be known is read once */
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	(void)stat(path, &st);
	for (int i = 0; i < s->namespace_count; i++)
		if (s->namespaces[i] == st.st_ino)
			return;
	if (s->namespace_count == NAMESPACES_MAX)
		return;
	s->namespaces[s->namespace_count++] = st.st_ino;
	if (s->tables & PORTS_IPV4)
		ports_read_table(s, pid, "tcp");
	if (s->tables & PORTS_IPV6 && !s->found)
		ports_read_table(s, pid, "tcp6");
}

static void ports_take_descriptor(struct ports *s, int directory, const char *name)
{
	char target[64] = "";
	unsigned long socket;

	if (readlinkat(directory, name, target, sizeof(target) - 1) > 0 &&
	    sscanf(target, "socket:[%lu]", &socket) == 1 && !ports_holds(s, socket))
		s->sockets[s->socket_count++] = socket;
}

static void ports_read_descriptors(struct ports *s, pid_t pid)
{
	const struct dirent *entry;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return;
	while (s->descriptors > 0 && (entry = readdir(d))) {
		s->descriptors--;
		ports_take_descriptor(s, dirfd(d), entry->d_name);
	}
	closedir(d);
}

bool ports_listens(const struct procfs_process *processes, int count, unsigned port,
		   unsigned tables)
{
	static struct ports s;

	s = (struct ports){ .port = port, .tables = tables, .descriptors = PORTS_DESCRIPTORS };
	for (int i = 0; i < count; i++)
		ports_read_descriptors(&s, processes[i].pid);
	for (int i = 0; s.socket_count && !s.found && i < count; i++)
		ports_read_namespace(&s, processes[i].pid);
	return s.found;
}
