// The cluster's time, from pings; and which frame to show.

/** Clocks drift apart by at most this share. */
const DRIFT = 1e-4;
/** How fast a better idea of the time is adopted, so that nothing jumps. */
const SLEW = 0.02;
/** Beyond this the idea was wrong and is replaced at once, ms. */
const JUMP_MS = 250;

/** Tells the cluster's time. All times are milliseconds; the local ones are of any clock that does not jump. */
export class Clock {
  private offset = 0;
  private shown = 0;
  private error = Infinity;
  private at = 0;

  /** A pong came back: cluster times of arrival and reply, own times of sending and return. */
  observe(sent: number, received: number, replied: number, returned: number): void {
    const width = returned - sent - (replied - received);
    if (!(width >= 0)) return;
    const [offset, error] = [replied + width / 2 - returned, width / 2];
    const known = this.error + (returned - this.at) * DRIFT;
    const disputed = Math.abs(offset - this.offset) > error + known;
    if (error > known && !disputed) return;
    if (this.error === Infinity || Math.abs(offset - this.now(returned) + returned) > JUMP_MS) this.shown = offset;
    else this.shown = this.now(returned) - returned;
    this.offset = offset;
    this.error = error;
    this.at = returned;
  }

  /** Is anything known? */
  get known(): boolean {
    return this.error < Infinity;
  }

  /** How far it may be off, ms. */
  bound(local: number): number {
    return this.error + Math.abs(local - this.at) * DRIFT;
  }

  /** The cluster's time. */
  now(local: number): number {
    const reach = Math.max(0, local - this.at) * SLEW;
    const way = Math.min(reach, Math.max(-reach, this.offset - this.shown));
    return local + this.shown + way;
  }
}

/** How fast a lag that was not needed is forgotten, share per update. */
const FORGET = 0.005;
/** Updates that are so much earlier again, in frames: it was a pause, or the world has made up for lost time. That is not forgotten little by little. */
const PAUSE = 30;

/** Which frame to show: as late as updates come, and no later. */
export class Pace {
  private lag = -1;

  /** An update of this frame has come; the cluster's present is that one. */
  observe(present: number, frame: number): void {
    const late = Math.max(0, present - frame);
    const forgets = late < this.lag && this.lag - late <= PAUSE;
    this.lag = forgets ? this.lag + (late - this.lag) * FORGET : late;
  }

  /** The frame to show; undefined while nothing is known. */
  shown(present: number, delay: number): number | undefined {
    return this.lag < 0 ? undefined : present - this.lag - delay;
  }

  /** How late updates come, in frames. */
  get frames(): number {
    return Math.max(0, this.lag);
  }

  reset(): void {
    this.lag = -1;
  }
}
