/*
 * terminals - the names in /dev of the terminals that this process sits on.
 *
 * A pseudo-terminal's is in /dev/pts, which commands do not see (os/shim/pts). A virtual console,
 * a serial line, or the terminal that a container engine binds to /dev/console has one in /dev
 * itself, and its user may open it: a command that did would take what he types. Other terminals of
 * the user are not looked for.
 */
#ifndef PROCPEN_OS_SANDBOX_TERMINALS_H
#define PROCPEN_OS_SANDBOX_TERMINALS_H

/*
 * Files in /dev, but no deeper, that are the controlling terminal or what descriptors 0 to 2 are: a
 * list that ends with NULL, for mem_list_free(). Empty if there is none, or /dev cannot be read.
 */
char **terminals_find(void);

#endif
