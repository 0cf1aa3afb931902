// What decoding costs: 5,000 bodies that all move, as a gateway would send them (crates/client/examples/web_stream.rs), through the built package. Exits with
// 1 above a bar.
//
// Machines that run this are busy with other things, too. So the same messages are decoded several times, and of each message the fastest time counts: what
// the others took from us in the middle of one message does not. CPU time of the whole, with everything (garbage, the others' use of the caches), stands
// beside it.

import { readFileSync } from 'node:fs';
import { decode, Scene } from '../client/dist/index.js';
import { streamFile } from './stream.mjs';

const BAR_NS = 1000;
const RUNS = Number(process.env.RUNS ?? 7);
/** The first second is joining and warming up. */
const SKIPPED = 34;

const bytes = readFileSync(streamFile(5000, 8));
const messages = [];
for (let at = 0; at < bytes.length; ) {
  const length = bytes.readUInt32LE(at);
  messages.push(new Uint8Array(bytes.buffer, bytes.byteOffset + at + 4, length));
  at += 4 + length;
}

const handled = new Array(messages.length).fill(Infinity);
const placed = new Array(messages.length).fill(Infinity);
let [cpu, records, bodies] = [Infinity, 0, 0];
for (let run = 0; run < RUNS; run++) {
  const scene = new Scene();
  let [before, start] = [0, process.cpuUsage()];
  bodies = 0;
  for (const [i, message] of messages.entries()) {
    if (i === SKIPPED) [before, start] = [scene.updates, process.cpuUsage()];
    const begun = performance.now();
    scene.handle(decode(message), 0);
    const done = performance.now();
    scene.place(scene.frame - 1, () => {});
    handled[i] = Math.min(handled[i], done - begun);
    placed[i] = Math.min(placed[i], performance.now() - done);
    if (i >= SKIPPED) bodies += scene.list.length;
  }
  const { user, system } = process.cpuUsage(start);
  records = scene.updates - before;
  cpu = Math.min(cpu, user + system);
}
const sum = (list) => list.slice(SKIPPED).reduce((total, ms) => total + ms, 0);
const perUpdate = (sum(handled) * 1e6) / records;
const perBody = (sum(placed) * 1e6) / bodies;
console.log(
  `decode: ${perUpdate.toFixed(0)} ns per body update (bar ${BAR_NS}; ${records} updates), extrapolate: ${perBody.toFixed(0)} ns per body; ` +
    `CPU of both in the best of ${RUNS} runs: ${((cpu * 1000) / (records + bodies)).toFixed(0)} ns per update or pose`,
);
if (!(perUpdate < BAR_NS)) process.exit(1);
