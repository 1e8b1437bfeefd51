/* base64 - strict decoding (RFC 4648 section 4: padded, no white space). Encoding is jsonw's. */
#ifndef PROCPEN_BASE_BASE64_H
#define PROCPEN_BASE_BASE64_H

#include <stddef.h>

/* Decode @len characters. Returns heap memory, not NULL for an empty text either, with *@out_len
 * bytes; NULL if the text is not base64. */
char *base64_decode(const char *text, size_t len, size_t *out_len);

#endif
