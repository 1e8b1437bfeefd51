#include "blocklist/store.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/args.h"
#include "blocklist/rules.h"
#include "blocklist/table.h"

/* With a word of each list; a word of a list may end in * and then any rest fits. */
static const struct store {
	const char *names;
	const char *need[3];
	unsigned flow;
} stores[] = {
	{ " aws ", { " s3 ", " cp ", " - /dev/stdout " }, FLOW_REMOTE },
	{ " aws ", { " ssm secretsmanager ", " get-parameter get-parameters get-secret-value " },
	  FLOW_REMOTE },
	{ " az ", { " download show " }, FLOW_REMOTE },
	{ " gcloud ", { " cat ssh access " }, FLOW_REMOTE },
	{ " mc s3cmd s4cmd s5cmd b2 swift doctl ", { " cat get download " }, FLOW_REMOTE },
	{ " kubectl oc ", { " logs exec " }, FLOW_REMOTE },
	{ " kubectl oc ", { " get ", " jsonpath* -o=jsonpath* -ojsonpath* go-template* "
				     "-o=go-template* " }, FLOW_REMOTE },
	{ " docker podman nerdctl ", { " run exec logs " }, FLOW_REMOTE },
	{ " redis-cli valkey-cli ", { " get hget lpop rpop lindex GET HGET LPOP RPOP " },
	  FLOW_REMOTE },
	{ " mysql mariadb psql mongo mongosh clickhouse-client cqlsh ",
	  { " -e -c -Ne -Nse -Bse -se -sNe -Atc -Ate -tc -qAtc -tAc --execute* --command* "
	    "--eval* " },
	  FLOW_REMOTE },
	{ " etcdctl consul vault ", { " get read " }, FLOW_REMOTE },
	{ " gh glab ", { " api gist " }, FLOW_REMOTE },
	{ " git ", { " archive ", " --remote* " }, FLOW_REMOTE },
	{ " svn ", { " cat " }, FLOW_REMOTE },
	{ " scp sftp rsync ", { " /dev/stdout - " }, FLOW_REMOTE },
	{ " smbclient finger whois mosquitto_sub kcat kafkacat websocat wscat ldapsearch snmpget "
	  "xclip xsel pbpaste wl-paste ", { NULL }, FLOW_REMOTE },
	{ " unzip funzip ", { " -p -pq -qp -cq -qc " }, FLOW_DECODED },
	{ " funzip strings iconv exiftool steghide zbarimg od hexdump pdftotext tesseract "
	  "ascii2uni uni2ascii rot13 recode outguess qrencode ", { NULL }, FLOW_DECODED },
	{ " 7z 7za 7zz 7zr ", { " -so " }, FLOW_DECODED },
	{ " tar gtar bsdtar ", { " --to-stdout -O *O* " }, FLOW_DECODED },
	{ " dd ", { " skip=* " }, FLOW_DECODED },
	{ " ar ", { " p " }, FLOW_DECODED },
	{ " jq ", { " *@base64d* -n -rn -nr -nj --null-input " }, FLOW_DECODED },
	{ " python ", { " -m ", " base64 quopri uu binhex " }, FLOW_DECODED },
};

static bool has_word(const struct shell_command *c, const char *list)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (blocklist_word_fits(&c->words[i], 0, list))
			return true;
	return false;
}

/* Letters that tar takes without a dash: only in its first word. */
static bool tar_to_stdout(const struct shell_command *c)
{
	const char *s = c->word_count > 1 ? c->words[1].text.s : "";

	return s[strspn(s, "-xtvzjJOfpkm")] == '\0' && strchr(s, 'O');
}

static bool holds(const struct store *s, const struct shell_command *c)
{
	if (s->need[0] && strstr(s->need[0], "*O*"))
		return has_word(c, " --to-stdout -O ") || tar_to_stdout(c);
	for (size_t i = 0; i < COUNT_OF(s->need) && s->need[i]; i++)
		if (!has_word(c, s->need[i]))
			return false;
	return true;
}

unsigned blocklist_store_flow(const struct shell_command *c)
{
	bool foreign;
	struct shell_text base;
	unsigned flow = 0;
	size_t first = 0;

	while (first + 1 < c->word_count && first < 3 &&
	       blocklist_listed(" sudo doas env command timeout ", c->words[first].text.s,
				c->words[first].text.len))
		first++;
	if (!c->word_count)
		return 0;
	base = blocklist_base_name(&c->words[first], &foreign);
	while (base.len && base.s[base.len - 1] >= '0' && base.s[base.len - 1] <= '9' &&
	       base.len > 6)
		base.len--; /* python3 */
	for (size_t i = 0; i < COUNT_OF(stores); i++)
		if (blocklist_listed(stores[i].names, base.s, base.len) && holds(&stores[i], c))
			flow |= stores[i].flow;
	return flow;
}
