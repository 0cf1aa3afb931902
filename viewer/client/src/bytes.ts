// Numbers as the protocol writes them: little-endian, fixed widths, no padding.

/** A message that is none. */
export class Malformed extends Error {
  override name = 'Malformed';
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

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads numbers from bytes of unknown origin; throws {@link Malformed}, never reads beyond the end. */
export class Reader {
  private readonly view: DataView;
  private at = 0;

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Bytes not yet read. */
  get remaining(): number {
    return this.bytes.length - this.at;
  }

  private step(bytes: number): number {
    const at = this.at;
    if (bytes > this.bytes.length - at) throw new Malformed(`cut off at byte ${this.bytes.length}`);
    this.at = at + bytes;
    return at;
  }

  u8(): number {
    return this.view.getUint8(this.step(1));
  }
  u16(): number {
    return this.view.getUint16(this.step(2), true);
  }
  u32(): number {
    return this.view.getUint32(this.step(4), true);
  }
  u64(): bigint {
    return this.view.getBigUint64(this.step(8), true);
  }
  /** A `u64` that counts something: exact up to 2⁵³, beyond that refused. */
  count64(): number {
    const value = Number(this.u64());
    if (!Number.isSafeInteger(value)) throw new Malformed(`${value} counts nothing`);
    return value;
  }
  f32(): number {
    return finite(this.view.getFloat32(this.step(4), true));
  }
  f64(): number {
    return finite(this.view.getFloat64(this.step(8), true));
  }
  flag(): boolean {
    const value = this.u8();
    if (value > 1) throw new Malformed(`${value} is no flag`);
    return value === 1;
  }
  take(length: number): Uint8Array {
    const at = this.step(length);
    return this.bytes.subarray(at, at + length);
  }
  text(): string {
    return this.decodeText(this.u16());
  }
  longText(): string {
    return this.decodeText(this.u32());
  }
  private decodeText(length: number): string {
    try {
      return utf8.decode(this.take(length));
    } catch (error) {
      if (error instanceof Malformed) throw error;
      throw new Malformed('a text that is not UTF-8');
    }
  }
  /** A list's length; each entry has at least so many bytes, so a few bytes cannot claim a large list. */
  count(least: number): number {
    const count = this.u32();
    if (count * least > this.remaining) throw new Malformed(`a list of ${count} is cut off`);
    return count;
  }
  list<T>(least: number, entry: () => T): T[] {
    const entries = new Array<T>(this.count(least));
    for (let i = 0; i < entries.length; i++) entries[i] = entry();
    return entries;
  }
  vec3f(): Vec3 {
    return [this.f32(), this.f32(), this.f32()];
  }
  vec3d(): Vec3 {
    return [this.f64(), this.f64(), this.f64()];
  }
  rotation(): Quat {
    const [x, y, z, w] = [this.f32(), this.f32(), this.f32(), this.f32()];
    const length = Math.sqrt(x * x + y * y + z * z + w * w);
    if (!(length > 0.995 && length < 1.005)) throw new Malformed('a rotation that is not of unit length');
    return [x / length, y / length, z / length, w / length];
  }
  rect(): Rect {
    return { minX: this.f64(), minZ: this.f64(), maxX: this.f64(), maxZ: this.f64() };
  }
  /** Nothing may be left. */
  end(): void {
    if (this.remaining > 0) throw new Malformed(`${this.remaining} bytes too many`);
  }
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new Malformed('a number that is not finite');
  return value;
}

/** Writes numbers; grows as needed. */
export class Writer {
  private buffer = new Uint8Array(64);
  private view = new DataView(this.buffer.buffer);
  private at = 0;

  private step(bytes: number): number {
    const at = this.at;
    this.at += bytes;
    if (this.at > this.buffer.length) {
      const larger = new Uint8Array(Math.max(this.at, 2 * this.buffer.length));
      larger.set(this.buffer);
      this.buffer = larger;
      this.view = new DataView(larger.buffer);
    }
    return at;
  }

  u8(value: number): this {
    const at = this.step(1);
    this.view.setUint8(at, value);
    return this;
  }
  u16(value: number): this {
    const at = this.step(2);
    this.view.setUint16(at, value, true);
    return this;
  }
  u32(value: number): this {
    const at = this.step(4);
    this.view.setUint32(at, value, true);
    return this;
  }
  u64(value: bigint): this {
    const at = this.step(8);
    this.view.setBigUint64(at, value, true);
    return this;
  }
  f32(value: number): this {
    const at = this.step(4);
    this.view.setFloat32(at, value, true);
    return this;
  }
  f64(value: number): this {
    const at = this.step(8);
    this.view.setFloat64(at, value, true);
    return this;
  }
  flag(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }
  raw(bytes: Uint8Array): this {
    const at = this.step(bytes.length);
    this.buffer.set(bytes, at);
    return this;
  }
  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > 0xffff) throw new RangeError('a text of more than 65,535 bytes');
    return this.u16(bytes.length).raw(bytes);
  }
  longText(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.u32(bytes.length).raw(bytes);
  }
  list<T>(entries: readonly T[], entry: (value: T) => void): this {
    this.u32(entries.length);
    entries.forEach(entry);
    return this;
  }
  vec3f(v: Vec3): this {
    return this.f32(v[0]).f32(v[1]).f32(v[2]);
  }
  vec3d(v: Vec3): this {
    return this.f64(v[0]).f64(v[1]).f64(v[2]);
  }
  rotation(q: Quat): this {
    return this.f32(q[0]).f32(q[1]).f32(q[2]).f32(q[3]);
  }
  rect(r: Rect): this {
    return this.f64(r.minX).f64(r.minZ).f64(r.maxX).f64(r.maxZ);
  }
  finish(): Uint8Array<ArrayBuffer> {
    return this.buffer.slice(0, this.at);
  }
}
