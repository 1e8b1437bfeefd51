#include "blocklist/effects/effects.h"

#include "base/mem.h"
#include "blocklist/effects/find.h"
#include "blocklist/effects/readers.h"

static void effects_find(const struct command *cmd, struct action_list *out)
{
	find_read(cmd->words, cmd->count, false, out);
}

static void effects_fd(const struct command *cmd, struct action_list *out)
{
	find_read(cmd->words, cmd->count, true, out);
}

/* Asked in this order. */
static const struct reader {
	const char *programs;
	void (*read)(const struct command *cmd, struct action_list *out);
} readers[] = {
	{ " kill ", read_kill },
	{ " chmod gchmod ", read_chmod },
	{ " cp gcp install ginstall ", read_copied_nothing },
	{ " ln gln ", read_linked_nothing },
	{ " dd gdd ", read_dd_nothing },
	{ " tee gtee sponge ", read_tee_nothing },
	{ " killall pkill skill slay snice ", read_pkill },
	{ " cd chdir ", read_cd },
	{ " pushd popd ", read_pushd },
	{ " source . ", read_source },
	{ " trap ", read_trap },
	{ " mapfile readarray ", read_mapfile },
	{ " bind ", read_bind },
	{ " eval ", read_eval },
	{ " find gfind bfs ", effects_find },
	{ " fd fdfind ", effects_fd },
	{ " git ", read_git_clean },
	{ " docker podman nerdctl docker-compose podman-compose ", read_container },
	{ " at batch ", read_at },
	{ " sbatch qsub bsub ", read_batch },
	{ " crontab ", read_crontab },
	{ " chpasswd ", read_chpasswd },
	{ " iptables-restore ip6tables-restore iptables-nft-restore ip6tables-nft-restore "
	  "iptables-legacy-restore ip6tables-legacy-restore ", read_iptables_restore },
	{ " nft ", read_nft },
	{ " ufw ", read_ufw },
	{ " parted ", read_parted },
	{ " make gmake ", read_make },
	{ " ed ", read_ed },
	{ " sed ", read_sed },
	{ " tar gtar ", read_tar },
	{ " npx pnpx bunx npm pnpm yarn bun ", read_npx },
	{ " rimraf del-cli ", read_rimraf },
	{ " vi vim view vimdiff nvim ex vim.tiny gvim ", read_vi },
	{ " visudo vipw vigr ", read_visudo },
	{ " go java jbang dart ", read_sources },
	{ " sqlite3 sqlite psql mysql mariadb duckdb osqueryi ", read_sql },
	{ " osascript ", read_osascript },
	{ " pwsh powershell pwsh.exe powershell.exe ", read_powershell },
	{ " cmd.exe cmd ", read_windows },
	{ " curl wget ", read_download },
	{ " sh bash ", read_startup_file },
};

/* By first character of a program's name: bit i is set for readers[i]. */
static uint64_t readers_by_first[256];

static void effects_fill(void)
{
	_Static_assert(COUNT_OF(readers) <= 64, "a bit for each");
	for (size_t i = 0; i < COUNT_OF(readers); i++)
		for (const char *s = readers[i].programs; s[1]; s += 1 + strcspn(s + 1, " "))
			readers_by_first[(unsigned char)s[1]] |= UINT64_C(1) << i;
}

enum { STEP_INIT_SCRIPT, STEP_LISTED, STEP_READER, STEP_OPTIONS };

static void effects_by_program(const struct command *cmd, struct action_list *out)
{
	uint64_t may;

	if (!readers_by_first['k'])
		effects_fill();
	may = readers_by_first[(unsigned char)cmd->program.s[0]];
	for (; may; may &= may - 1) {
		const struct reader *r = &readers[__builtin_ctzll(may)];

		if (command_in(cmd, r->programs)) {
			r->read(cmd, out);
			return;
		}
	}
}

bool effects_read(const struct command *cmd, unsigned *step, struct action_list *out)
{
	switch ((*step)++) {
	case STEP_INIT_SCRIPT:
		read_init_script(cmd, out);
		return true;
	case STEP_LISTED:
		read_listed(cmd, out);
		return true;
	case STEP_READER:
		effects_by_program(cmd, out);
		return true;
	case STEP_OPTIONS:
		if (cmd->name && (cmd->name->flow & FLOW_KIND_HIDDEN))
			read_options(cmd, out);
		return true;
	default:
		return false;
	}
}
