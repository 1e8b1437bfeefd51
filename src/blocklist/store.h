/*
 * blocklist_store - programs that may write text somebody else put somewhere.
 *
 * aws s3 cp X -, kubectl logs, psql -c, unzip -p: what they write is not of this text,
 * and a shell that reads it runs what nobody has looked at. Which of their words make
 * them do so stands here; programs that always do have a flow of their own.
 */
#ifndef PROCPEN_BLOCKLIST_STORE_H
#define PROCPEN_BLOCKLIST_STORE_H

#include "shell/script.h"

/* FLOW_REMOTE or FLOW_DECODED of blocklist/table, or 0. */
unsigned blocklist_store_flow(const struct shell_command *c);

#endif
