/* version - the version the Makefile names, and the day it was made, which man pages show. */
#ifndef PROCPEN_BASE_VERSION_H
#define PROCPEN_BASE_VERSION_H

#ifndef PROCPEN_VERSION
#define PROCPEN_VERSION "0.1.0"
#endif

#define PROCPEN_DATE "2026-11-22"

#endif
