/*
 * ids - random instance name, process ids, and the name of the machine.
 *
 * A process id is "p<N>-<tag>": N counts up from 1 and is never used again, the
 * tag is this server's own, so an id from an earlier server names nothing here.
 */
#ifndef PROCPEN_BASE_IDS_H
#define PROCPEN_BASE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define IDS_INSTANCE_SIZE 17 /* 16 hex digits and NUL */
#define IDS_TEXT_SIZE 27 /* with the largest number, and NUL */

/* Fill @out with a random instance name, from the clock if getrandom(2) fails. */
void ids_instance(char out[IDS_INSTANCE_SIZE]);

/* Is all of @text spelled like an instance name? */
bool ids_is_instance(const char *text);

#define IDS_HOST_SIZE 65 /* of struct utsname */

/* Fill @out with the name of this machine (uname(2), nodename). */
void ids_host(char out[IDS_HOST_SIZE]);

/* "p12-9c3f" from a sequence number and the instance name (its first four digits are the tag). */
void ids_format(char out[IDS_TEXT_SIZE], uint64_t seq, const char *instance);

/* The sequence number in @text if it is an id of any server, or one without its tag; else 0. Sets
 * *@tag to the tag in it, "" if it has none. */
uint64_t ids_number(const char *text, const char **tag);

/* The sequence number in @text if it is an id of @instance; 0 otherwise. */
uint64_t ids_parse(const char *text, const char *instance);

#endif
