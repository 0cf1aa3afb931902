// The two curves of a body: where its centre goes, and how it turns.
//
// Numbers are whole; where a curve leads is computed with additions, multiplications, divisions and square roots of doubles only, in the order
// given here, so that server and client agree to the last bit (docs/protocols/state-stream.md, "Curves").
export const RESTING = 0;
export const STRAIGHT = 1;
export const FALLING = 2;
/** Where a body's centre is from a tick on: position in 1/256 m, velocity in 1/8192 m per tick. */
export class Flight {
    packet;
    toldIn;
    start;
    course;
    px;
    py;
    pz;
    vx;
    vy;
    vz;
    constructor(
    /** The packet that brought it. */
    packet = 0, 
    /** The acknowledgement that first told of it. */
    toldIn = 0, start = 0, course = 0, px = 0, py = 0, pz = 0, vx = 0, vy = 0, vz = 0) {
        this.packet = packet;
        this.toldIn = toldIn;
        this.start = start;
        this.course = course;
        this.px = px;
        this.py = py;
        this.pz = pz;
        this.vx = vx;
        this.vy = vy;
        this.vz = vz;
    }
}
/** How a body is turned from a tick on: three components of a quaternion in 1/512, spin in 1/8192 of 2·tan(½ angle) per tick. */
export class Turn {
    packet;
    toldIn;
    start;
    leftOut;
    a;
    b;
    c;
    sx;
    sy;
    sz;
    constructor(packet = 0, toldIn = 0, start = 0, 
    /** Which component is left out: x, y, z, w are 0 to 3. */
    leftOut = 0, a = 0, b = 0, c = 0, sx = 0, sy = 0, sz = 0) {
        this.packet = packet;
        this.toldIn = toldIn;
        this.start = start;
        this.leftOut = leftOut;
        this.a = a;
        this.b = b;
        this.c = c;
        this.sx = sx;
        this.sy = sy;
        this.sz = sz;
    }
}
/** The rotation at a turn's start, into the first four places. */
export function unpack(turn, out) {
    const a = turn.a / 512;
    const b = turn.b / 512;
    const c = turn.c / 512;
    const rest = Math.sqrt(Math.max(0, 1 - (a * a + b * b + c * c)));
    const { leftOut } = turn;
    const x = leftOut === 0 ? rest : a;
    const y = leftOut === 0 ? a : leftOut === 1 ? rest : b;
    const z = leftOut <= 1 ? b : leftOut === 2 ? rest : c;
    const w = leftOut <= 2 ? c : rest;
    const length = Math.sqrt(x * x + y * y + z * z + w * w);
    out[0] = x / length;
    out[1] = y / length;
    out[2] = z / length;
    out[3] = w / length;
}
/** `step` done `count` times, times the turn's start, exactly as the server computes it; `count` is whole. */
export function exactRotation(turn, count, out) {
    unpack(turn, out);
    if (turn.sx === 0 && turn.sy === 0 && turn.sz === 0)
        return;
    let x = 0.5 * (turn.sx / 8192);
    let y = 0.5 * (turn.sy / 8192);
    let z = 0.5 * (turn.sz / 8192);
    let w = 1;
    let length = Math.sqrt(x * x + y * y + z * z + w * w);
    x /= length;
    y /= length;
    z /= length;
    w /= length;
    if (count < 0) {
        x = -x;
        y = -y;
        z = -z;
    }
    let left = Math.abs(count) >>> 0;
    let rx = 0;
    let ry = 0;
    let rz = 0;
    let rw = 1;
    while (left > 0) {
        if (left & 1) {
            // result = square · result
            const nx = w * rx + x * rw + y * rz - z * ry;
            const ny = w * ry - x * rz + y * rw + z * rx;
            const nz = w * rz + x * ry - y * rx + z * rw;
            const nw = w * rw - x * rx - y * ry - z * rz;
            rx = nx;
            ry = ny;
            rz = nz;
            rw = nw;
        }
        left >>>= 1;
        if (left === 0)
            break;
        const nx = w * x + x * w + y * z - z * y;
        const ny = w * y - x * z + y * w + z * x;
        const nz = w * z + x * y - y * x + z * w;
        const nw = w * w - x * x - y * y - z * z;
        length = Math.sqrt(nx * nx + ny * ny + nz * nz + nw * nw);
        x = nx / length;
        y = ny / length;
        z = nz / length;
        w = nw / length;
    }
    const qx = out[0];
    const qy = out[1];
    const qz = out[2];
    const qw = out[3];
    out[0] = rw * qx + rx * qw + ry * qz - rz * qy;
    out[1] = rw * qy - rx * qz + ry * qw + rz * qx;
    out[2] = rw * qz + rx * qy - ry * qx + rz * qw;
    out[3] = rw * qw - rx * qx - ry * qy - rz * qz;
}
/** To the nearest whole number, halves up. */
export function nearest(value) {
    return Math.floor(value + 0.5);
}
//# sourceMappingURL=curves.js.map