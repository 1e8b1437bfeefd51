/*
 * table - the rows of schema/blocklist.json, as src/gen writes them.
 *
 * docs/blocklist.md explains the fields to authors of rules. A list of names in one string
 * has a space before and after each name.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_TABLE_H
#define PROCPEN_BLOCKLIST_COMMAND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"

/* A class of paths. Its index in the table is its bit in a set of classes. */
struct blocklist_target {
	struct strtab_text name;
	struct strtab_text text;   /* "a system directory" */
	struct strtab_list paths;  /* patterns; "/x/ **" without the space: and all below */
	struct strtab_list except; /* not these */
	struct strtab_list sweeps; /* nor these globs, as a whole */
	bool tree;                 /* also hit by a glob for all of its content: "/etc/ *" */
	bool empty;                /* also hit if an empty unknown part would give one of them */
	bool guess;                /* an unknown name where they are counts as one of them */
};

/* What a program does to operands. */
struct blocklist_effect {
	struct strtab_text name;     /* "remove_tree" */
	struct strtab_text operands; /* "all" "first" "last" "but_last" "rest" "files", "of=",
				      * "-t --target" */
	struct strtab_text need;     /* one of these options; or none is needed */
	struct strtab_text unless;   /* none of these options */
};

struct blocklist_program {
	struct strtab_text values; /* options that take a value */
	struct strtab_text inert;  /* with one of these options it has no effect */
	uint16_t effects; /* where they begin in blocklist_effects, ended by one without a name */
};

enum blocklist_wrapper_kind {
	WRAPPER_RUN,    /* runs the rest of its words */
	WRAPPER_SHELL,  /* a shell: -c TEXT, or a script on stdin */
	WRAPPER_TEXT,   /* its operands, joined by spaces, are shell text */
	WRAPPER_OPTION, /* only the value of an option is run: su -c TEXT */
	WRAPPER_SCAN,   /* runs its last words, from the first that cannot be an option's value */
	WRAPPER_CODE,   /* an interpreter of another language */
};

struct blocklist_wrapper {
	enum blocklist_wrapper_kind kind;
	struct strtab_text values; /* options that take a value */
	struct strtab_text text;   /* options whose value is shell text (WRAPPER_CODE: its program
				    * text) */
	struct strtab_text inert;  /* with one of these options nothing is run */
	struct strtab_text directory; /* options whose value becomes the working directory */
	unsigned skip;      /* operands before the command */
	bool assigns;       /* NAME=VALUE before the command */
	bool remote;        /* its command is shell text in one or more words */
	bool feeds;         /* adds words of its own to the command (xargs) */
	bool lenient;       /* its text may be invalid shell text */
	bool login;         /* without a command it starts a shell */
	bool multicall;     /* its first operand is a program by name (busybox) */
};

struct blocklist_rule {
	struct strtab_text id;
	struct strtab_text effects; /* of these programs' effects; none: a rule on commands */
	struct strtab_list need;    /* groups of options, one of each */
	struct strtab_text forbid;  /* options */
	struct strtab_list words;   /* operands in this order, each one of a group */
	struct strtab_text operands; /* which ones, as in an effect */
	uint64_t targets;     /* an operand is in one of these classes; 0: any operand */
	bool guess;           /* also judged for a program whose name is unknown */
	bool operandless;     /* only without any operand */
	bool always;          /* also with --help and other options that make a program harmless */
	struct strtab_text reason;
	struct strtab_text suggestion;
};

/* What a program does with text; bits. */
enum blocklist_flow_kind {
	FLOW_KIND_FETCH = 1,     /* prints data from the network */
	FLOW_KIND_DECODE = 2,    /* decodes its input: gunzip */
	FLOW_KIND_DECODE_D = 4,  /* with -d: base64 */
	FLOW_KIND_DECODE_R = 8,  /* with -r: xxd */
	FLOW_KIND_ALL = 16,      /* may list all processes, packages, disks (effects/listing) */
	FLOW_KIND_SERVICE = 32,  /* lists the processes of a service that is protected */
	FLOW_KIND_PICK = 64,     /* drops lines, or parts of them */
	FLOW_KIND_KEEP = 128,    /* keeps every line */
	FLOW_KIND_PRINT = 256,   /* prints its words, or the files that they name */
	FLOW_KIND_LIST = 512,    /* prints file names: ls, echo */
	FLOW_KIND_FIND = 1024,
	FLOW_KIND_FD = 2048,
	FLOW_KIND_COMPUTE = 4096, /* an interpreter */
	FLOW_KIND_HIDDEN = 8192,  /* has options that hold shell text (effects/options) */
	FLOW_KIND_FILTER = 16384, /* changes the text of its input: sed, tr */
};

/* Where a text comes from, or what it lists; bits. */
enum blocklist_flow {
	FLOW_REMOTE = 1,  /* from the network */
	FLOW_DECODED = 2, /* decoded or computed by a command */
	/* A list of all there are on the machine, see effects/listing. */
	FLOW_PROCESSES = 4,
	FLOW_PACKAGES = 8,
	FLOW_DISKS = 16,
	FLOW_SERVICES = 128, /* processes of a protected service */
	FLOW_LISTS = FLOW_PROCESSES | FLOW_PACKAGES | FLOW_DISKS | FLOW_SERVICES,
	FLOW_FILTERED = 32, /* text of the command itself, changed by a filter */
	FLOW_PRINTED = 64,  /* words of the command, printed */
	FLOW_TEXTS = FLOW_REMOTE | FLOW_DECODED | FLOW_FILTERED, /* may not be run */
};

#define BLOCKLIST_NAME_BYTES 24 /* NUL included */
#define BLOCKLIST_NONE UINT16_MAX

/* A program by name; command/names reads the numbers. */
struct blocklist_name {
	char name[BLOCKLIST_NAME_BYTES];
	uint16_t program;    /* row of blocklist_programs, or BLOCKLIST_NONE */
	uint16_t wrapper;    /* row of blocklist_wrappers, or BLOCKLIST_NONE */
	uint16_t rules;      /* where its list begins in blocklist_name_rules */
	uint16_t flow_words; /* row of blocklist_flow_words, or BLOCKLIST_NONE */
	unsigned flow;       /* enum blocklist_flow_kind */
	unsigned flow_if;    /* further kinds with one of @flow_words among its words */
};

struct blocklist_example {
	const char *rule;
	const char *command;
	bool blocked;
};

extern const struct blocklist_target blocklist_targets[];
extern const unsigned blocklist_target_count;
extern const struct blocklist_effect blocklist_effects[];
extern const struct blocklist_program blocklist_programs[];
extern const struct blocklist_wrapper blocklist_wrappers[];
extern const struct blocklist_rule blocklist_rules[];
extern const unsigned blocklist_rule_count;
extern const struct blocklist_name blocklist_names[];
extern const unsigned blocklist_name_count;
/* Numbers of rules, those on one name ended by BLOCKLIST_NONE. */
extern const uint16_t blocklist_name_rules[];
extern const struct strtab_text blocklist_flow_words[];
extern const struct blocklist_example blocklist_examples[];
extern const unsigned blocklist_example_count;

#endif
