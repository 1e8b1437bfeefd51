/* What a text does as a whole: fork in a loop, put a shell on a connection, run what it decodes. */
#include "blocklist/code_reader.h"

#include <string.h>

#include "blocklist/args.h"
#include "blocklist/code.h"

/* A string that names a shell: "/bin/sh -i", "bash". */
static bool names_shell(const struct code_reader *r)
{
	static const char shells[] = " sh bash /bin/sh /bin/bash dash /bin/dash ";

	for (size_t i = 0; i < r->t.count; i++) {
		const struct shell_word *w = &r->t.tokens[i].string;

		if (r->t.tokens[i].kind == TOKEN_STRING && w->text.len &&
		    blocklist_listed(shells, w->text.s, strcspn(w->text.s, " ")))
			return true;
	}
	return false;
}

/* A connection and a shell on it. */
static bool remote_shell(const struct code_reader *r)
{
	return code_any_name(&r->t, " socket fsockopen pfsockopen TCPSocket Socket connect "
				    "create_connection createConnection Sockets INET ") &&
	       (code_any_name(&r->t, " dup2 ") || names_shell(r)) &&
	       code_any_name(&r->t, " exec spawn pty popen Popen call run system shell_exec "
				    "proc_open execve passthru subprocess ");
}

/* while True: Popen([sys.executable] + sys.argv) */
static bool starts_itself(const struct code_reader *r)
{
	bool endless = code_any_name(&r->t, " loop ") || strstr(r->t.text->text.s, "(;;)") ||
		       (code_any_name(&r->t, " while until ") &&
			code_any_name(&r->t, " 1 True true "));

	return endless && code_any_name(&r->t, " Popen spawn fork execFile ") &&
	       code_any_name(&r->t, " executable execPath __filename __FILE__ argv argv0 ");
}

/* exec(Buffer.from("...", "base64").toString()) */
static void read_buffer(struct code_reader *r)
{
	if (!code_any_name(&r->t, " Buffer ") ||
	    !code_any_name(&r->t, " exec execSync spawn spawnSync eval Function "))
		return;
	for (size_t i = 0; i < r->t.count; i++)
		if (r->t.tokens[i].kind == TOKEN_STRING &&
		    blocklist_listed(" base64 hex base64url ", r->t.tokens[i].string.text.s,
				     r->t.tokens[i].string.text.len))
			code_found(r, "pipe.decoded");
}

/* Things that lie in the whole of the text. */
static void read_names(struct code_reader *r)
{
	static const char evals[] =
		" exec eval execfile run runInThisContext runInNewContext "
		"instance_eval class_eval assert create_function Function loads "
		"system popen shell_exec ";
	static const char fetches[] = " urlopen urllib urllib2 requests httpx http https fetch "
				      "file_get_contents LWP get curl_exec urlretrieve open_uri "
				      "HTTParty axios URI Net ";
	static const char decoders[] = " b64decode b32decode a85decode b85decode base64 decode64 "
				       "base64_decode unhexlify fromhex unpack atob decode_base64 "
				       "decompress gzinflate pack rot13 str_rot13 convert_uu "
				       "hex2bin "
				       "codecs marshal ";
	static const char loops[] = " while until loop for ";

	if ((code_any_name(&r->t, " fork vfork cluster pcntl_fork ") &&
	     code_any_name(&r->t, loops)) || starts_itself(r))
		code_found(r, "process.fork_bomb");
	if (remote_shell(r))
		code_found(r, "pipe.remote");
	if (!code_any_name(&r->t, evals))
		return;
	if (code_any_name(&r->t,
			  " exec eval execfile instance_eval create_function Function assert ") &&
	    code_any_name(&r->t, fetches))
		code_found(r, "pipe.remote");
	if (code_any_name(&r->t, decoders))
		code_found(r, "pipe.decoded");
}

/* ctypes.CDLL(None).reboot(0x4321fedc) */
static void read_library_calls(struct code_reader *r)
{
	static const uint8_t kind[6];
	struct shell_word *word;

	if (!code_any_name(&r->t, " CDLL cdll PyDLL LoadLibrary dlopen ") ||
	    !code_any_name(&r->t, " reboot "))
		return;
	word = shell_alloc(r->t.arena, sizeof(*word));
	*word = (struct shell_word){ .text = { .s = "reboot", .len = 6 }, .kind = kind,
				     .start = r->t.text->start, .end = r->t.text->end };
	code_add_call(r, (struct blocklist_code_call){ CODE_WORDS, NULL, word, 1 });
}

void code_read_whole(struct code_reader *r)
{
	read_library_calls(r);
	read_names(r);
	read_buffer(r);
}
