/*
 * plain - the plain JSON-RPC 2.0 dialect: the result is the result object, an
 * error is `error {code, message, data}`, notices are `capability.notify`, and
 * confirmation is a request `capability.confirm` to the client.
 */
#ifndef PROCPEN_RPC_PLAIN_H
#define PROCPEN_RPC_PLAIN_H

#include "rpc/ask.h"
#include "rpc/req.h"

extern const struct dialect plain_dialect;

/* Give the dialect its way to ask (set once at start). */
void plain_set_ask(struct ask *ask);

#endif
