// What a frame costs: for the status line, for `window.auramesh`, and for tests.

export type Phase = 'handle' | 'prepare' | 'panels' | 'draw';
const FRAMES = 600;

/** The script's share of one displayed frame, ms. */
export interface FrameCost {
  /** Decoding and handling what has come since the last one. */
  handle: number;
  /** Extrapolation, matrices, colours, overlays, camera. */
  prepare: number;
  /** Panels and charts. */
  panels: number;
  /** Submitting the picture; with software GL this includes drawing it. */
  draw: number;
  bodies: number;
  /** Updates that came meanwhile. */
  updates: number;
}

export class Measures {
  readonly frames: FrameCost[] = [];
  /** Frames shown so far. */
  total = 0;
  private current: FrameCost = { handle: 0, prepare: 0, panels: 0, draw: 0, bodies: 0, updates: 0 };
  private readonly shownAt: number[] = [];
  private readonly traffic: [at: number, bytes: number][] = [];
  readonly messages = new Map<string, number>();
  /** The newest change of owner of each body that has migrated, for tests. */
  readonly owners = new Map<bigint, { from: number; to: number; at: number }>();
  lastThrown: bigint | null = null;

  add(phase: Phase, ms: number): void {
    this.current[phase] += ms;
  }

  received(bytes: number, type: string): void {
    const now = performance.now();
    this.traffic.push([now, bytes]);
    // Here, because a hidden page shows no frames but still receives.
    while ((this.traffic[0] as [number, number])[0] < now - 2000) this.traffic.shift();
    if (type === 'update') this.current.updates++;
    this.messages.set(type, (this.messages.get(type) ?? 0) + 1);
  }

  ownerChanged(id: bigint, from: number, to: number): void {
    this.owners.set(id, { from, to, at: performance.now() });
    if (this.owners.size > 2000) this.owners.delete(this.owners.keys().next().value as bigint);
  }

  thrown(id: bigint): void {
    this.lastThrown = id;
  }

  frame(bodies: number, now: number): void {
    this.current.bodies = bodies;
    this.total++;
    this.frames.push(this.current);
    if (this.frames.length > FRAMES) this.frames.shift();
    this.current = { handle: 0, prepare: 0, panels: 0, draw: 0, bodies: 0, updates: 0 };
    this.shownAt.push(now);
    while (this.shownAt.length && (this.shownAt[0] as number) < now - 1000) this.shownAt.shift();
  }

  get fps(): number {
    return this.shownAt.length;
  }

  get bytesPerSecond(): number {
    const since = performance.now() - 2000;
    return this.traffic.reduce((sum, [at, bytes]) => sum + (at > since ? bytes : 0), 0) / 2;
  }
}
