// A recorded run, played into a scene: docs/protocols/recording.md.

import { Malformed, Reader } from './bytes.js';
import { decode, type FromGateway } from './messages.js';
import { type Scene, toMs } from './scene.js';

const MAGIC = 'AURAREC\n';
const CHUNK_HEADER = 19;
const KEY = 2;
const MESSAGES = 3;
const NOTE = 5;
/** Chunks ahead (5 s) from which on it is cheaper to begin anew at a key than to tell everything between. */
const FAR = 150;
/** Farther forwards than this at once is a jump, ms. */
const JUMP_MS = 500;

interface Chunk {
  kind: number;
  track: number;
  /** Milliseconds since the recording's start. */
  time: number;
  at: number;
  length: number;
}

/** A file, understood as far as it is whole. */
export class Recording {
  readonly title: string;
  /** Who made it of what. */
  readonly about = new Map<string, string>();
  /** The cluster's time at the recording's start, ms. */
  readonly startMs: number;
  readonly tracks = new Map<number, string>();
  readonly notes: { time: number; text: string }[] = [];
  readonly durationMs: number;
  /** Was the end missing or damaged? */
  readonly cutOff: boolean;
  private readonly chunks: Chunk[] = [];

  constructor(private readonly bytes: Uint8Array) {
    const reader = new Reader(bytes);
    if (bytes.length < 14 || new TextDecoder().decode(reader.take(8)) !== MAGIC) throw new Malformed('This is no Auramesh recording.');
    const version = reader.u16();
    if (version !== 1) throw new Malformed(`The recording has version ${version}; this viewer plays version 1.`);
    const header = new Reader(reader.take(reader.u32()));
    const headerEnd = bytes.length - reader.remaining;
    this.startMs = toMs(header.u64());
    this.title = header.text();
    for (const [key, value] of header.list(4, () => [header.text(), header.text()] as const)) this.about.set(key, value);
    const crc = header.u32();
    if (crc !== crc32(bytes, 0, headerEnd - 4)) throw new Malformed("The recording's header is damaged.");
    this.cutOff = !this.walk(headerEnd);
    const last = this.chunks[this.chunks.length - 1];
    this.durationMs = last ? last.time : 0;
    if (!this.chunks.some((chunk) => chunk.kind === KEY)) throw new Malformed('The recording holds no world.');
  }

  /** Finds the chunks; false if the file does not end as it should. */
  private walk(from: number): boolean {
    const { bytes } = this;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = from;
    while (at + CHUNK_HEADER <= bytes.length) {
      const [kind, length] = [bytes[at] as number, view.getUint32(at + 11, true)];
      const end = at + CHUNK_HEADER + length;
      if (end > bytes.length) return false;
      if (view.getUint32(at + 15, true) !== crc32(bytes, at + CHUNK_HEADER, end, crc32(bytes, at, at + 15))) return false;
      const time = toMs(view.getBigUint64(at + 3, true));
      const chunk = { kind, track: view.getUint16(at + 1, true), time, at: at + CHUNK_HEADER, length };
      if (kind === 1) this.tracks.set(chunk.track, new Reader(this.content(chunk)).text());
      else if (kind === NOTE) this.notes.push({ time, text: new Reader(this.content(chunk)).text() });
      else if (kind === KEY || kind === MESSAGES) this.chunks.push(chunk);
      else if (kind === 4) return true;
      at = end;
    }
    return false;
  }

  private content(chunk: Chunk): Uint8Array {
    return this.bytes.subarray(chunk.at, chunk.at + chunk.length);
  }

  /** The chunks of a track, in order. */
  of(track: number): Chunk[] {
    return this.chunks.filter((chunk) => chunk.track === track);
  }

  /** A chunk's messages. */
  messages(chunk: Chunk): FromGateway[] {
    const reader = new Reader(this.content(chunk));
    return reader.list(5, () => decode(reader.take(reader.u32())));
  }
}

/** Plays one track of a recording into a scene. */
export class Player {
  private readonly chunks: Chunk[];
  private next = 0;
  private time = -1;
  /** Is the past being told just now, to get to another time? What happens then is no news. */
  seeking = false;

  constructor(
    readonly recording: Recording,
    private readonly scene: Scene,
    track = 0,
  ) {
    this.chunks = recording.of(track);
  }

  /** Where it is, ms since the start. */
  get now(): number {
    return Math.max(0, this.time);
  }

  /** Tells the scene everything up to a time; forwards or backwards. */
  seek(to: number): void {
    const time = Math.min(Math.max(0, to), this.recording.durationMs);
    const key = this.keyBefore(time);
    // Backwards, or so far forwards that a later key saves work: begin anew there.
    const anew = time < this.time || this.time < 0 || key > this.next + FAR;
    this.seeking = anew || time - this.time > JUMP_MS;
    if (anew) {
      this.scene.forget();
      this.scene.world = null;
      this.next = key;
    }
    this.time = time;
    try {
      while (this.next < this.chunks.length && (this.chunks[this.next] as Chunk).time <= time) {
        // Counted first: what cannot be understood is not tried again.
        const chunk = this.chunks[this.next++] as Chunk;
        // Keys are part of the stream: they tell their own frame, too.
        for (const message of this.recording.messages(chunk)) this.scene.handle(message, 0);
      }
    } finally {
      this.seeking = false;
    }
  }

  private keyBefore(time: number): number {
    let [low, high] = [0, this.chunks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.chunks[middle] as Chunk).time <= time) low = middle + 1;
      else high = middle;
    }
    let at = Math.max(0, low - 1);
    while (at > 0 && (this.chunks[at] as Chunk).kind !== KEY) at--;
    return at;
  }

  /** The frame to show at the present time. */
  get frame(): number {
    const { world, welcome, frameSeconds } = this.scene;
    if (!world) return 0;
    const since = this.recording.startMs + this.now - toMs(world.start);
    return since / (frameSeconds * 1000) - (welcome?.delayFrames ?? 0);
  }
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

/** CRC-32 as zlib computes it, of bytes from and up to; `before` is that of what came before them. */
export function crc32(bytes: Uint8Array, from: number, to: number, before = 0): number {
  let crc = ~before;
  for (let i = from; i < to; i++) crc = (CRC[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
