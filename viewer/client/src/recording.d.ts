import { type FromGateway } from './messages.js';
import { type Scene } from './scene.js';
interface Chunk {
    kind: number;
    track: number;
    /** Milliseconds since the recording's start. */
    time: number;
    at: number;
    length: number;
}
/** A file, understood as far as it is whole. */
export declare class Recording {
    private readonly bytes;
    readonly title: string;
    /** Who made it of what. */
    readonly about: Map<string, string>;
    /** The cluster's time at the recording's start, ms. */
    readonly startMs: number;
    readonly tracks: Map<number, string>;
    readonly notes: {
        time: number;
        text: string;
    }[];
    readonly durationMs: number;
    /** Was the end missing or damaged? */
    readonly cutOff: boolean;
    private readonly chunks;
    constructor(bytes: Uint8Array);
    /** Finds the chunks; false if the file does not end as it should. */
    private walk;
    private content;
    /** The chunks of a track, in order. */
    of(track: number): Chunk[];
    /** A chunk's messages. */
    messages(chunk: Chunk): FromGateway[];
}
/** Plays one track of a recording into a scene. */
export declare class Player {
    readonly recording: Recording;
    private readonly scene;
    private readonly chunks;
    private next;
    private time;
    constructor(recording: Recording, scene: Scene, track?: number);
    /** Where it is, ms since the start. */
    get now(): number;
    /** Tells the scene everything up to a time; forwards or backwards. */
    seek(to: number): void;
    private keyBefore;
    /** The frame to show at the present time. */
    get frame(): number;
}
/** CRC-32 as zlib computes it, of bytes from and up to; `before` is that of what came before them. */
export declare function crc32(bytes: Uint8Array, from: number, to: number, before?: number): number;
export {};
