// What the scripts of both SDK clients share: named steps, each reported as one line of JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.NODE_MODULES + "/");

/** A module of the installed set; scripts do not live beside it. */
export const load = name => import(pathToFileURL(require.resolve(name)).href);

export function check(condition, text) {
  if (!condition) throw new Error(text);
}

/** Look again until the condition holds. */
export async function until(condition, text) {
  for (let left = 200; !(await condition()); left--) {
    check(left, text);
    await new Promise(resolve => setTimeout(resolve, 25));
  }
}

/** Run the steps one after the other; a failed one does not stop the others. */
export async function run(steps) {
  for (const [name, step] of Object.entries(steps)) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("took more than 30 s")), 30000);
    });
    const report = { name, ok: true };
    try {
      await Promise.race([step(), late]);
    } catch (error) {
      Object.assign(report, { ok: false, why: String(error?.message ?? error) });
    }
    clearTimeout(timer);
    console.log(JSON.stringify(report));
  }
}

/** The server's command, and how to start it, from the environment; these clients want structured
 * content. */
export const server = (...more) => ({
  command: process.env.SERVER_COMMAND.split(" ")[0],
  args: [...process.env.SERVER_COMMAND.split(" ").slice(1), "--set", "mcp.structured=true", ...more],
  cwd: process.env.SERVER_CWD,
  stderr: "ignore",
});

export const textOf = result => result.content.map(c => c.text ?? "").join("\n");
