// Runs the end-to-end tests, one file after another: `npm run e2e [-- NAME ...]`. They need the built program (cargo build --release), the example
// web_stream, and Chromium (Debian's, or $CHROMIUM). Pictures stay in e2e/artefacts.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(chromium)) {
  console.error(`Chromium is not at ${chromium}. Install it (Debian: apt-get install chromium) or name it in $CHROMIUM.`);
  process.exit(2);
}
const names = process.argv.slice(2);
const files = readdirSync(here).filter((file) => file.endsWith('.test.mjs') && (names.length === 0 || names.some((name) => file.includes(name))));
const result = spawnSync(process.execPath, ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files.map((file) => here + file)], { stdio: 'inherit' });
process.exit(result.status ?? 1);
