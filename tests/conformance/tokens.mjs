// How many tokens each text of a JSON array is, in the vocabulary o200k_base: an approximation,
// since every model has its own. Reads stdin, writes a JSON array of numbers.
import { load } from "./client.mjs";

const { countTokens } = await load("gpt-tokenizer/encoding/o200k_base");
let text = "";
for await (const part of process.stdin) text += part;
console.log(JSON.stringify(JSON.parse(text).map(t => countTokens(t))));
