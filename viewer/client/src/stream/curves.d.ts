export declare const RESTING = 0;
export declare const STRAIGHT = 1;
export declare const FALLING = 2;
/** Where a body's centre is from a tick on: position in 1/256 m, velocity in 1/8192 m per tick. */
export declare class Flight {
    /** The packet that brought it. */
    packet: number;
    /** The acknowledgement that first told of it. */
    toldIn: number;
    start: number;
    course: number;
    px: number;
    py: number;
    pz: number;
    vx: number;
    vy: number;
    vz: number;
    constructor(
    /** The packet that brought it. */
    packet?: number, 
    /** The acknowledgement that first told of it. */
    toldIn?: number, start?: number, course?: number, px?: number, py?: number, pz?: number, vx?: number, vy?: number, vz?: number);
}
/** How a body is turned from a tick on: three components of a quaternion in 1/512, spin in 1/8192 of 2·tan(½ angle) per tick. */
export declare class Turn {
    packet: number;
    toldIn: number;
    start: number;
    /** Which component is left out: x, y, z, w are 0 to 3. */
    leftOut: number;
    a: number;
    b: number;
    c: number;
    sx: number;
    sy: number;
    sz: number;
    constructor(packet?: number, toldIn?: number, start?: number, 
    /** Which component is left out: x, y, z, w are 0 to 3. */
    leftOut?: number, a?: number, b?: number, c?: number, sx?: number, sy?: number, sz?: number);
}
/** The rotation at a turn's start, into the first four places. */
export declare function unpack(turn: Turn, out: Float64Array): void;
/** A rotation while it is computed. */
export interface Rotation {
    x: number;
    y: number;
    z: number;
    w: number;
}
/** `step` done `count` times, times the turn's start, exactly as the server computes it; `count` is whole. */
export declare function exactRotation(turn: Turn, count: number, out: Float64Array): void;
/** To the nearest whole number, halves up. */
export declare function nearest(value: number): number;
