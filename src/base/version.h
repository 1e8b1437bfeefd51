/*
 * version - the version of this source and the day it was made. Every page, package and answer
 * takes them from here; `make release` refuses a VERSION that is another one.
 */
#ifndef PROCPEN_BASE_VERSION_H
#define PROCPEN_BASE_VERSION_H

#define PROCPEN_VERSION "0.1.0"
#define PROCPEN_DATE "2026-11-22"

#endif
