// The cluster's time, from pings; and which frame to show.
/** Clocks drift apart by at most this share. */
const DRIFT = 1e-4;
/** How fast a better idea of the time is adopted, so that nothing jumps. */
const SLEW = 0.02;
/** Beyond this the idea was wrong and is replaced at once, ms. */
const JUMP_MS = 250;
/** Tells the cluster's time. All times are milliseconds; the local ones are of any clock that does not jump. */
export class Clock {
    offset = 0;
    shown = 0;
    error = Infinity;
    at = 0;
    /** A pong came back: cluster times of arrival and reply, own times of sending and return. */
    observe(sent, received, replied, returned) {
        const width = returned - sent - (replied - received);
        if (!(width >= 0))
            return;
        const [offset, error] = [replied + width / 2 - returned, width / 2];
        const known = this.error + (returned - this.at) * DRIFT;
        const disputed = Math.abs(offset - this.offset) > error + known;
        if (error > known && !disputed)
            return;
        if (this.error === Infinity || Math.abs(offset - this.now(returned) + returned) > JUMP_MS)
            this.shown = offset;
        else
            this.shown = this.now(returned) - returned;
        this.offset = offset;
        this.error = error;
        this.at = returned;
    }
    /** Is anything known? */
    get known() {
        return this.error < Infinity;
    }
    /** How far it may be off, ms. */
    bound(local) {
        return this.error + Math.abs(local - this.at) * DRIFT;
    }
    /** The cluster's time. */
    now(local) {
        const reach = Math.max(0, local - this.at) * SLEW;
        const way = Math.min(reach, Math.max(-reach, this.offset - this.shown));
        return local + this.shown + way;
    }
}
/** How fast a lag that was not needed is forgotten, share per update. */
const FORGET = 0.005;
/** Updates that come later than this are a pause, not a lag, in frames. */
const LONGEST_LAG = 30;
/** Which frame to show: as late as updates come, and no later. */
export class Pace {
    lag = -1;
    /** An update of this frame has come; the cluster's present is that one. */
    observe(present, frame) {
        const late = Math.min(LONGEST_LAG, Math.max(0, present - frame));
        this.lag = late < this.lag ? this.lag + (late - this.lag) * FORGET : late;
    }
    /** The frame to show; undefined while nothing is known. */
    shown(present, delay) {
        return this.lag < 0 ? undefined : present - this.lag - delay;
    }
    /** How late updates come, in frames. */
    get frames() {
        return Math.max(0, this.lag);
    }
    reset() {
        this.lag = -1;
    }
}
//# sourceMappingURL=clock.js.map