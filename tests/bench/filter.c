/* filter - writes procpen's own seccomp filter to stdout, for `floor filter`. */
#include <stdio.h>

#include "base/err.h"
#include "os/confine_seccomp.h"

int main(void)
{
	struct sock_filter *code;
	struct err e = { 0 };
	size_t len;

	if (confine_seccomp_build(&code, &len, &e)) {
		fprintf(stderr, "filter: the seccomp filter cannot be built\n");
		return 1;
	}
	return fwrite(code, sizeof(*code), len, stdout) == len ? 0 : 1;
}
