/*
 * sockets - is a network namespace as new after a command, so that it may serve another one?
 *
 * Two things must not be there. One is a descriptor that somebody else was sent (a socket, a file
 * of /proc/net): it would show or reach the next command. Only through a socket of AF_UNIX is a
 * descriptor sent (unix(7), SCM_RIGHTS), so a second filter stops each call that makes one until
 * the shim, which holds its listener, has noted the call and lets it go on (seccomp_unotify(2)).
 * What the first filter refuses does not get here, because a refusal outranks a notification; it
 * must refuse all other ways to a socket (io_uring, the calls of other architectures). Other
 * sockets cannot leave the run.
 *
 * The other is what the kernel keeps: a socket whose last reference it drops later (one in the
 * queue of another, or one that io_submit(2) waits for), a connection that is closed, the labels of
 * IPv6 flows. /proc/net counts the sockets and lists the labels. Without CAP_NET_ADMIN all else
 * begins with a packet, and all packets cross the loopback device, which counts them; but a raw
 * socket of IP, which takes CAP_NET_RAW, can set options of the namespace. So the shim is told of
 * these, too.
 *
 * Order: sockets_begin() when the namespace is new; sockets_forget() before the command's process
 * is cloned, which shares the shim's memory and table of descriptors; that process calls
 * sockets_watch() and, before its exec, sockets_note_inherited(). Then the shim polls
 * sockets_listener().
 */
#ifndef PROCPEN_OS_SHIM_SOCKETS_H
#define PROCPEN_OS_SHIM_SOCKETS_H

/* The network namespace is new. The current directory is a /proc that shows this process. */
void sockets_begin(void);

/* Forget the last command. Until sockets_watch() the answer of sockets_left_traces() is yes. */
void sockets_forget(void);

/*
 * In the command's process: from here on have the shim told. Gives this process a table of
 * descriptors of its own. Where the kernel has no such listener, or something around the server has
 * one already, sockets_left_traces() stays true. Returns 0, or a negative errno: this process must
 * end.
 */
long sockets_watch(void);

/* In the command's process: is one of its descriptors 0 to 2 a socket? */
void sockets_note_inherited(void);

/* The descriptor to poll for POLLIN, or -1. */
int sockets_listener(void);

/* Note the call that has come, and let it go on. @revents: of poll(2), not 0. */
void sockets_serve(int revents);

/* The command's tree is empty: is its network namespace other than new, or is that not known? */
int sockets_left_traces(void);

#endif
