// What decoding costs: 5,000 bodies that all move, as a gateway would send them (crates/client/examples/web_stream.rs), through the built package.
// CPU time of this process, the best of several runs; exits with 1 above a bar.

import { readFileSync } from 'node:fs';
import { decode, Scene } from '../client/dist/index.js';
import { streamFile } from './stream.mjs';

const BAR_NS = 1000;
const RUNS = Number(process.env.RUNS ?? 5);

const bytes = readFileSync(streamFile(5000, 8));
const messages = [];
for (let at = 0; at < bytes.length; ) {
  const length = bytes.readUInt32LE(at);
  messages.push(new Uint8Array(bytes.buffer, bytes.byteOffset + at + 4, length));
  at += 4 + length;
}

function cpuMicros() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

let best = { perRecord: Infinity, perBody: Infinity, place: Infinity };
for (let run = 0; run < RUNS; run++) {
  const scene = new Scene();
  let [micros, placed, records, bodies, before] = [0, 0, 0, 0, 0];
  for (const [i, message] of messages.entries()) {
    const start = cpuMicros();
    scene.handle(decode(message), 0);
    const handled = cpuMicros();
    scene.place(scene.frame - 1, () => {});
    const end = cpuMicros();
    // The first second is joining and warming up.
    if (i < 34) continue;
    micros += handled - start;
    placed += end - handled;
    bodies += scene.list.length;
    if (i === 34) before = scene.updates;
    records = scene.updates - before;
  }
  const result = { perRecord: (micros * 1000) / records, perBody: (micros * 1000) / bodies, place: (placed * 1000) / bodies, records };
  if (result.perRecord < best.perRecord) best = result;
}
const text = `decode: ${best.perRecord.toFixed(0)} ns per body update (bar ${BAR_NS}), ${best.perBody.toFixed(0)} ns per body and frame; extrapolate: ${best.place.toFixed(0)} ns per body; ${best.records} updates`;
console.log(text);
if (!(best.perRecord < BAR_NS)) process.exit(1);
