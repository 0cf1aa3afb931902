// The client's side of a state stream: packets in, and where every body is to be shown.
//
// A packet is read and understood completely before any of it is believed: a refused one changes nothing.
import { exactRotation, FALLING, Flight, nearest, RESTING, STRAIGHT, Turn, unpack } from './curves.js';
import * as S from './symbols.js';
const HEADER_BYTES = 11;
const MAX_PACKET_BYTES = 65_000;
const MAX_RECORDS = 4096;
const MAX_BODIES = 65_536;
const MAX_AGE = 2 ** 32;
const MOST_AHEAD = 2 ** 14;
const WINDOW = 64;
const MOST_CURVES = 64;
/** Curves kept of each kind: what is shown lags behind what is known. */
const KEPT = 10;
const VELOCITY_GRIDS = [0, 3, 4, 5];
const SPIN_GRIDS = [0, 4, 5, 6];
const MAX_POSITION = 1e6 * 256;
const MAX_RATE = 100 * 8192;
const INT32 = 2 ** 31;
/** A packet that was refused; nothing has changed. */
export class StreamError extends Error {
    name = 'StreamError';
}
/**
 * The last curves of one kind, in a circle: a new one takes the place of the oldest, whose object serves for the next packet. Nothing is thrown away, so
 * nothing has to be collected.
 */
