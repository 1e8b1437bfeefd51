/* base64 - strict decoding (RFC 4648 section 4: padded, no white space). Encoding is jsonw's. */
#ifndef PROCPEN_BASE_BASE64_H
#define PROCPEN_BASE_BASE64_H

#include <stddef.h>

/* Decode @len characters into heap memory. *@out_len bytes; NULL when the text is not base64. Never
 * NULL otherwise, also for an empty text. */
char *base64_decode(const char *text, size_t len, size_t *out_len);

#endif
