/*
 * everyday - texts such as agents and people write, repeated up to a size.
 *
 * For the bench, and for tests that say how much work an ordinary text may cost:
 * all of these are allowed. Nothing here is run.
 */
#ifndef PROCPEN_TESTS_UNIT_EVERYDAY_H
#define PROCPEN_TESTS_UNIT_EVERYDAY_H

#include "shapes.h"

static const struct everyday {
	const char *name;
	struct shape shape;
} everyday[] = {
	{ "echo lines", { "", "echo \"step done: all files copied\"\n", "", NULL } },
	{ "git commands",
	  { "",
	    "git add -A\ngit commit -m \"Fix the parser for empty input\"\n"
	    "git log --oneline -5\ngit push origin HEAD:refs/heads/topic\n",
	    "", NULL } },
	{ "make and test",
	  { "",
	    "make -j4 all\nmake test TESTS=unit V=1\ncd build && cmake .. -DCMAKE_BUILD_TYPE=Debug\n"
	    "ctest --output-on-failure\ncd ..\n",
	    "", NULL } },
	{ "packages",
	  { "",
	    "apt-get install -y build-essential libev-dev\npip install -r requirements.txt\n"
	    "npm ci --no-audit\nnpm run build -- --mode production\n",
	    "", NULL } },
	{ "files",
	  { "",
	    "mkdir -p build/out\ncp -r src/include build/out/\nrm -f build/out/*.o\n"
	    "chmod +x scripts/run.sh\nmv a.txt b.txt\nls -la build\ncat README.md > /dev/null\n",
	    "", NULL } },
	{ "removals", { "", "rm -rf build/cache\nrm -f ./tmp/x.log\n", "", NULL } },
	{ "pipelines",
	  { "",
	    "grep -rn \"include\" src | sort | uniq -c | sort -rn | head -20\n"
	    "ps aux | grep node | awk '{print $2}' | wc -l\n",
	    "", NULL } },
	{ "finds",
	  { "",
	    "find . -name \"*.pyc\" -type f -print\nfind src -name '*.c' -exec grep -l main {} +\n"
	    "find . -name node_modules -prune -o -name '*.ts' -print | xargs wc -l\n",
	    "", NULL } },
	{ "sed and awk",
	  { "",
	    "sed -i 's/version = .*/version = \"1.2\"/' setup.cfg\n"
	    "awk -F: '{ n[$1]++ } END { for (k in n) print k, n[k] }' data.txt\n",
	    "", NULL } },
	{ "a script",
	  { "#!/bin/sh\nset -eu\n",
	    "if [ ! -d \"$HOME/.cache/app\" ]; then\n\tmkdir -p \"$HOME/.cache/app\"\nfi\n"
	    "for f in src/*.c; do\n\tcc -O2 -c \"$f\" -o \"build/$(basename \"$f\" .c).o\" || exit 1\n"
	    "done\nVERSION=$(git describe --tags)\necho \"Version $VERSION\" >&2\n"
	    "case \"$1\" in\n-v) verbose=1 ;;\n*) usage ;;\nesac\n",
	    "", NULL } },
	{ "functions",
	  { "log() { printf '%s\\n' \"$*\" >&2; }\ndie() { log \"error: $*\"; exit 1; }\n",
	    "[ -f \"$config\" ] || die \"no file $config\"\nlog \"reading $config\"\n", "", NULL } },
	{ "assignments",
	  { "export PATH=\"$HOME/bin:$PATH\"\n",
	    "name=\"app-$arch\"\ndir=${dir:-/srv/app}\nexport CONF=\"$dir/etc/$name.conf\"\n", "",
	    NULL } },
	{ "what has failed",
	  { "",
	    "ok='' failed=''\nmake -C src/server test || failed=\"$failed src/server\"\n"
	    "make -C src/client test || failed=\"$failed src/client\"\n"
	    "if npm run lint; then ok=\"$ok lint\"; else failed=\"$failed lint\"; fi\n"
	    "echo \"failed:$failed\"\n",
	    "", NULL } },
	{ "a loop over words", { "for f in ", "src/main.c ", "; do wc -l \"$f\"; done", NULL } },
	{ "long argv", { "gcc -o app ", "src/module.c ", "", NULL } },
	{ "long options", { "cmake ", "-DWITH_FEATURE=ON ", "", NULL } },
	{ "quoted text", { "git commit -m \"", "The quick brown fox jumps over it. ", "\"", NULL } },
	{ "text in single quotes", { "echo '", "The quick brown fox jumps over it. ", "'", NULL } },
	{ "JSON in quotes",
	  { "curl -s -X POST https://api.example.com/v1/items -d '[",
	    "{\"id\": 12, \"name\": \"item\", \"tags\": [\"a\", \"b\"]}, ", "{}]'", NULL } },
	{ "a here-document",
	  { "cat > src/app.py <<'EOF'\n",
	    "def handler(event, context):\n    return {\"status\": 200, \"body\": str(event)}\n\n",
	    "EOF\n", NULL } },
	{ "a file line by line",
	  { "", "echo 'export NODE_ENV=production' >> build/env.sh\n", "sh build/env.sh\n", NULL } },
	{ "an open here-document",
	  { "cat > conf.ini <<EOF\n", "[section]\nkey = $value\npath = /srv/app/data\n", "EOF\n",
	    NULL } },
	{ "python",
	  { "python3 -c '",
	    "import json\nfor line in open(\"a.json\"):\n    print(json.loads(line)[\"k\"])\n", "'", NULL } },
	{ "python from a here-document",
	  { "python3 - <<'EOF'\n",
	    "import json, sys\nfor line in sys.stdin:\n    print(json.loads(line)[\"k\"])\n", "EOF\n",
	    NULL } },
	{ "python that collects lines",
	  { "python3 - <<'EOF'\nlines = []\ntext = ''\n",
	    "lines.append(\"- a point of the report, in a few words\")\ntext += \"and one more\\n\"\n",
	    "print(text.join(lines))\nEOF\n", NULL } },
	{ "patterns of JavaScript",
	  { "node - <<'EOF'\nconst fs = require('fs');\n",
	    "const found = pattern.exec(\"version 1.2\"); if (found) console.log(found[1]);\n",
	    "EOF\n", NULL } },
	{ "a shell in a shell", { "", "bash -c 'cd app && npm test 2>&1 | tail -5'\n", "", NULL } },
	{ "containers",
	  { "",
	    "docker build -t app:latest .\ndocker run --rm -v \"$PWD\":/src -w /src app:latest make\n"
	    "sudo systemctl status nginx\nssh build@host.example uptime\n",
	    "", NULL } },
	{ "comments", { "", "# what follows is only said, and nobody runs it\n", "true\n", NULL } },
};
#define EVERYDAY_COUNT (sizeof(everyday) / sizeof(everyday[0]))

#endif
