/* setup_json - merges an entry into a configuration file in JSON, as cli/setup/merge.h promises. */
#ifndef PROCPEN_CLI_SETUP_JSON_H
#define PROCPEN_CLI_SETUP_JSON_H

#include "base/buf.h"
#include "cli/setup/entry.h"

/* Write the whole new text to @out. */
enum setup_merged setup_json_merge(const struct setup_entry *entry, struct buf *out, struct err *e);

#endif
