/* version - the version the Makefile names. */
#ifndef PROCPEN_BASE_VERSION_H
#define PROCPEN_BASE_VERSION_H

#ifndef PROCPEN_VERSION
#define PROCPEN_VERSION "0.1.0"
#endif

#endif
