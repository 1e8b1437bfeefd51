/*
 * proc_life - what the start of a run (proc_start.c) asks of its life (proc.c).
 */
#ifndef PROCPEN_PROC_PROC_LIFE_H
#define PROCPEN_PROC_PROC_LIFE_H

struct proc;
struct proc_live;

/* What is watched while @p lives: nothing yet, but every callback leads to @p. */
struct proc_live *proc_live_new(struct proc *p, const char *path);

/* A limit is proven to have struck: the whole run @ctx ends with it. */
void proc_on_limit(void *ctx);

#endif
