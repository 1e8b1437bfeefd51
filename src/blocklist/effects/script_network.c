#include "blocklist/effects/script_network.h"

#include <string.h>

#include "blocklist/command/list.h"
#include "blocklist/effects/script_code.h"

static bool script_network_is_shell(const struct script_text *t, size_t i)
{
	static const char shells[] = " sh bash /bin/sh /bin/bash dash /bin/dash ";
	const struct shell_word *w = script_string(t, i);

	return w && w->text.len && list_has(shells, w->text.s, strcspn(w->text.s, " "));
}

/* Does a shell that has @s behind its name, or as its next argument, still read its input: -i, -l,
 * --login, 0<&3, not x or -c? */
static bool script_network_leaves_input(const char *s)
{
	if (*s == '-')
		return s[1] == '-' || !memchr(s, 'c', strcspn(s, " "));
	return !*s || strchr("<>&", s[strspn(s, "0123456789")]);
}

/* A shell that reads its input: "/bin/sh -i", ["bash"], not "bash x" or ["bash", "-c", "x"]. */
static bool script_network_names_shell(const struct script_text *t, size_t i)
{
	const struct shell_word *next;
	const char *rest;

	if (!script_network_is_shell(t, i))
		return false;
	rest = t->tokens[i].string.text.s + strcspn(t->tokens[i].string.text.s, " ");
	if (!script_network_leaves_input(rest + strspn(rest, " ")))
		return false;
	i++;
	while (script_is_char(t, i, ',') || script_is_char(t, i, '['))
		i++;
	next = script_string(t, i);
	return !next || script_network_is_shell(t, i) || script_network_leaves_input(next->text.s);
}

/* connect(...) and require("net"); sqlite3.connect(...) opens a file. */
static bool script_network_connects(const struct script_text *t, size_t i)
{
	return script_token_in(t, i, " socket fsockopen pfsockopen TCPSocket Socket "
				     "create_connection createConnection Sockets INET ") ||
	       (script_token_in(t, i, " connect ") && i >= 2 &&
		(!script_is_char(t, i - 1, '.') || script_is_char(t, i - 2, ')') ||
		 script_token_in(t, i - 2, " net tls "))) ||
	       script_is_module(t, i, " net tls node:net node:tls ");
}

/* c.gets of Ruby, <$c> and <> of Perl, c.on("data", of Node: a line of a connection. */
static bool script_network_reads(const struct script_text *t, size_t i)
{
	if (script_string_in(t, i, " data "))
		return script_token_in(t, i - 2, " on ");
	return (script_token_in(t, i, " gets ") && script_is_char(t, i - 1, '.')) ||
	       (script_is_char(t, i, '<') &&
		(script_is_char(t, i + 1, '>') ||
		 (script_is_char(t, i + 1, '$') && script_is_char(t, i + 3, '>'))));
}

/* popen(c, exec(c.toString()), `$_` and `#{c}`: it runs what a variable holds. */
static bool script_network_runs_variable(const struct script_text *t, size_t i)
{
	if (i < t->count && t->tokens[i].kind == TOKEN_RUN)
		return strncmp(t->tokens[i].string.text.s, "#{", 2) == 0 ||
		       (t->tokens[i].string.text.s[0] == '$' &&
			t->tokens[i].string.text.s[1] != '{'); /* a text of JavaScript */
	if (!script_token_in(t, i, " popen ") &&
	    !(script_token_in(t, i, " system exec execSync ") && script_is_function(t, i)))
		return false; /* re.exec(line) matches it */
	i++;
	i += script_is_char(t, i, '(');
	i += script_is_char(t, i, '$');
	return i < t->count && t->tokens[i].kind == TOKEN_NAME && !script_is_char(t, i + 1, '(');
}

bool script_is_remote_shell(const struct script_text *t)
{
	if (!script_any(t, script_network_connects))
		return false;
	if (script_any(t, script_network_reads) && script_any(t, script_network_runs_variable))
		return true;
	return (script_any_name(t, " dup2 ") || script_any(t, script_network_names_shell)) &&
	       script_any_name(t, " exec spawn pty popen Popen call run system shell_exec "
				  "proc_open execve execute passthru subprocess ");
}

/* Is the name @i used as one that is called, has members or gets another name: requests.get,
 * Net::HTTP, fetch(x), import os, httpx as h? Prose has such words, too: https://x, "to fetch it".
 */
static bool script_network_is_used(const struct script_text *t, size_t i)
{
	return script_is_char(t, i + 1, '.') || script_is_char(t, i + 1, '(') ||
	       (script_is_char(t, i + 1, ':') && script_is_char(t, i + 2, ':')) ||
	       script_token_in(t, i + 1, " as ") ||
	       script_token_in(t, i - 1, " import from use require as ");
}

/* get is one with a URL, or a variable of Perl: d.get(key) reads a dictionary. */
bool script_fetches(const struct script_text *t, size_t i)
{
	static const char modules[] = " http https node:http node:https node-fetch undici axios "
				      "got request superagent ";
	static const char names[] = " urlopen urllib urllib2 requests httpx http https fetch "
				    "file_get_contents LWP curl_exec urlretrieve open_uri "
				    "HTTParty axios URI Net HTTP aiohttp needle Faraday "
				    "RestClient ";
	size_t at = i + 1 + script_is_char(t, i + 1, '(');
	const struct shell_word *url = script_string(t, at);

	if (!script_token_in(t, i, " get "))
		return (script_token_in(t, i, names) && script_network_is_used(t, i)) ||
		       script_is_module(t, i, modules);
	if (url)
		return strncmp(url->text.s, "http", 4) == 0;
	return script_is_char(t, at, '$') && (!i || !script_is_char(t, i - 1, '>'));
}
