/** A message that is none. */
export declare class Malformed extends Error {
    name: string;
}
/** Three numbers: x, y, z. */
export type Vec3 = readonly [number, number, number];
/** A unit quaternion: x, y, z, w. */
export type Quat = readonly [number, number, number, number];
/** A rectangle on the ground plane. */
export interface Rect {
    minX: number;
    minZ: number;
    maxX: number;
    maxZ: number;
}
/** Reads numbers from bytes of unknown origin; throws {@link Malformed}, never reads beyond the end. */
export declare class Reader {
    readonly bytes: Uint8Array;
    private readonly view;
    private at;
    constructor(bytes: Uint8Array);
    /** Bytes not yet read. */
    get remaining(): number;
    private step;
    u8(): number;
    u16(): number;
    u32(): number;
    u64(): bigint;
    /** A `u64` that counts something: exact up to 2⁵³, beyond that refused. */
    count64(): number;
    f32(): number;
    f64(): number;
    flag(): boolean;
    take(length: number): Uint8Array;
    text(): string;
    longText(): string;
    private decodeText;
    /** A list's length; each entry has at least so many bytes, so a few bytes cannot claim a large list. */
    count(least: number): number;
    list<T>(least: number, entry: () => T): T[];
    vec3f(): Vec3;
    vec3d(): Vec3;
    rotation(): Quat;
    rect(): Rect;
    /** Nothing may be left. */
    end(): void;
}
/** Writes numbers; grows as needed. */
export declare class Writer {
    private buffer;
    private view;
    private at;
    private step;
    u8(value: number): this;
    u16(value: number): this;
    u32(value: number): this;
    u64(value: bigint): this;
    f32(value: number): this;
    f64(value: number): this;
    flag(value: boolean): this;
    raw(bytes: Uint8Array): this;
    text(text: string): this;
    longText(text: string): this;
    list<T>(entries: readonly T[], entry: (value: T) => void): this;
    vec3f(v: Vec3): this;
    vec3d(v: Vec3): this;
    rotation(q: Quat): this;
    rect(r: Rect): this;
    finish(): Uint8Array<ArrayBuffer>;
}
