/*
 * plain - the plain JSON-RPC 2.0 dialect: the result is the result object, an
 * error is `error {code, message, data}`, notices are `capability.notify`, and
 * confirmation is a request `capability.confirm` to the client.
 */
#ifndef PROCPEN_RPC_PLAIN_H
#define PROCPEN_RPC_PLAIN_H

#include "rpc/ask.h"
#include "rpc/req.h"

/* The dialect of a connection whose client is asked by @ask, which is borrowed. */
struct dialect plain_dialect(struct ask *ask);

#endif