export class Ring {
    held = [];
    head = -1;
    /** Nothing was dropped yet: before its first curve the body did not exist. */
    whole = true;
    /** The one of the newest packet. */
    get newest() {
        return this.head < 0 ? null : this.held[this.head];
    }
    /** Takes a curve; returns one that is no longer needed, if any. */
    insert(curve, relativeTo) {
        const { held, head } = this;
        if (head >= 0 && held[head].packet >= curve.packet)
            return this.insertLate(curve);
        if (head < 0 || (head === held.length - 1 && held.length < KEPT)) {
            this.head = held.push(curve) - 1;
            return null;
        }
        // Packets are still relative to an older one: that must stay.
        if (held[head].toldIn > relativeTo && held.length < MOST_CURVES) {
            held.splice(head + 1, 0, curve);
            this.head = head + 1;
            return null;
        }
        const next = head + 1 === held.length ? 0 : head + 1;
        const oldest = held[next];
        held[next] = curve;
        this.head = next;
        this.whole = false;
        return oldest;
    }
    /** Overtaken on the way by newer ones: puts it in its place. */
    insertLate(curve) {
        const { held } = this;
        const sorted = [...held, curve].sort((a, b) => a.packet - b.packet);
        const dropped = sorted.length > MOST_CURVES ? sorted.shift() : null;
        if (dropped)
            this.whole = false;
        held.length = 0;
        held.push(...sorted);
        this.head = held.length - 1;
        return dropped;
    }
    /** What a packet relative to an acknowledgement is relative to: the newest told of by then. */
    base(relativeTo) {
        const { held, head } = this;
        for (let i = 0, at = head; i < held.length; i++) {
            const curve = held[at];
            if (curve.toldIn <= relativeTo)
                return curve;
            at = at === 0 ? held.length - 1 : at - 1;
        }
        return null;
    }
    /** The newest that has begun by then. */
    begun(tick) {
        const { held, head } = this;
        let curve = null;
        for (let i = 0, at = head; i < held.length; i++) {
            curve = held[at];
            if (curve.start <= tick)
                return curve;
            at = at === 0 ? held.length - 1 : at - 1;
        }
        return this.whole ? null : curve;
    }
}
/** A body's curves. */
export class Track {
    id;
    enteredIn;
    flights = new Ring();
    turns = new Ring();
    /** The packet of the turn that was shown last, which is ready for the screen: at its start a unit quaternion, then axis and half the angle per tick. */
    readyFrom = -1;
    turning = new Float64Array(8);
    constructor(id, enteredIn) {
        this.id = id;
        this.enteredIn = enteredIn;
    }
}
export function newPose() {
    return { px: 0, py: 0, pz: 0, x: 0, y: 0, z: 0, w: 1 };
}
const LEAVES = 1;
const ENTERS = 2;
const MOVES = 3;
/** What a record says, in the words of the format; reused from packet to packet. */
class Record {
    slot = 0;
    what = 0;
    body = 0n;
    hasFlight = false;
    hasTurn = false;
    flightAfresh = false;
    flightAge = 0;
    course = 0;
    px = 0;
    py = 0;
    pz = 0;
    grid = 0;
    vx = 0;
    vy = 0;
    vz = 0;
    turnAfresh = false;
    turnAge = 0;
    leftOut = -1;
    rx = 0;
    ry = 0;
    rz = 0;
    still = false;
    spinGrid = 0;
    sx = 0;
    sy = 0;
    sz = 0;
    // What it comes to.
    nothing = false;
    flight = new Flight();
    turn = new Turn();
}
const records = [];
const scratch = new Float64Array(4);
function recordAt(index) {
    return (records[index] ??= new Record());
}
/** The stream as one client receives it. */
export class StreamDecoder {
    listener;
    slots = [];
    /** The packet in which a body last left a slot. */
    leftIn = [];
    byBody = new Map();
    pull;
    newest = 0;
    newestTick = 0;
    nextAck = 1;
    /** All up to this one count as received. */
    floor = 0;
    received = new Float64Array(WINDOW).fill(-1);
    /** Records understood so far. */
    updates = 0;
    constructor(settings, listener) {
        this.listener = listener;
        const square = settings.tick * settings.tick;
        this.pull = [settings.gravity[0] * square, settings.gravity[1] * square, settings.gravity[2] * square];
    }
    /** Joins a shared stream after this packet of it. */
    static joining(settings, packet, tick, listener) {
        const decoder = new StreamDecoder(settings, listener);
        decoder.newest = packet;
        decoder.floor = packet;
        decoder.newestTick = tick;
        decoder.nextAck = packet + 1;
        return decoder;
    }
    /** The tick of the newest update. */
    get tick() {
        return this.newestTick;
    }
    /** A body's curves. */
    track(id) {
        const slot = this.byBody.get(id);
        return slot === undefined ? undefined : (this.slots[slot] ?? undefined);
    }
    /** All bodies it knows. */
    *tracks() {
        for (const slot of this.byBody.values()) {
            const body = this.slots[slot];
            if (body)
                yield body;
        }
    }
    /** Takes one of the packets with which a shared stream is joined. */
    receiveJoin(bytes) {
        const header = readHeader(bytes, this.newest, this.newestTick, 0);
        if (header.number !== this.newest || header.relativeTo !== 0)
            throw new StreamError(`packet ${header.number} joins nothing`);
        const count = readRecords(bytes, header.far);
        this.understand(header, count);
        for (let i = 0; i < count; i++) {
            const record = recordAt(i);
            if (record.what !== ENTERS || record.nothing)
                continue;
            // It counts as told in the packet after which we join, and as acknowledged.
            record.flight.toldIn = record.turn.toldIn = header.number;
            const before = this.slots[record.slot];
            const track = new Track(record.body, header.number);
            take(track, record, header.number);
            this.put(record.slot, track);
            this.byBody.set(record.body, record.slot);
            if (before)
                this.listener?.left(before);
            this.listener?.entered(track);
        }
    }
    /** Takes a packet. */
    receive(bytes) {
        const header = readHeader(bytes, this.newest, this.newestTick, this.nextAck - 1);
        this.checkHeader(header);
        const count = readRecords(bytes, header.far);
        this.understand(header, count);
        for (let i = 0; i < count; i++)
            this.apply(header, recordAt(i));
        this.received[header.number % WINDOW] = header.number;
        if (header.number > this.newest)
            this.newest = header.number;
        if (header.tick > this.newestTick)
            this.newestTick = header.tick;
        this.updates += count;
    }
    /** Over a transport that loses nothing a packet counts as acknowledged when it was sent: call this after each. */
    acknowledge() {
        this.nextAck++;
    }
    checkHeader({ number, relativeTo }) {
        if (number > this.newest + MOST_AHEAD)
            throw new StreamError(`packet ${number} is too far ahead`);
        const old = number <= this.floor || this.newest - number > WINDOW || this.received[number % WINDOW] === number;
        if (number === 0 || old)
            throw new StreamError(`packet ${number} was received before or is too old`);
        if (relativeTo >= this.nextAck)
            throw new StreamError(`relative to acknowledgement ${relativeTo}, which was never sent`);
    }
    understand(header, count) {
        let entering = null;
        for (let i = 0; i < count; i++) {
            const record = recordAt(i);
            record.nothing = false;
            const body = record.slot < this.slots.length ? this.slots[record.slot] : null;
            const goneSince = record.slot < this.slots.length && this.leftIn[record.slot] > header.number;
            const overtaken = goneSince || (body !== null && body.enteredIn > header.number);
            if (record.what === LEAVES) {
                record.nothing = overtaken;
            }
            else if (record.what === MOVES) {
                record.nothing = overtaken;
                if (overtaken)
                    continue;
                if (!body)
                    throw new StreamError(`slot ${record.slot} holds no body`);
                if (record.hasFlight)
                    this.understandFlight(header, record, body.flights.base(header.relativeTo));
                if (record.hasTurn)
                    this.understandTurn(header, record, body.turns.base(header.relativeTo));
            }
            else {
                record.nothing = goneSince;
                if (goneSince)
                    continue;
                const elsewhere = this.byBody.get(record.body);
                entering ??= new Set();
                const taken = (body !== null && body.id !== record.body) || (elsewhere !== undefined && elsewhere !== record.slot);
                if (taken || entering.has(record.body))
                    throw new StreamError(`slot ${record.slot} is taken, or its body is in another one`);
                entering.add(record.body);
                this.understandFlight(header, record, null);
                this.understandTurn(header, record, null);
            }
        }
    }
    understandFlight(header, record, base) {
        const start = header.tick - record.flightAge;
        if (record.flightAge > MAX_AGE || start < 0)
            throw absurd(record);
        let px = record.px;
        let py = record.py;
        let pz = record.pz;
        let ex = 0;
        let ey = 0;
        let ez = 0;
        if (!record.flightAfresh) {
            if (!base)
                throw new StreamError(`slot ${record.slot} has no curve to go on from`);
            // What is expected: the old curve followed to the new start and put back on the grid. The order of operations matters.
            const n = start - base.start;
            const pull = this.pull;
            const gx = pull[0];
            const gy = pull[1];
            const gz = pull[2];
            if (base.course === RESTING) {
                px += base.px;
                py += base.py;
                pz += base.pz;
            }
            else {
                const bx = base.vx / 8192;
                const by = base.vy / 8192;
                const bz = base.vz / 8192;
                let x = base.px / 256 + bx * n;
                let y = base.py / 256 + by * n;
                let z = base.pz / 256 + bz * n;
                if (base.course === STRAIGHT) {
                    ex = nearest(bx * 8192);
                    ey = nearest(by * 8192);
                    ez = nearest(bz * 8192);
                }
                else {
                    const fall = 0.5 * n * (n + 1);
                    x += gx * fall;
                    y += gy * fall;
                    z += gz * fall;
                    ex = nearest((bx + gx * n) * 8192);
                    ey = nearest((by + gy * n) * 8192);
                    ez = nearest((bz + gz * n) * 8192);
                }
                px += nearest(x * 256);
                py += nearest(y * 256);
                pz += nearest(z * 256);
            }
        }
        let vx = 0;
        let vy = 0;
        let vz = 0;
        if (record.course !== RESTING) {
            const shift = VELOCITY_GRIDS[record.grid];
            vx = rate(record.vx, ex, shift);
            vy = rate(record.vy, ey, shift);
            vz = rate(record.vz, ez, shift);
        }
        if (!(within(px, py, pz, MAX_POSITION) && within(vx, vy, vz, MAX_RATE)))
            throw absurd(record);
        const { flight } = record;
        flight.packet = header.number;
        flight.toldIn = this.nextAck;
        flight.start = start;
        flight.course = record.course;
        flight.px = px;
        flight.py = py;
        flight.pz = pz;
        flight.vx = vx;
        flight.vy = vy;
        flight.vz = vz;
    }
    understandTurn(header, record, base) {
        const start = header.tick - record.turnAge;
        if (record.turnAge > MAX_AGE || start < 0)
            throw absurd(record);
        let esx = 0;
        let esy = 0;
        let esz = 0;
        scratch.fill(0);
        scratch[3] = 1;
        if (!record.turnAfresh) {
            if (!base)
                throw new StreamError(`slot ${record.slot} has no curve to go on from`);
            exactRotation(base, start - base.start, scratch);
            esx = base.sx;
            esy = base.sy;
            esz = base.sz;
        }
        const x = scratch[0];
        const y = scratch[1];
        const z = scratch[2];
        const w = scratch[3];
        const leftOut = record.leftOut >= 0 ? record.leftOut : largest(x, y, z, w);
        const left = leftOut === 3 ? w : leftOut === 2 ? z : leftOut === 1 ? y : x;
        const sign = left < 0 ? -1 : 1;
        const a = record.rx + nearest((leftOut === 0 ? y : x) * sign * 512);
        const b = record.ry + nearest((leftOut <= 1 ? z : y) * sign * 512);
        const c = record.rz + nearest((leftOut <= 2 ? w : z) * sign * 512);
        let sx = 0;
        let sy = 0;
        let sz = 0;
        if (!record.still) {
            const shift = SPIN_GRIDS[record.spinGrid];
            sx = rate(record.sx, esx, shift);
            sy = rate(record.sy, esy, shift);
            sz = rate(record.sz, esz, shift);
        }
        const square = a * a + b * b + c * c;
        if (!(square <= 514 * 514 && within(sx, sy, sz, MAX_RATE)))
            throw absurd(record);
        const { turn } = record;
        turn.packet = header.number;
        turn.toldIn = this.nextAck;
        turn.start = start;
        turn.leftOut = leftOut;
        turn.a = a;
        turn.b = b;
        turn.c = c;
        turn.sx = sx;
        turn.sy = sy;
        turn.sz = sz;
    }
    apply(header, record) {
        if (record.nothing)
            return;
        let body = record.slot < this.slots.length ? this.slots[record.slot] : null;
        if (record.what === LEAVES) {
            this.put(record.slot, null);
            this.leftIn[record.slot] = header.number;
            if (!body)
                return;
            this.byBody.delete(body.id);
            this.listener?.left(body);
            return;
        }
        if (record.what === ENTERS && !body) {
            body = new Track(record.body, header.number);
            this.put(record.slot, body);
            this.byBody.set(body.id, record.slot);
            take(body, record, header.relativeTo);
            this.listener?.entered(body);
            return;
        }
        if (!body)
            return;
        if (record.what === ENTERS)
            body.enteredIn = Math.min(body.enteredIn, header.number);
        take(body, record, header.relativeTo);
    }
    put(slot, body) {
        while (this.slots.length <= slot) {
            this.slots.push(null);
            this.leftIn.push(0);
        }
        this.slots[slot] = body;
    }
    /** Where a body is at a tick, parts of ticks included; false if it does not exist then. */
    show(track, tick, out) {
        return showTrack(track, tick, this.pull, out);
    }
    /** m/s at a tick. */
    speed(track, tick, tickSeconds) {
        const flight = track.flights.begun(tick);
        if (!flight || flight.course === RESTING)
            return 0;
        const n = flight.course === FALLING ? tick - flight.start : 0;
        const v = [flight.vx, flight.vy, flight.vz].map((v, i) => v / 8192 + this.pull[i] * n);
        return Math.hypot(...v) / tickSeconds;
    }
}
/** Gives a body the record's curves; the record gets those that are no longer needed. */
function take(body, record, relativeTo) {
    if (record.hasFlight)
        record.flight = body.flights.insert(record.flight, relativeTo) ?? new Flight();
    if (record.hasTurn)
        record.turn = body.turns.insert(record.turn, relativeTo) ?? new Turn();
}
/** Where a body's curves lead at a tick. */
export function showTrack(track, tick, pull, out) {
    const flight = track.flights.begun(tick);
    const turn = track.turns.begun(tick);
    if (flight === null || turn === null)
        return false;
    let px = flight.px / 256;
    let py = flight.py / 256;
    let pz = flight.pz / 256;
    if (flight.course !== RESTING) {
        const n = tick - flight.start;
        px += (flight.vx / 8192) * n;
        py += (flight.vy / 8192) * n;
        pz += (flight.vz / 8192) * n;
        if (flight.course === FALLING) {
            const fall = 0.5 * n * (n + 1);
            px += pull[0] * fall;
            py += pull[1] * fall;
            pz += pull[2] * fall;
        }
    }
    out.px = px;
    out.py = py;
    out.pz = pz;
    if (track.readyFrom !== turn.packet)
        prepare(track, turn);
    showTurn(track.turning, tick - turn.start, out);
    return true;
}
/** For the screen only, where the last bits do not matter: one sine and one cosine whatever the time. */
function showTurn(turning, n, out) {
    const half = turning[7];
    const qx = turning[0];
    const qy = turning[1];
    const qz = turning[2];
    const qw = turning[3];
    if (half === 0 || n === 0) {
        out.x = qx;
        out.y = qy;
        out.z = qz;
        out.w = qw;
        return;
    }
    const s = Math.sin(half * n);
    const rw = Math.cos(half * n);
    const rx = turning[4] * s;
    const ry = turning[5] * s;
    const rz = turning[6] * s;
    out.x = rw * qx + rx * qw + ry * qz - rz * qy;
    out.y = rw * qy - rx * qz + ry * qw + rz * qx;
    out.z = rw * qz + rx * qy - ry * qx + rz * qw;
    out.w = rw * qw - rx * qx - ry * qy - rz * qz;
}
function prepare(track, turn) {
    unpack(turn, track.turning);
    const length = Math.sqrt(turn.sx * turn.sx + turn.sy * turn.sy + turn.sz * turn.sz);
    track.readyFrom = turn.packet;
    // The spin is 2·tan of half the angle.
    track.turning[7] = Math.atan(length / 16384);
    if (length === 0)
        return;
    track.turning[4] = turn.sx / length;
    track.turning[5] = turn.sy / length;
    track.turning[6] = turn.sz / length;
}
function largest(x, y, z, w) {
    let at = 3;
    let most = Math.abs(w);
    if (Math.abs(z) > most) {
        at = 2;
        most = Math.abs(z);
    }
    if (Math.abs(y) > most) {
        at = 1;
        most = Math.abs(y);
    }
    return Math.abs(x) > most ? 0 : at;
}
function rate(difference, expected, shift) {
    if (shift === 0)
        return difference + expected;
    return (((expected + (1 << (shift - 1))) >> shift) + difference) * (1 << shift);
}
function within(x, y, z, most) {
    return Math.abs(x) <= most && Math.abs(y) <= most && Math.abs(z) <= most && most < INT32;
}
function absurd(record) {
    return new StreamError(`slot ${record.slot}: a curve beyond all bounds`);
}
function readHeader(bytes, number, tick, ack) {
    if (bytes.length < HEADER_BYTES || bytes.length > MAX_PACKET_BYTES)
        throw new StreamError(`${bytes.length} bytes are no packet`);
    const byte = (at) => bytes[at];
    if (byte(0) !== 0x51 && byte(0) !== 0x52)
        throw new StreamError(`kind ${byte(0)} is not known here`);
    if (byte(9) * 256 + byte(10) !== check(bytes))
        throw new StreamError('the check does not match: damaged or cut off');
    return {
        number: unfold(byte(1) * 256 + byte(2), 0x10000, number),
        tick: unfold(((byte(3) * 256 + byte(4)) * 256 + byte(5)) * 256 + byte(6), 0x100000000, tick),
        relativeTo: unfold(byte(7) * 256 + byte(8), 0x10000, ack),
        far: byte(0) === 0x52,
    };
}
/** The number with these lowest bits that is nearest to `near`. */
export function unfold(low, size, near) {
    const ahead = (((low - near) % size) + size) % size;
    const up = near + ahead;
    return ahead >= size / 2 && up >= size ? up - size : up;
}
function check(bytes) {
    let hash = 0x811c9dc5 | 0;
    for (let i = 0; i < 9; i++)
        hash = Math.imul(hash ^ bytes[i], 0x01000193);
    for (let i = 11; i < bytes.length; i++)
        hash = Math.imul(hash ^ bytes[i], 0x01000193);
    return (hash ^ (hash >>> 16)) & 0xffff;
}
/** Reads all records of a packet into `records`; there is an end to it whatever the bytes say. */
function readRecords(bytes, far) {
    S.begin(bytes, HEADER_BYTES, far);
    let count = 0;
    let nextSlot = 0;
    let nextBody = 0n;
    while (S.bit(S.MORE)) {
        if (count === MAX_RECORDS)
            throw new StreamError('more records than a packet may have');
        const record = recordAt(count++);
        record.slot = nextSlot + S.number(S.GAP);
        if (record.slot >= MAX_BODIES)
            throw new StreamError(`slot ${record.slot} is beyond the most bodies a client holds`);
        nextSlot = record.slot + 1;
        if (!S.bit(S.SCOPE)) {
            record.what = MOVES;
            record.hasFlight = S.bit(S.PARTS);
            record.hasTurn = !record.hasFlight || S.bit(S.PARTS + 1);
            if (record.hasFlight)
                readFlight(record, false);
            if (record.hasTurn)
                readTurn(record, false);
        }
        else if (S.bit(S.LEAVES)) {
            record.what = LEAVES;
        }
        else {
            record.what = ENTERS;
            record.body = BigInt.asUintN(64, nextBody + S.largeNumber(S.BODY));
            nextBody = record.body + 1n;
            record.hasFlight = record.hasTurn = true;
            readFlight(record, true);
            readTurn(record, true);
        }
    }
    return count;
}
function readFlight(record, enters) {
    const afresh = enters || S.bit(S.AFRESH);
    record.flightAfresh = afresh;
    record.flightAge = S.number(S.AGE);
    const resting = S.bit(S.COURSE);
    record.course = resting ? RESTING : S.bit(S.COURSE + 1) ? FALLING : STRAIGHT;
    if (!afresh && S.bit(S.AS_EXPECTED)) {
        record.px = record.py = record.pz = 0;
    }
    else {
        S.readTriple(afresh ? S.SCRATCH : S.POSITION, -1);
        record.px = S.triple[0];
        record.py = S.triple[1];
        record.pz = S.triple[2];
    }
    record.grid = 0;
    record.vx = record.vy = record.vz = 0;
    if (resting)
        return;
    record.grid = readGrid(S.GRID);
    S.readTriple(afresh ? S.tripleAt(S.SCRATCH, 1) : S.tripleAt(S.VELOCITY, record.grid), -1);
    record.vx = S.triple[0];
    record.vy = S.triple[1];
    record.vz = S.triple[2];
}
function readTurn(record, enters) {
    const afresh = enters || S.bit(S.AFRESH + 1);
    record.turnAfresh = afresh;
    const together = record.hasFlight && S.bit(S.TOGETHER);
    record.turnAge = together ? record.flightAge : S.number(S.AGE_OF_TURN);
    record.leftOut = -1;
    if (!S.bit(S.LEFT_OUT)) {
        const high = S.bit(S.LEFT_OUT + 1);
        const low = S.bit(S.LEFT_OUT + (high ? 3 : 2));
        record.leftOut = (high ? 2 : 0) + (low ? 1 : 0);
    }
    if (!afresh && S.bit(S.AS_EXPECTED + 1)) {
        record.rx = record.ry = record.rz = 0;
    }
    else {
        S.readTriple(afresh ? S.tripleAt(S.SCRATCH, 2) : S.ROTATION, -1);
        record.rx = S.triple[0];
        record.ry = S.triple[1];
        record.rz = S.triple[2];
    }
    record.still = S.bit(S.STILL);
    record.spinGrid = 0;
    record.sx = record.sy = record.sz = 0;
    if (record.still)
        return;
    record.spinGrid = readGrid(S.GRID + 3);
    if (afresh)
        S.readTriple(S.tripleAt(S.SCRATCH, 3), -1);
    else if (together)
        S.readTriple(S.tripleAt(S.SPIN, record.spinGrid + 4), push(record));
    else
        S.readTriple(S.tripleAt(S.SPIN, record.spinGrid), -1);
    record.sx = S.triple[0];
    record.sy = S.triple[1];
    record.sz = S.triple[2];
}
/** What changes the velocity by much changes the spin by much. */
function push(record) {
    const most = Math.max(Math.abs(record.vx), Math.abs(record.vy), Math.abs(record.vz));
    return most >>> (5 - VELOCITY_GRIDS[record.grid]);
}
function readGrid(at) {
    const high = S.bit(at);
    const low = S.bit(at + (high ? 2 : 1));
    return (high ? 2 : 0) + (low ? 1 : 0);
}
//# sourceMappingURL=decoder.js.map