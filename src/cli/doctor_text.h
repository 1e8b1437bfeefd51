/* cli_doctor_text - what procpen doctor has found, for people. */
#ifndef PROCPEN_CLI_DOCTOR_TEXT_H
#define PROCPEN_CLI_DOCTOR_TEXT_H

#include <jansson.h>

/* As "layer" of what is missing: it keeps everything from starting. */
#define CLI_DOCTOR_START "start"

/* Print @found, the object of --json, on stdout: the verdict, the places, what works, what is
 * missing with the way to get it, and what stays open; hidden characters are shown by code. */
void cli_doctor_print_text(const json_t *found);

#endif
