// Both ends have the same bytes: docs/protocols/client.md. A change on either side fails here or in crates/client/tests/web_vectors.rs.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decode, encode, type FromGateway, type ToGateway } from '../src/index.js';
import { bytes, hex, vectors } from './vectors.js';

type Vector = { to: 'gateway'; hex: string; means: ToGateway } | { to: 'client'; hex: string; means: FromGateway };
const all = vectors<Vector>('messages.json');

describe('messages', () => {
  test.each(all.filter((v) => v.to === 'gateway'))('to the gateway: $means.type $means.command.type', (vector) => {
    expect(hex(encode(vector.means as ToGateway))).toBe(vector.hex);
  });

  test.each(all.filter((v) => v.to === 'client'))('from the gateway: $means.type', (vector) => {
    expect(decode(bytes(vector.hex))).toEqual(vector.means);
  });

  test('there is one of every kind that the protocol’s page lists', () => {
    const page = readFileSync(new URL('../../../docs/protocols/client.md', import.meta.url), 'utf8');
    const kinds = (title: string) => {
      const table = page.split(`<!-- kinds: ${title} -->`)[1]?.split('\n\n')[0] ?? '';
      return [...table.matchAll(/^\| `(..)`/gm)].map((match) => match[1]);
    };
    const seen = new Set(all.map((vector) => vector.hex.slice(0, 2)));
    const missing = [...kinds('client to gateway'), ...kinds('gateway to client')].filter((kind) => !seen.has(kind as string));
    expect(missing).toEqual([]);
    const commands = new Set(all.filter((v) => v.to === 'gateway' && v.hex.startsWith('04')).map((v) => v.hex.slice(10, 12)));
    expect(kinds('commands').filter((kind) => !commands.has(kind as string))).toEqual([]);
    expect(kinds('commands').length).toBeGreaterThan(10);
  });

  test('no bytes do harm: cut, changed, lengthened', () => {
    for (const vector of all.filter((v) => v.to === 'client')) {
      const sound = bytes(vector.hex);
      for (let length = 1; length < sound.length; length++) {
        const cut = () => decode(sound.subarray(0, length));
        // Sections and parts end with the message, so some cuts are sound messages of their own.
        if (!['update', 'inspection'].includes(vector.means.type)) expect(cut, `${vector.means.type} cut at ${length}`).toThrow();
      }
      for (let at = 0; at < sound.length; at++) {
        const changed = sound.slice();
        changed[at] = (changed[at] ?? 0) ^ 0xff;
        try {
          decode(changed);
        } catch (error) {
          expect((error as Error).name).toBe('Malformed');
        }
      }
    }
  });
});
