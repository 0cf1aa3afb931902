import { Flight, type Rotation, Turn } from './curves.js';
/** A packet that was refused; nothing has changed. */
export declare class StreamError extends Error {
    name: string;
}
/** What both ends agree on beforehand. */
export interface StreamSettings {
    /** Seconds of a tick (over WebSockets: of a frame). */
    tick: number;
    /** m/s². */
    gravity: readonly [number, number, number];
}
interface Curve {
    packet: number;
    toldIn: number;
    start: number;
}
/**
 * The last curves of one kind, in a circle: a new one takes the place of the oldest, whose object serves for the next packet. Nothing is thrown away, so
 * nothing has to be collected.
 */
export declare class Ring<C extends Curve> {
    private readonly held;
    private head;
    /** Nothing was dropped yet: before its first curve the body did not exist. */
    private whole;
    /** The one of the newest packet. */
    get newest(): C | null;
    /** Takes a curve; returns one that is no longer needed, if any. */
    insert(curve: C, relativeTo: number): C | null;
    /** Overtaken on the way by newer ones: puts it in its place. */
    private insertLate;
    /** What a packet relative to an acknowledgement is relative to: the newest told of by then. */
    base(relativeTo: number): C | null;
    /** The newest that has begun by then. */
    begun(tick: number): C | null;
}
/** A body's curves. */
export declare class Track {
    readonly id: bigint;
    enteredIn: number;
    readonly flights: Ring<Flight>;
    readonly turns: Ring<Turn>;
    /** The packet of the turn that was shown last, which is ready for the screen: at its start a unit quaternion, then axis and half the angle per tick. */
    readyFrom: number;
    readonly turning: Float64Array<ArrayBuffer>;
    constructor(id: bigint, enteredIn: number);
}
/** Where a body is to be shown. */
export interface Pose extends Rotation {
    px: number;
    py: number;
    pz: number;
}
export declare function newPose(): Pose;
/** Hears of bodies that come and go. */
export interface Listener {
    entered(track: Track): void;
    left(track: Track): void;
}
/** The stream as one client receives it. */
export declare class StreamDecoder {
    private readonly listener?;
    private readonly slots;
    /** The packet in which a body last left a slot. */
    private readonly leftIn;
    private readonly byBody;
    private readonly pull;
    private newest;
    private newestTick;
    private nextAck;
    /** All up to this one count as received. */
    private floor;
    private readonly received;
    /** Records understood so far. */
    updates: number;
    constructor(settings: StreamSettings, listener?: Listener | undefined);
    /** Joins a shared stream after this packet of it. */
    static joining(settings: StreamSettings, packet: number, tick: number, listener?: Listener): StreamDecoder;
    /** The tick of the newest update. */
    get tick(): number;
    /** A body's curves. */
    track(id: bigint): Track | undefined;
    /** All bodies it knows. */
    tracks(): Generator<Track>;
    /** Takes one of the packets with which a shared stream is joined. */
    receiveJoin(bytes: Uint8Array): void;
    /** Takes a packet. */
    receive(bytes: Uint8Array): void;
    /** Over a transport that loses nothing a packet counts as acknowledged when it was sent: call this after each. */
    acknowledge(): void;
    private checkHeader;
    private understand;
    private understandFlight;
    private understandTurn;
    private apply;
    private put;
    /** Where a body is at a tick, parts of ticks included; false if it does not exist then. */
    show(track: Track, tick: number, out: Pose): boolean;
    /** m/s at a tick. */
    speed(track: Track, tick: number, tickSeconds: number): number;
}
/** Where a body's curves lead at a tick. */
export declare function showTrack(track: Track, tick: number, pull: readonly [number, number, number], out: Pose): boolean;
/** The number with these lowest bits that is nearest to `near`. */
export declare function unfold(low: number, size: number, near: number): number;
export {};
