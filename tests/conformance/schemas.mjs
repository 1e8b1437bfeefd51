// The official schemas as the conformance suite carries them: literals of its bundle, which it does
// not export. Writes DIR/<revision>.json.
//
//   schemas.mjs BUNDLE DIR
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { runInNewContext } from "node:vm";

const [bundle, folder] = process.argv.slice(2);
const text = readFileSync(bundle, "utf8");
const table = /;const [\w$]+=\{"2025-03-26":([\w$]+),"2025-06-18":([\w$]+),"2025-11-25":([\w$]+),\[[\w$]+\]:([\w$]+)\};/.exec(text);
const start = table ? text.lastIndexOf(`${table[1]}={$schema:`, table.index) : -1;
if (start < 0) throw new Error("the suite's bundle has no table of schemas where one was");

const [first, second, third, fourth] = table.slice(1);
const schemas = runInNewContext(`var ${text.slice(start, table.index)};({
  "2025-03-26": ${first}, "2025-06-18": ${second}, "2025-11-25": ${third}, "2026-07-28": ${fourth} })`);
mkdirSync(folder, { recursive: true });
for (const [revision, schema] of Object.entries(schemas))
  writeFileSync(`${folder}/${revision}.json`, JSON.stringify(schema));
