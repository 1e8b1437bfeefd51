/*
 * readers - one function for each family of programs.
 *
 * A reader looks at a command's words and known standard input, and adds the command's
 * actions to @out. It never judges. New words live in @out's arena; long work is charged
 * to @out's budget. effects/effects maps programs to readers.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_READERS_H
#define PROCPEN_BLOCKLIST_EFFECTS_READERS_H

#include "blocklist/command/action.h"

/* ---- signals: kill, pkill, and commands that end each item of a list ---- */

void read_kill(const struct command *cmd, struct action_list *out);
void read_pkill(const struct command *cmd, struct action_list *out);
void read_listed(const struct command *cmd, struct action_list *out);

/* ---- modes: chmod -R ---- */

void read_chmod(const struct command *cmd, struct action_list *out);

/* ---- emptied: files that get nothing ---- */

void read_copied_nothing(const struct command *cmd, struct action_list *out);
void read_linked_nothing(const struct command *cmd, struct action_list *out);
void read_dd_nothing(const struct command *cmd, struct action_list *out);
void read_tee_nothing(const struct command *cmd, struct action_list *out);

/* ---- directory: cd, git -C DIR clean ---- */

void read_cd(const struct command *cmd, struct action_list *out);
void read_pushd(const struct command *cmd, struct action_list *out);
void read_git_clean(const struct command *cmd, struct action_list *out);

/* ---- builtins: source, trap, eval, sh --rcfile ---- */

void read_source(const struct command *cmd, struct action_list *out);
void read_trap(const struct command *cmd, struct action_list *out);
void read_mapfile(const struct command *cmd, struct action_list *out);
void read_bind(const struct command *cmd, struct action_list *out);
void read_eval(const struct command *cmd, struct action_list *out);
void read_startup_file(const struct command *cmd, struct action_list *out);

/* ---- jobs: at, crontab, and programs that read lines of arguments ---- */

void read_at(const struct command *cmd, struct action_list *out);
void read_batch(const struct command *cmd, struct action_list *out);
void read_crontab(const struct command *cmd, struct action_list *out);
void read_chpasswd(const struct command *cmd, struct action_list *out);
void read_iptables_restore(const struct command *cmd, struct action_list *out);
void read_nft(const struct command *cmd, struct action_list *out);
void read_ufw(const struct command *cmd, struct action_list *out);
void read_parted(const struct command *cmd, struct action_list *out);

/* ---- makefile: make ---- */

void read_make(const struct command *cmd, struct action_list *out);

/* ---- editors: text that editors and databases run, files that they write ---- */

void read_ed(const struct command *cmd, struct action_list *out);
void read_sed(const struct command *cmd, struct action_list *out);
void read_vi(const struct command *cmd, struct action_list *out);
void read_visudo(const struct command *cmd, struct action_list *out);
void read_sql(const struct command *cmd, struct action_list *out);
void read_osascript(const struct command *cmd, struct action_list *out);
void read_powershell(const struct command *cmd, struct action_list *out);

/* ---- options: shell text in options of programs that are no wrappers ---- */

void read_options(const struct command *cmd, struct action_list *out);
void read_sources(const struct command *cmd, struct action_list *out);
void read_tar(const struct command *cmd, struct action_list *out);

/* ---- windows: cmd.exe, PowerShell ---- */

void read_windows(const struct command *cmd, struct action_list *out);

/* ---- npx: programs of packages ---- */

void read_npx(const struct command *cmd, struct action_list *out);
void read_rimraf(const struct command *cmd, struct action_list *out);

/* ---- container, autorun ---- */

void read_container(const struct command *cmd, struct action_list *out);
void read_download(const struct command *cmd, struct action_list *out);
void read_init_script(const struct command *cmd, struct action_list *out);

#endif
