export declare const MORE: number;
export declare const GAP: number;
export declare const SCOPE: number;
export declare const LEAVES: number;
export declare const BODY: number;
export declare const PARTS: number;
export declare const AFRESH: number;
export declare const AGE: number;
export declare const AGE_OF_TURN: number;
export declare const TOGETHER: number;
export declare const COURSE: number;
export declare const AS_EXPECTED: number;
export declare const LEFT_OUT: number;
export declare const STILL: number;
export declare const GRID: number;
export declare const POSITION: number;
export declare const VELOCITY: number;
export declare const ROTATION: number;
export declare const SPIN: number;
export declare const SCRATCH: number;
/** How many chances there are. */
export declare const CHANCES: number;
/** Where the n-th of several triples begins. */
export declare function tripleAt(at: number, n: number): number;
/** What `triple` has read: x, y, z. */
export declare const triple: Int32Array<ArrayBuffer>;
/** Begins a packet whose records begin at a byte. What follows never fails, it only finds nonsense. */
export declare function begin(packet: Uint8Array, at: number, far: boolean): void;
/** One bit with a chance that learns. */
export declare function bit(at: number): boolean;
/** A number; exact up to 2⁵³, beyond that only known to be large. */
export declare function number(at: number): number;
/** A number of up to 64 bits, exactly. */
export declare function largeNumber(at: number): bigint;
/** Three signed numbers, into {@link triple}. The first is likely to be about as large as `largest`; −1: nothing is known. */
export declare function readTriple(at: number, largest: number): void;
