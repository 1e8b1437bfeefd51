#include "policy/grants.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

void grants_release(struct grants *g)
{
	explicit_bzero(g->secret, sizeof(g->secret));
	free(g->list);
	*g = (struct grants){ .list = NULL };
}

int grants_digest(struct grants *g, const void *bytes, size_t len, unsigned char out[DIGEST_SIZE])
{
	if (!g->has_secret && getrandom(g->secret, sizeof(g->secret), GRND_NONBLOCK) !=
				      (ssize_t)sizeof(g->secret))
		return -1;
	g->has_secret = true;
	digest_sign(g->secret, sizeof(g->secret), bytes, len, out);
	return 0;
}

unsigned grants_find(const struct grants *g, const unsigned char digest[DIGEST_SIZE])
{
	unsigned oldest = g->made > GRANTS_MAX ? g->made - GRANTS_MAX : 0;

	for (unsigned n = g->made; n > oldest; n--)
		if (digest_equal(g->list[(n - 1) % GRANTS_MAX], digest, DIGEST_SIZE))
			return n;
	return 0;
}

unsigned grants_add(struct grants *g, const unsigned char digest[DIGEST_SIZE])
{
	if (!g->list)
		g->list = mem_zalloc(GRANTS_MAX * sizeof(*g->list));
	memcpy(g->list[g->made % GRANTS_MAX], digest, DIGEST_SIZE);
	return ++g->made;
}
