/*
 * Writes strings as JSON in every format: without control characters, which are refused, such a
 * string means the same in TOML, YAML and Lisp.
 */
#include "cli/setup/host.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"

#define UNIT "  "

const struct setup_host setup_hosts[] = {
	{ .name = "claude-desktop", .title = "Claude Desktop", .format = SETUP_JSON,
	  .folder_env = "XDG_CONFIG_HOME", .folder = ".config",
	  .file = "Claude/claude_desktop_config.json", .parent = "mcpServers",
	  .note = "It starts servers outside of your project with a small environment, so the "
		  "workspace is named. Quit it before the file is changed." },
	{ .name = "claude-code", .title = "Claude Code", .format = SETUP_JSON,
	  .folder_env = "CLAUDE_CONFIG_DIR", .folder = "", .file = ".claude.json",
	  .parent = "mcpServers", .type = "stdio", .workspace = "",
	  .named_by = "CLAUDE_PROJECT_DIR",
	  .note = "It rewrites this file while it runs: end it first, or use `claude mcp "
		  "add-json`." },
	{ .name = "vscode", .title = "VS Code", .format = SETUP_JSONC,
	  .folder_env = "XDG_CONFIG_HOME", .folder = ".config", .file = "Code/User/mcp.json",
	  .parent = "servers", .type = "stdio", .workspace = "${workspaceFolder}",
	  .note = "The member is `servers`, not `mcpServers`. A window without a folder cannot "
		  "start it. For one project: --file .vscode/mcp.json" },
	{ .name = "cursor", .title = "Cursor", .format = SETUP_JSON,
	  .folder = ".cursor", .file = "mcp.json", .parent = "mcpServers",
	  .workspace = "${workspaceFolder}",
	  .note = "Names of server and tool together may have 60 characters. For one project: "
		  "--file .cursor/mcp.json" },
	{ .name = "zed", .title = "Zed", .format = SETUP_JSONC,
	  .folder_env = "XDG_CONFIG_HOME", .folder = ".config", .file = "zed/settings.json",
	  .parent = "context_servers",
	  .note = "It gives up on a call after 60 seconds." },
	{ .name = "codex", .title = "Codex", .format = SETUP_TOML,
	  .folder_env = "CODEX_HOME", .folder = ".codex", .file = "config.toml",
	  .parent = "mcp_servers", .workspace = "",
	  .note = "It gives servers a small environment; env_vars names what to pass on. Its "
		  "time limit is tool_timeout_sec." },
	{ .name = "gemini-cli", .title = "Gemini CLI", .format = SETUP_JSONC,
	  .folder = ".gemini", .file = "settings.json", .parent = "mcpServers", .workspace = "",
	  .dollar_names = true, .no_last_comma = true,
	  .note = "Servers start in trusted folders only. It gives servers its environment and "
		  "cannot ask its user for a confirmation." },
	{ .name = "opencode", .title = "opencode", .format = SETUP_JSONC,
	  .folder_env = "XDG_CONFIG_HOME", .folder = ".config", .file = "opencode/opencode.json",
	  .parent = "mcp", .type = "local", .joined = true, .workspace = "",
	  .brace_names = true,
	  .note = "The command is one list, and `env` is called `environment`. When you have an "
		  "opencode.jsonc, name it with --file." },
	{ .name = "goose", .title = "Goose", .format = SETUP_YAML,
	  .folder_env = "XDG_CONFIG_HOME", .folder = ".config", .file = "goose/config.yaml",
	  .parent = "extensions",
	  .note = "The program is called `cmd`, the environment `envs`; timeout is in seconds." },
	{ .name = "jetbrains", .title = "JetBrains (Junie, AI Assistant)", .format = SETUP_JSON,
	  .folder = ".junie", .file = "mcp/mcp.json", .parent = "mcpServers",
	  .note = "The file is Junie's. For AI Assistant paste the text in Settings | Tools | AI "
		  "Assistant | Model Context Protocol (MCP)." },
	{ .name = "neovim", .title = "Neovim (mcphub.nvim)", .format = SETUP_JSONC,
	  .folder_env = "XDG_CONFIG_HOME", .folder = ".config", .file = "mcphub/servers.json",
	  .parent = "mcpServers",
	  .dollar_names = true,
	  .note = "One hub serves all editors, so its working directory is not a project." },
	{ .name = "emacs", .title = "Emacs (mcp.el)", .format = SETUP_LISP,
	  .note = "Put it into your init file; M-x mcp-hub starts it." },
	{ .name = NULL },
};

