// A scene driven over a WebSocket that comes back by itself.

import type { Answer, Area, Command } from './commands.js';
import { decode, encode, type FromGateway, type Goodbye, SUBPROTOCOL, type ToGateway } from './messages.js';
import { Scene, type SceneListener } from './scene.js';

/** Where a connection stands. */
export type Status =
  | { state: 'connecting'; attempt: number }
  | { state: 'open' }
  /** It will be tried again in so many ms. */
  | { state: 'waiting'; why: string; retryMs: number }
  /** It makes no sense to try again without a change. */
  | { state: 'ended'; why: string; reason?: Goodbye };

export interface Options {
  token?: string;
  area?: Area;
  /** Updates per second; 0: all. */
  rate?: number;
  onStatus?(status: Status): void;
  /** Every message with its bytes' number, before the scene gets it. */
  onMessage?(message: FromGateway, bytes: number): void;
  /** Called around decoding and handling of each message, for measurements. */
  onHandled?(ms: number): void;
  listener?: SceneListener;
  /** The own clock, ms; performance.now by default. */
  now?(): number;
}

const FIRST_PINGS = 5;
const FIRST_PING_MS = 100;
const PING_MS = 2000;
const SILENCE_MS = 6000;
const ANSWER_MS = 15_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8000;
/** A new start helps against none of these. */
const FINAL: readonly Goodbye[] = ['version', 'token', 'malformed'];

/** A connection to a gateway. */
export class Connection {
  readonly scene: Scene;
  private socket: WebSocket | null = null;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private nextCommand = 1;
  private attempt = 0;
  private heard = 0;
  private goodbye: { reason: Goodbye; text: string } | null = null;
  private timers: ReturnType<typeof setTimeout>[] = [];
  private inspecting: { layers: number; picked: bigint[] } = { layers: 0, picked: [] };
  private closed = false;
  private readonly now: () => number;

  constructor(
    private readonly url: string,
    private readonly options: Options = {},
  ) {
    this.now = options.now ?? (() => performance.now());
    this.scene = new Scene(options.listener);
    this.connect();
  }

  /** Is it open, and has the gateway let us in? */
  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN && this.scene.welcome !== null;
  }

  private connect(): void {
    this.clearTimers();
    this.attempt++;
    this.goodbye = null;
    this.options.onStatus?.({ state: 'connecting', attempt: this.attempt });
    const socket = new WebSocket(this.url, SUBPROTOCOL);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => this.greet();
    socket.onmessage = (event: MessageEvent<unknown>) => this.receive(socket, event.data);
    socket.onclose = () => this.lost(socket);
  }

  private greet(): void {
    this.heard = this.now();
    const { token = '', area = 'everything', rate = 0 } = this.options;
    this.send({ type: 'hello', token, area, rate });
    for (let i = 0; i < FIRST_PINGS; i++) this.later(i * FIRST_PING_MS, () => this.ping());
    const again = () => {
      this.ping();
      if (this.now() - this.heard > SILENCE_MS) this.giveUp();
      else this.later(PING_MS, again);
    };
    this.later(FIRST_PINGS * FIRST_PING_MS, again);
  }

  /** Nothing comes any more. A browser would wait a minute for the other side to agree that it is over. */
  private giveUp(): void {
    const { socket } = this;
    socket?.close();
    if (socket) this.lost(socket);
  }

  private ping(): void {
    this.send({ type: 'ping', sent: BigInt(Math.round(this.now() * 1e6)) });
  }

  private receive(socket: WebSocket, data: unknown): void {
    if (socket !== this.socket || !(data instanceof ArrayBuffer)) return;
    this.heard = this.now();
    try {
      const begun = this.now();
      const message = decode(new Uint8Array(data));
      this.options.onMessage?.(message, data.byteLength);
      this.handle(message);
      this.options.onHandled?.(this.now() - begun);
    } catch (error) {
      // Told anew it makes sense again: the connection starts over.
      this.goodbye = { reason: 'silent', text: `a message was not understood: ${String(error)}` };
      this.scene.world = null;
      socket.close();
    }
  }

  private handle(message: FromGateway): void {
    if (message.type === 'answer') {
      this.waiting.get(message.id)?.(message.answer);
      this.waiting.delete(message.id);
    } else if (message.type === 'goodbye') {
      this.goodbye = message;
    } else {
      this.scene.handle(message, this.now());
      if (message.type === 'welcome') this.welcomed();
      // Only what makes sense to the end ends the waiting: who greets and then talks nonsense is not asked twice a second.
      if (message.type === 'update') this.attempt = 0;
    }
  }

  private welcomed(): void {
    if (this.inspecting.layers || this.inspecting.picked.length) this.send({ type: 'inspect', ...this.inspecting });
    this.options.onStatus?.({ state: 'open' });
  }

  private lost(socket: WebSocket): void {
    if (socket !== this.socket || this.closed) return;
    this.clearTimers();
    this.socket = null;
    for (const answer of this.waiting.values()) answer({ type: 'no-answer' });
    this.waiting.clear();
    this.nextCommand = 1;
    const { reason, text } = this.goodbye ?? { reason: undefined, text: '' };
    if (reason && FINAL.includes(reason)) {
      this.options.onStatus?.({ state: 'ended', why: text, reason });
      return;
    }
    const why = text || (this.scene.welcome ? 'The connection was lost' : 'The gateway does not answer');
    const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, this.attempt));
    this.options.onStatus?.({ state: 'waiting', why, retryMs });
    this.later(retryMs, () => this.connect());
  }

  /** Tries again at once. */
  retry(): void {
    if (this.socket === null && !this.closed) this.connect();
  }

  /** Another token from now on. */
  useToken(token: string): void {
    this.options.token = token;
    this.retry();
  }

  /** Ends it for good. */
  close(): void {
    this.closed = true;
    this.clearTimers();
    this.socket?.close();
  }

  /** Drops the socket as a broken network would; it comes back by itself. */
  interrupt(): void {
    this.socket?.close();
  }

  /** Asks for something to be done or told; the answer always comes, `no-answer` at worst. */
  command(command: Command): Promise<Answer> {
    if (!this.open) return Promise.resolve({ type: 'no-answer' });
    const id = this.nextCommand++;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      setTimeout(() => {
        if (this.waiting.get(id) !== resolve) return;
        this.waiting.delete(id);
        resolve({ type: 'no-answer' });
      }, ANSWER_MS);
      this.send({ type: 'command', id, command });
    });
  }

  /** Sees another part of the world. */
  watch(area: Area): void {
    this.options.area = area;
    this.send({ type: 'watch', area });
  }

  /** Asks for layers of inspection and for the exact state of bodies; replaces what was asked before, and is asked again after a reconnection. */
  inspect(layers: number, picked: bigint[] = []): void {
    this.inspecting = { layers, picked };
    if (this.open) this.send({ type: 'inspect', layers, picked });
  }

  private send(message: ToGateway): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encode(message));
  }

  private later(ms: number, what: () => void): void {
    this.timers.push(setTimeout(what, ms));
  }

  private clearTimers(): void {
    this.timers.forEach(clearTimeout);
    this.timers = [];
  }
}
