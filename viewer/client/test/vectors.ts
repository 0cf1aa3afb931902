// Vectors that crates/client/tests/web_vectors.rs makes and compares as well.

import { readFileSync } from 'node:fs';

export function vectors<T>(name: string): T[] {
  const text = readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8');
  return JSON.parse(text, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    if ('big' in value) return BigInt(value.big as string);
    if ('hex' in value && Object.keys(value).length === 1) return bytes(value.hex as string);
    return value;
  }) as T[];
}

export function bytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
