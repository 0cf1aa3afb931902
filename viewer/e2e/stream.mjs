// Files with a gateway's messages for many moving bodies, made once by a Rust example.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? `${repository}target`;

/** The built program. */
export function program(name = 'auramesh') {
  const path = process.env.AURAMESH_BIN && name === 'auramesh' ? process.env.AURAMESH_BIN : `${target}/release/${name}`;
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`cargo build --release\` and \`cargo build --release -p auramesh-client --example web_stream\` first`);
  return path;
}

/** The file's path; it is made if it is older than the program that makes it. */
export function streamFile(bodies, seconds) {
  const maker = program('examples/web_stream');
  const directory = `${target}/viewer-page`;
  const path = `${directory}/stream-${bodies}-${seconds}.bin`;
  if (existsSync(path) && statSync(path).mtimeMs > statSync(maker).mtimeMs) return path;
  mkdirSync(directory, { recursive: true });
  const aside = `${path}.${process.pid}`;
  execFileSync(maker, [String(bodies), String(seconds), aside], { stdio: 'inherit' });
  renameSync(aside, path);
  return path;
}
