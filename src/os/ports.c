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
#define SOCKETS_MAX 64    /* sockets of one port: more only with SO_REUSEPORT */
#define NAMESPACES_MAX 8  /* of one run */

struct ports {
	unsigned port;
	ino_t sockets[SOCKETS_MAX]; /* those that listen on it, of any process */
	int socket_count;
	ino_t namespaces[NAMESPACES_MAX]; /* already read */
	int namespace_count;
	int descriptors; /* left to look at */
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
	if (port == s->port && socket && ports_is_local(address) && s->socket_count < SOCKETS_MAX)
		s->sockets[s->socket_count++] = socket;
	return true;
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
	ports_read_table(s, pid, "tcp");
	ports_read_table(s, pid, "tcp6");
}

static bool ports_is_found(const struct ports *s, int directory, const char *name)
{
	char target[64] = "";
	unsigned long socket;

	if (readlinkat(directory, name, target, sizeof(target) - 1) < 0 ||
	    sscanf(target, "socket:[%lu]", &socket) != 1)
		return false;
	for (int i = 0; i < s->socket_count; i++)
		if (s->sockets[i] == socket)
			return true;
	return false;
}

/* Does @pid have one of the sockets? */
static bool ports_holds(struct ports *s, pid_t pid)
{
	const struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return false;
	while (!found && s->descriptors-- > 0 && (entry = readdir(d)))
		found = ports_is_found(s, dirfd(d), entry->d_name);
	closedir(d);
	return found;
}

bool ports_listens(const pid_t *pids, int count, unsigned port)
{
	struct ports s = { .port = port, .descriptors = PORTS_DESCRIPTORS };

	for (int i = 0; i < count; i++)
		ports_read_namespace(&s, pids[i]);
	for (int i = 0; s.socket_count && i < count; i++)
		if (ports_holds(&s, pids[i]))
			return true;
	return false;
}
