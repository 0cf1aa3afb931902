// The arithmetic coder's reading side, and numbers made of its bits (docs/protocols/state-stream.md, "The arithmetic coder").
import { TRAINED } from './tables.js';
const STEPS = 15;
const SIZES = 8;
const NUMBER = STEPS + STEPS * 3;
const TRIPLE = STEPS * SIZES + STEPS * 3 + 3;
let next = 0;
function group(length) {
    const at = next;
    next += length;
    return at;
}
// Where the chances of each symbol begin. The order is the format's.
export const MORE = group(1);
export const GAP = group(NUMBER);
export const SCOPE = group(1);
export const LEAVES = group(1);
export const BODY = group(NUMBER);
export const PARTS = group(2);
export const AFRESH = group(2);
export const AGE = group(2 * NUMBER);
export const AGE_OF_TURN = AGE + NUMBER;
export const TOGETHER = group(1);
export const COURSE = group(2);
export const AS_EXPECTED = group(2);
export const LEFT_OUT = group(4);
export const STILL = group(1);
export const GRID = group(6);
export const POSITION = group(TRIPLE);
export const VELOCITY = group(4 * TRIPLE);
export const ROTATION = group(TRIPLE);
export const SPIN = group(8 * TRIPLE);
export const SCRATCH = group(4 * TRIPLE);
/** How many chances there are. */
export const CHANCES = next;
/** Where the n-th of several triples begins. */
export function tripleAt(at, n) {
    return at + n * TRIPLE;
}
const FRESH = TRAINED.map((table) => Uint16Array.from({ length: CHANCES }, (_, i) => (table[i] ?? 128) * 256 + 128));
// The reader's state. One packet is read at a time, so there is one of each, and it is made of typed arrays: engines keep their numbers as the 32-bit
// integers they are.
const chances = new Uint16Array(CHANCES);
const state = new Uint32Array(3);
const LOW = 0;
const HIGH = 1;
const VALUE = 2;
let bytes = new Uint8Array(0);
let position = 0;
/** What `triple` has read: x, y, z. */
export const triple = new Int32Array(3);
/** Begins a packet whose records begin at a byte. What follows never fails, it only finds nonsense. */
export function begin(packet, at, far) {
    chances.set(FRESH[far ? 1 : 0]);
    bytes = packet;
    position = at + 4;
    state[LOW] = 0;
    state[HIGH] = 0xffffffff;
    const byte = (i) => (at + i < packet.length ? packet[at + i] : 0);
    state[VALUE] = (byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3);
}
function shift() {
    do {
        const next = position < bytes.length ? bytes[position] : 0;
        position++;
        state[LOW] = state[LOW] << 8;
        state[HIGH] = (state[HIGH] << 8) | 0xff;
        state[VALUE] = (state[VALUE] << 8) | next;
    } while ((state[LOW] ^ state[HIGH]) >>> 24 === 0);
}
/** One bit with a chance that learns. */
export function bit(at) {
    const chance = chances[at];
    const low = state[LOW];
    const high = state[HIGH];
    const width = (high - low) >>> 0;
    const middle = (low + Math.imul(width >>> 16, chance) + (Math.imul(width & 0xffff, chance) >>> 16)) >>> 0;
    if (state[VALUE] <= middle) {
        state[HIGH] = middle;
        chances[at] = chance + ((65535 - chance) >> 5);
        if ((low ^ middle) >>> 24 === 0)
            shift();
        return true;
    }
    state[LOW] = middle + 1;
    // A chance below 32 stays as it is, so it never becomes 0.
    chances[at] = chance - (chance >> 5);
    if (((middle + 1) ^ high) >>> 24 === 0)
        shift();
    return false;
}
/** One bit of which nothing is known. */
function even() {
    const low = state[LOW];
    const high = state[HIGH];
    const middle = (low + (((high - low) >>> 0) >>> 1)) >>> 0;
    if (state[VALUE] <= middle) {
        state[HIGH] = middle;
        if ((low ^ middle) >>> 24 === 0)
            shift();
        return 1;
    }
    state[LOW] = middle + 1;
    if (((middle + 1) ^ high) >>> 24 === 0)
        shift();
    return 0;
}
/** A number; exact up to 2⁵³, beyond that only known to be large. */
export function number(at) {
    return sized(at, at + STEPS, 64);
}
/** The hottest of all: what `bit` and `even` do, written out with everything in variables. */
function sized(unary, leading, most) {
    let low = state[LOW];
    let high = state[HIGH];
    let value = state[VALUE];
    let bits = 0;
    let read = 0;
    // Length in unary, then up to two bits with chances, then even ones.
    let at = unary;
    let left = 0;
    for (;;) {
        const width = (high - low) >>> 0;
        let middle;
        let one;
        if (at >= 0) {
            const chance = chances[at];
            middle = (low + Math.imul(width >>> 16, chance) + (Math.imul(width & 0xffff, chance) >>> 16)) >>> 0;
            one = value <= middle;
            chances[at] = one ? chance + ((65535 - chance) >> 5) : chance - (chance >> 5);
        }
        else {
            middle = (low + (width >>> 1)) >>> 0;
            one = value <= middle;
        }
        if (one)
            high = middle;
        else
            low = (middle + 1) >>> 0;
        while ((low ^ high) >>> 24 === 0) {
            const next = position < bytes.length ? bytes[position] : 0;
            position++;
            low = (low << 8) >>> 0;
            high = ((high << 8) | 0xff) >>> 0;
            value = ((value << 8) | next) >>> 0;
        }
        if (read === 0) {
            // Still the length.
            if (one && ++bits < most) {
                at = unary + (bits < STEPS - 1 ? bits : STEPS - 1);
                continue;
            }
            read = bits < 2 ? bits : 1;
            left = bits - 1;
            at = leading + 3 * (bits < STEPS - 1 ? bits : STEPS - 1);
            if (left <= 0)
                break;
            continue;
        }
        read = read * 2 + (one ? 1 : 0);
        if (--left === 0)
            break;
        // After the first bit below the leading one comes the second, whose chance depends on it; then nothing is known.
        at = left === bits - 2 ? at + 1 + (read & 1) : -1;
    }
    state[LOW] = low;
    state[HIGH] = high;
    state[VALUE] = value;
    return read;
}
/** A number of up to 64 bits, exactly. */
export function largeNumber(at) {
    let bits = 0;
    while (bits < 64 && bit(at + Math.min(bits, STEPS - 1)))
        bits++;
    if (bits < 2)
        return BigInt(bits);
    const leading = at + STEPS + 3 * Math.min(bits, STEPS - 1);
    // In two halves, since numbers hold 53 bits.
    let [upper, lower, inLower] = [0, 1, 1];
    for (let done = 0; done < bits - 1; done++) {
        let next;
        if (done === 0)
            next = Number(bit(leading));
        else if (done === 1)
            next = Number(bit(leading + 1 + (lower & 1)));
        else
            next = even();
        if (inLower === 32)
            [upper, lower, inLower] = [lower, 0, 0];
        lower = lower * 2 + next;
        inLower++;
    }
    return (BigInt(upper) << BigInt(inLower)) | BigInt(lower);
}
/** Three signed numbers, into {@link triple}. The first is likely to be about as large as `largest`; −1: nothing is known. */
export function readTriple(at, largest) {
    const leading = at + STEPS * SIZES;
    const signs = leading + STEPS * 3;
    const x = sized(at + STEPS * sizeGroup(largest), leading, 31);
    triple[0] = x > 0 && bit(signs) ? -x : x;
    const y = sized(at + STEPS * sizeGroup(x), leading, 31);
    triple[1] = y > 0 && bit(signs + 1) ? -y : y;
    const z = sized(at + STEPS * sizeGroup(x > y ? x : y), leading, 31);
    triple[2] = z > 0 && bit(signs + 2) ? -z : z;
}
function sizeGroup(largest) {
    if (largest < 2)
        return largest + 1;
    if (largest < 8)
        return largest < 4 ? 3 : 4;
    if (largest < 16)
        return 5;
    return largest < 64 ? 6 : 7;
}
//# sourceMappingURL=symbols.js.map