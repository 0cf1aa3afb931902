// A connection over a socket that misbehaves.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Connection, type Status } from '../src/index.js';
import { bytes, vectors } from './vectors.js';

const all = vectors<{ to: string; hex: string; means: { type: string } }>('messages.json');
const message = (type: string) => bytes((all.find((vector) => vector.to === 'client' && vector.means.type === type) as { hex: string }).hex);

/** A socket as a browser has it, whose other side is the test. Closing it takes as long as the other side likes: here, for ever. */
class Socket {
  static readonly OPEN = 1;
  static opened: Socket[] = [];
  readyState = 0;
  onopen?: () => void;
  onmessage?: (event: { data: ArrayBuffer }) => void;
  onclose?: () => void;

  constructor() {
    Socket.opened.push(this);
  }

  send(): void {}

  close(): void {
    this.readyState = 2;
  }

  accept(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  say(said: Uint8Array): void {
    this.onmessage?.({ data: said.slice().buffer as ArrayBuffer });
  }
}

describe('a connection', () => {
  const seen: Status[] = [];
  const last = () => seen.at(-1) as Status;
  const socket = () => Socket.opened.at(-1) as Socket;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('WebSocket', Socket);
    Socket.opened = [];
    seen.length = 0;
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  const connect = () => new Connection('ws://here/ws', { now: () => Date.now(), onStatus: (status) => seen.push(status) });

  test('that falls silent is told within ten seconds, even if its socket never closes, and a new one is tried', () => {
    const connection = connect();
    socket().accept();
    socket().say(message('welcome'));
    expect(last().state).toBe('open');
    vi.advanceTimersByTime(10_000);
    expect(seen.map((status) => status.state)).toContain('waiting');
    expect(Socket.opened.length).toBeGreaterThan(1);
    // What the old one says now is nobody's business.
    const old = Socket.opened[0] as Socket;
    const states = seen.length;
    old.say(message('welcome'));
    old.onclose?.();
    expect(seen.length).toBe(states);
    connection.close();
  });

  test('to one who greets and then talks nonsense is tried less and less often', () => {
    const connection = connect();
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      socket().accept();
      socket().say(message('welcome'));
      socket().say(new Uint8Array([0x82, 1, 2, 3]));
      socket().onclose?.();
      const status = last();
      if (status.state !== 'waiting') throw new Error(status.state);
      expect(status.why).toContain('not understood');
      waits.push(status.retryMs);
      vi.advanceTimersByTime(status.retryMs);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 8000, 8000]);
    connection.close();
  });

  test('a command is answered even if nobody does', async () => {
    const connection = connect();
    socket().accept();
    socket().say(message('welcome'));
    const answer = connection.command({ type: 'remove', body: 1n });
    vi.advanceTimersByTime(7000);
    expect(await answer).toEqual({ type: 'no-answer' });
    connection.close();
  });
});