const struct setup_host *setup_host_find(const char *name)
{
	for (const struct setup_host *host = setup_hosts; host->name; host++)
		if (!strcmp(host->name, name))
			return host;
	return NULL;
}

static char *setup_host_join(const char *folder, const char *middle, const char *file)
{
	return mem_printf("%s%s%s/%s", folder, *middle ? "/" : "", middle, file);
}

char *setup_host_file(const struct setup_host *host, struct err *e)
{
	const char *home = getenv("HOME");
	const char *folder = host->folder_env ? getenv(host->folder_env) : NULL;

	if (!host->file) {
		err_set(e, ERR_INVALID_PARAMS, "%s reads its servers from your init file, which "
			"setup does not edit", host->title);
		err_hint(e, "Paste the snippet into that file yourself: " SETUP_PRINTS, host->name);
		return NULL;
	}
	if (folder && *folder == '/')
		return setup_host_join(folder, "", host->file);
	/* XDG says to ignore a relative one; hosts do not. */
	if (folder && *folder && strncmp(host->folder_env, "XDG_", 4)) {
		err_set(e, ERR_INVALID_PARAMS, "%s is not an absolute path", host->folder_env);
		err_hint(e, "Name the file with --file FILE.");
		return NULL;
	}
	if (home && *home == '/' && (!access(home, F_OK) || errno != ENOENT))
		return setup_host_join(home, host->folder, host->file);
	err_set(e, ERR_INVALID_PARAMS, "cannot find the file of %s: HOME %s", host->title,
		!home || !*home ? "is not set" : *home == '/' ? "does not exist"
							     : "is not an absolute path");
	err_hint(e, "Name the file with --file FILE.");
	return NULL;
}

/* The first thing in @text that @host would replace, or NULL. */
static const char *setup_host_find_variable(const struct setup_host *host, const char *text)
{
	if (strstr(text, "${"))
		return "`${`, which hosts replace";
	for (const char *c = text; host->dollar_names && *c; c++)
		if (*c == '$' && (isalnum((unsigned char)c[1]) || c[1] == '_'))
			return "`$` before a name, which this host replaces";
	if (host->brace_names && (strstr(text, "{env:") || strstr(text, "{file:")))
		return "`{env:` or `{file:`, which this host replaces";
	return NULL;
}

/* Can @text go into a configuration file? It may be the host's own variable for the project. */
static int setup_host_check_word(const struct setup_host *host, const char *text, struct err *e)
{
	bool ours = host->workspace && !strcmp(text, host->workspace);
	const char *wrong = NULL;

	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			wrong = "a control character";
	if (!utf8_valid(text, strlen(text)))
		wrong = "bytes that are not UTF-8";
	else if (!ours && !wrong)
		wrong = setup_host_find_variable(host, text);
	if (!wrong)
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "the command that starts procpen has %s in a word",
		wrong);
	return err_hint(e, "Such a name cannot stand in a configuration file: rename it.");
}

static void setup_host_add_string(struct buf *out, const char *text)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_str(&w, NULL, text);
}

/* The words as a list. */
static void setup_host_add_list(struct buf *out, char *const *words)
{
	buf_adds(out, "[");
	for (; *words; words++) {
		setup_host_add_string(out, *words);
		buf_adds(out, words[1] ? ", " : "");
	}
	buf_adds(out, "]");
}

