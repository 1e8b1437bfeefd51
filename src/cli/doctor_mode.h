/*
 * cli_doctor_mode - the kinds of machine in docs/security.md, "Modes".
 *
 * A missing layer is worth a failing status only where this kind of machine should have it: a
 * container or a hardened kernel refuses namespaces to everybody. Judges by what the process may
 * do and what the kernel has, and, as nothing else tells for an ordinary user, by whether
 * namespaces could be made.
 */
#ifndef PROCPEN_CLI_DOCTOR_MODE_H
#define PROCPEN_CLI_DOCTOR_MODE_H

#include <stdbool.h>

struct cli_doctor_mode;

/* What a trial found: were namespaces refused, are there control groups? */
struct cli_doctor_trial {
	bool no_namespaces, control_groups;
};

/* The kind of this machine, as this process sees it; never NULL. */
const struct cli_doctor_mode *cli_doctor_mode_find(const struct cli_doctor_trial *trial);

/* As in the first column of the table, without what stands there in parentheses. */
const char *cli_doctor_mode_name(const struct cli_doctor_mode *mode);

/* Does it make a sandbox weaker that @layer (a name without detail) is missing? Not control groups
 * and network namespaces: the shim and the filter do the same, less sharply. */
bool cli_doctor_mode_counts(const char *layer);

/* Is this kind of machine known to lack @layer? Then commands run with less, and nothing is
 * wrong. */
bool cli_doctor_mode_lacks(const struct cli_doctor_mode *mode, const char *layer);

#endif
