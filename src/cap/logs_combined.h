/*
 * logs_combined - both streams of a run as one list of entries, in the order of arrival.
 *
 * A position counts the bytes of both streams before it in that order. A character that two reads
 * have cut belongs to the second one, so that no entry of text has half a character; the start of
 * one whose rest never comes is the end of all.
 */
#ifndef PROCPEN_CAP_LOGS_COMBINED_H
#define PROCPEN_CAP_LOGS_COMBINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "proc/proc.h"

/* How far a reader has come in stdout and stderr. */
struct logs_place {
	uint64_t at[2];
};

struct logs_combined {
	bool base64, clean; /* as in struct output_page */
	size_t max_bytes;   /* raw, of both streams together */
	size_t max_encoded, max_text;
};

/* The place at position @since of @p, or that where the last @lines lines begin. */
void logs_combined_since(const struct proc *p, bool base64, uint64_t since,
			 struct logs_place *place);
void logs_combined_tail(const struct proc *p, bool base64, uint64_t lines,
			struct logs_place *place);

/* Is there an entry at @place? A clean one that is not complete holds up all that came later. */
bool logs_combined_goes_on(const struct proc *p, const struct logs_combined *page,
			   const struct logs_place *place);

/* Write the member "entries" from @place on, and move @place behind them. */
void logs_combined_write(struct jsonw *w, const struct proc *p, const struct logs_combined *page,
			 struct logs_place *place);

#endif
