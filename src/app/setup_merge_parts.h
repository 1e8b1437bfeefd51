/* setup_merge_parts - what the files of setup_merge share; for them only. */
#ifndef PROCPEN_APP_SETUP_MERGE_PARTS_H
#define PROCPEN_APP_SETUP_MERGE_PARTS_H

#include "app/setup_merge.h"

#define SETUP_TEXT_MAX (16u << 20) /* of a configuration file */

struct setup_merge_job {
	const struct setup_host *host;
	const char *text;
	size_t len;
	const char *program, *workspace;
};

enum setup_merged setup_merge_json(const struct setup_merge_job *job, struct buf *out,
				   struct err *e);
enum setup_merged setup_merge_toml(const struct setup_merge_job *job, struct buf *out,
				   struct err *e);

/* The file has an entry of our name that says something else. Returns SETUP_REFUSED. */
enum setup_merged setup_merge_other(struct err *e);

#endif
