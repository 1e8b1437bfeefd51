#include "blocklist/effects/script_names.h"

const char script_runs[] =
	" system popen Popen exec execl execlp execle execv execvp execve execvpe spawn spawnl "
	"spawnlp spawnv spawnvp spawnSync execSync execFile execFileSync call check_call "
	"check_output run "
	"getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec popen2 popen3 capture2 "
	"capture2e capture3 posix_spawn posix_spawnp execute spawn_shell create_subprocess_shell "
	"create_subprocess_exec sh command cmd CreateProcess startProcess Command outputOf "
	"CommandContext ProcessBuilder open2 open3 systemx capturex exec_command "
	"exec_sync $ execa execaSync execaCommand execaCommandSync ";

const char script_sure_runs[] =
	" run system popen Popen call check_call check_output exec execSync spawn spawnSync "
	"shell_exec passthru ";

const char script_removes_tree[] =
	" rmtree remove_tree remove_dir rm_rf rm_r rmSync rm rmdirSync removeSync RemoveAll "
	"remove_dir_all rimraf emptyDirSync emptyDir remove_entry_secure remove_entry deltree "
	"delTree deleteDir deleteRecursively deleteDirectory ";

const char script_removes[] = " unlink remove unlinkSync removedirs delete rm_f safe_unlink ";

const char script_removed[] = "remove";

/* s = os.system, const e = require("child_process").execSync */
void script_note_alias(struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, script_runs) || script_is_char(&r->t, i + 1, '(') ||
	    !script_is_char(&r->t, i - 1, '.') || r->alias_count == SCRIPT_ALIASES_MAX)
		return;
	for (size_t k = i; k-- > 1 && i - k < 10 && !script_is_char(&r->t, k, ';') &&
			   !script_new_statement(&r->t, k + 1);)
		if (script_is_char(&r->t, k, '=') && r->t.tokens[k - 1].kind == TOKEN_NAME) {
			r->aliases[r->alias_count++] = k - 1;
			return;
		}
}

/* from os import system as s, {execSync: e}, from shutil import rmtree as r, and
 * import subprocess as p */
void script_note_renames(struct script_reader *r)
{
	for (size_t k = 2; k < r->t.count && r->alias_count < SCRIPT_ALIASES_MAX; k++) {
		bool as = script_token_in(&r->t, k - 1, " as ");
		bool tree = as && script_token_in(&r->t, k - 2, script_removes_tree);
		bool one = as && script_token_in(&r->t, k - 2, script_removes);
		bool run = (as || script_is_char(&r->t, k - 1, ':')) &&
			   script_token_in(&r->t, k - 2, script_runs);

		if (as && script_token_in(&r->t, k - 2, " subprocess "))
			r->subprocess = k;
		if (r->t.tokens[k].kind != TOKEN_NAME || !(tree || one || run))
			continue;
		r->alias_effects[r->alias_count] =
			tree ? "remove_tree" : one ? script_removed : NULL;
		r->aliases[r->alias_count++] = k;
	}
}

bool script_renamed(const struct script_reader *r, size_t i, const char **effect)
{
	for (size_t k = 0; k < r->alias_count; k++)
		if (script_same_text(&r->t, r->aliases[k], i)) {
			*effect = r->alias_effects[k];
			return r->aliases[k] != i;
		}
	return false;
}