void setup_host_new_line(struct buf *out, int level, const char *unit)
{
	buf_addc(out, '\n');
	while (level-- > 0)
		buf_adds(out, unit);
}

static void setup_host_add_json(const struct setup_host *host, char *const *command, int level,
				const char *unit, struct buf *out)
{
	buf_addc(out, '{');
	if (host->type) {
		setup_host_new_line(out, level + 1, unit);
		buf_addf(out, "\"type\": \"%s\",", host->type);
	}
	setup_host_new_line(out, level + 1, unit);
	buf_adds(out, "\"command\": ");
	if (host->joined) {
		setup_host_add_list(out, command);
		buf_addc(out, ',');
		setup_host_new_line(out, level + 1, unit);
		buf_adds(out, "\"enabled\": true");
	} else {
		setup_host_add_string(out, command[0]);
		buf_addc(out, ',');
		setup_host_new_line(out, level + 1, unit);
		buf_adds(out, "\"args\": ");
		setup_host_add_list(out, command + 1);
	}
	setup_host_new_line(out, level, unit);
	buf_addc(out, '}');
}

static void setup_host_add_toml(const struct setup_host *host, char *const *command,
				struct buf *out)
{
	buf_addf(out, "[%s.%s]\ncommand = ", host->parent, SETUP_ENTRY_NAME);
	setup_host_add_string(out, command[0]);
	buf_adds(out, "\nargs = ");
	setup_host_add_list(out, command + 1);
	buf_addc(out, '\n');
}

static void setup_host_add_yaml(const struct setup_host *host, char *const *command,
				struct buf *out)
{
	buf_addf(out, "%s:\n  %s:\n    type: stdio\n    name: %s\n    enabled: true\n    cmd: ",
		 host->parent, SETUP_ENTRY_NAME, SETUP_ENTRY_NAME);
	setup_host_add_string(out, command[0]);
	buf_adds(out, "\n    args: ");
	setup_host_add_list(out, command + 1);
	buf_adds(out, "\n    envs: {}\n    timeout: 300\n");
}

static void setup_host_add_lisp(char *const *command, struct buf *out)
{
	buf_adds(out, "(with-eval-after-load 'mcp-hub\n"
		      "  (add-to-list 'mcp-hub-servers\n"
		      "               '(\"" SETUP_ENTRY_NAME "\" . (:command ");
	setup_host_add_string(out, command[0]);
	buf_adds(out, "\n                              :args (");
	for (char *const *word = command + 1; *word; word++) {
		setup_host_add_string(out, *word);
		buf_adds(out, word[1] ? " " : "");
	}
	buf_adds(out, ")))))\n");
}

int setup_host_entry(const struct setup_host *host, char *const *command, int level,
		     const char *unit, struct buf *out, struct err *e)
{
	for (char *const *word = command; *word; word++)
		if (setup_host_check_word(host, *word, e))
			return -1;
	switch (host->format) {
	case SETUP_JSON:
	case SETUP_JSONC:
		setup_host_add_json(host, command, level, unit, out);
		break;
	case SETUP_TOML:
		setup_host_add_toml(host, command, out);
		break;
	case SETUP_YAML:
		setup_host_add_yaml(host, command, out);
		break;
	case SETUP_LISP:
		setup_host_add_lisp(command, out);
		break;
	}
	return 0;
}

int setup_host_snippet(const struct setup_host *host, char *const *command, struct buf *out,
		       struct err *e)
{
	bool json = host->format == SETUP_JSON || host->format == SETUP_JSONC;

	if (json)
		buf_addf(out, "{\n" UNIT "\"%s\": {\n" UNIT UNIT "\"%s\": ", host->parent,
			 SETUP_ENTRY_NAME);
	if (setup_host_entry(host, command, 2, UNIT, out, e))
		return -1;
	if (json)
		buf_adds(out, "\n" UNIT "}\n}\n");
	return 0;
}
