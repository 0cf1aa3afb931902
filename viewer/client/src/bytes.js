// Numbers as the protocol writes them: little-endian, fixed widths, no padding.
/** A message that is none. */
export class Malformed extends Error {
    name = 'Malformed';
}
const utf8 = new TextDecoder('utf-8', { fatal: true });
/** Reads numbers from bytes of unknown origin; throws {@link Malformed}, never reads beyond the end. */
export class Reader {
    bytes;
    view;
    at = 0;
    constructor(bytes) {
        this.bytes = bytes;
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    /** Bytes not yet read. */
    get remaining() {
        return this.bytes.length - this.at;
    }
    step(bytes) {
        const at = this.at;
        if (bytes > this.bytes.length - at)
            throw new Malformed(`cut off at byte ${this.bytes.length}`);
        this.at = at + bytes;
        return at;
    }
    u8() {
        return this.view.getUint8(this.step(1));
    }
    u16() {
        return this.view.getUint16(this.step(2), true);
    }
    u32() {
        return this.view.getUint32(this.step(4), true);
    }
    u64() {
        return this.view.getBigUint64(this.step(8), true);
    }
    /** A `u64` that counts something: exact up to 2⁵³, beyond that refused. */
    count64() {
        const value = Number(this.u64());
        if (!Number.isSafeInteger(value))
            throw new Malformed(`${value} counts nothing`);
        return value;
    }
    f32() {
        return finite(this.view.getFloat32(this.step(4), true));
    }
    f64() {
        return finite(this.view.getFloat64(this.step(8), true));
    }
    flag() {
        const value = this.u8();
        if (value > 1)
            throw new Malformed(`${value} is no flag`);
        return value === 1;
    }
    take(length) {
        const at = this.step(length);
        return this.bytes.subarray(at, at + length);
    }
    text() {
        return this.decodeText(this.u16());
    }
    longText() {
        return this.decodeText(this.u32());
    }
    decodeText(length) {
        try {
            return utf8.decode(this.take(length));
        }
        catch (error) {
            if (error instanceof Malformed)
                throw error;
            throw new Malformed('a text that is not UTF-8');
        }
    }
    /** A list's length; each entry has at least so many bytes, so a few bytes cannot claim a large list. */
    count(least) {
        const count = this.u32();
        if (count * least > this.remaining)
            throw new Malformed(`a list of ${count} is cut off`);
        return count;
    }
    list(least, entry) {
        const entries = new Array(this.count(least));
        for (let i = 0; i < entries.length; i++)
            entries[i] = entry();
        return entries;
    }
    vec3f() {
        return [this.f32(), this.f32(), this.f32()];
    }
    vec3d() {
        return [this.f64(), this.f64(), this.f64()];
    }
    rotation() {
        const [x, y, z, w] = [this.f32(), this.f32(), this.f32(), this.f32()];
        const length = Math.sqrt(x * x + y * y + z * z + w * w);
        if (!(length > 0.99 && length < 1.01))
            throw new Malformed('a rotation that is not of unit length');
        return [x / length, y / length, z / length, w / length];
    }
    rect() {
        return { minX: this.f64(), minZ: this.f64(), maxX: this.f64(), maxZ: this.f64() };
    }
    /** Nothing may be left. */
    end() {
        if (this.remaining > 0)
            throw new Malformed(`${this.remaining} bytes too many`);
    }
}
function finite(value) {
    if (!Number.isFinite(value))
        throw new Malformed('a number that is not finite');
    return value;
}
/** Writes numbers; grows as needed. */
export class Writer {
    buffer = new Uint8Array(64);
    view = new DataView(this.buffer.buffer);
    at = 0;
    step(bytes) {
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
    u8(value) {
        const at = this.step(1);
        this.view.setUint8(at, value);
        return this;
    }
    u16(value) {
        const at = this.step(2);
        this.view.setUint16(at, value, true);
        return this;
    }
    u32(value) {
        const at = this.step(4);
        this.view.setUint32(at, value, true);
        return this;
    }
    u64(value) {
        const at = this.step(8);
        this.view.setBigUint64(at, value, true);
        return this;
    }
    f32(value) {
        const at = this.step(4);
        this.view.setFloat32(at, value, true);
        return this;
    }
    f64(value) {
        const at = this.step(8);
        this.view.setFloat64(at, value, true);
        return this;
    }
    flag(value) {
        return this.u8(value ? 1 : 0);
    }
    raw(bytes) {
        const at = this.step(bytes.length);
        this.buffer.set(bytes, at);
        return this;
    }
    text(text) {
        const bytes = new TextEncoder().encode(text);
        if (bytes.length > 0xffff)
            throw new RangeError('a text of more than 65,535 bytes');
        return this.u16(bytes.length).raw(bytes);
    }
    longText(text) {
        const bytes = new TextEncoder().encode(text);
        return this.u32(bytes.length).raw(bytes);
    }
    list(entries, entry) {
        this.u32(entries.length);
        entries.forEach(entry);
        return this;
    }
    vec3f(v) {
        return this.f32(v[0]).f32(v[1]).f32(v[2]);
    }
    vec3d(v) {
        return this.f64(v[0]).f64(v[1]).f64(v[2]);
    }
    rotation(q) {
        return this.f32(q[0]).f32(q[1]).f32(q[2]).f32(q[3]);
    }
    rect(r) {
        return this.f64(r.minX).f64(r.minZ).f64(r.maxX).f64(r.maxZ);
    }
    finish() {
        return this.buffer.slice(0, this.at);
    }
}
//# sourceMappingURL=bytes.js.map