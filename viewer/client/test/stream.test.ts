// The state stream, bit by bit as the Rust encoder writes it: docs/protocols/state-stream.md.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { newPose, StreamDecoder, StreamError, type StreamSettings } from '../src/index.js';
import { unfold } from '../src/stream/decoder.js';
import { TRAINED } from '../src/stream/tables.js';
import { bytes, vectors } from './vectors.js';

type Shown = [id: string, ...pose: number[]];
interface Line {
  frame: number;
  packets: string[];
  join?: { number: number; packets: string[] };
  shown?: Shown[];
}
const [settings, ...lines] = vectors<unknown>('stream.json') as [StreamSettings, ...Line[]];

function expectShown(decoder: StreamDecoder, frame: number, shown: Shown[]): void {
  const seen = new Map<string, number[]>();
  for (const track of decoder.tracks()) {
    const pose = newPose();
    if (decoder.show(track, frame, pose)) seen.set(String(track.id), [pose.px, pose.py, pose.pz, pose.x, pose.y, pose.z, pose.w]);
  }
  expect([...seen.keys()].sort()).toEqual(shown.map(([id]) => id).sort());
  for (const [id, ...pose] of shown) {
    const here = seen.get(id) as number[];
    // Places to the last bit; turns are evaluated with a sine for the screen.
    expect(here.slice(0, 3)).toEqual(pose.slice(0, 3));
    pose.slice(3).forEach((value, i) => expect(here[3 + i]).toBeCloseTo(value, 9));
  }
}

describe('the state stream', () => {
  test('is understood from its beginning, and by one who joins late', () => {
    const first = new StreamDecoder(settings);
    let late: StreamDecoder | null = null;
    let compared = 0;
    for (const line of lines) {
      for (const packet of line.packets) {
        for (const decoder of [first, late]) {
          decoder?.receive(bytes(packet));
          decoder?.acknowledge();
        }
      }
      if (line.join) {
        late = StreamDecoder.joining(settings, line.join.number, line.frame);
        for (const packet of line.join.packets) {
          late.receiveJoin(bytes(packet));
          expect(() => late?.receiveJoin(bytes(packet).subarray(1))).toThrow(StreamError);
        }
      }
      if (!line.shown) continue;
      compared += line.shown.length;
      expectShown(first, line.frame - 1, line.shown);
      if (late) expectShown(late, line.frame - 1, line.shown);
    }
    expect(compared).toBeGreaterThan(60);
  });

  test('refuses damaged, repeated and unfounded packets and is none the worse for it', () => {
    const decoder = new StreamDecoder(settings);
    for (const line of lines) {
      for (const packet of line.packets) {
        const sound = bytes(packet);
        const damaged = sound.slice();
        damaged[sound.length - 1] = (damaged[sound.length - 1] ?? 0) ^ 1;
        expect(() => decoder.receive(damaged)).toThrow(StreamError);
        decoder.receive(sound);
        decoder.acknowledge();
        expect(() => decoder.receive(sound)).toThrow(StreamError);
      }
      if (line.shown) expectShown(decoder, line.frame - 1, line.shown);
    }
    const middle = lines[50]?.packets[0] as string;
    expect(() => new StreamDecoder(settings).receive(bytes(middle))).toThrow(StreamError);
  });

  test('random records in a sound frame never do harm', () => {
    let seed = 12345;
    const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0);
    let refused = 0;
    for (let i = 0; i < 2000; i++) {
      const decoder = new StreamDecoder(settings);
      const packet = new Uint8Array(11 + (random() >>> 24));
      for (let at = 11; at < packet.length; at++) packet[at] = random() >>> 24;
      packet.set([0x51, 0, 1, 0, 0, 0, 5, 0, 0]);
      let hash = 0x811c9dc5 | 0;
      packet.forEach((byte, at) => {
        if (at !== 9 && at !== 10) hash = Math.imul(hash ^ byte, 0x01000193);
      });
      const check = (hash ^ (hash >>> 16)) & 0xffff;
      packet.set([check >> 8, check & 0xff], 9);
      try {
        decoder.receive(packet);
      } catch (error) {
        expect(error).toBeInstanceOf(StreamError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1000);
  });

  test('numbers are unfolded to the nearest', () => {
    expect(unfold(5, 0x10000, 0)).toBe(5);
    expect(unfold(0xffff, 0x10000, 0x10000)).toBe(0xffff);
    expect(unfold(2, 0x10000, 0xffff)).toBe(0x10002);
    expect(unfold(0xfff0, 0x10000, 3)).toBe(0xfff0);
    expect(unfold(7, 0x100000000, 0xffffffff)).toBe(0x100000007);
  });

  test('its chances are those of the Rust encoder', () => {
    const source = readFileSync(new URL('../../../crates/reckoning/src/stream/tables.rs', import.meta.url), 'utf8');
    const tables = [...(source.split('TRAINED')[1] ?? '').matchAll(/&\[\s*([\d,\s]+)\]/g)];
    expect(tables).toHaveLength(2);
    tables.forEach((table, i) => expect([...(table[1] as string).matchAll(/\d+/g)].map(Number)).toEqual([...(TRAINED[i] as Uint8Array)]));
  });
});
