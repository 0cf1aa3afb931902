// What the servers know beyond poses: auras, clusters, handovers, health, figures, exact states. Sent while somebody asks.
import { Reader } from './bytes.js';
/** What can be asked for; a bit set. */
export const LAYERS = {
    auras: 0x0001,
    clusters: 0x0002,
    bodies: 0x0004,
    flight: 0x0008,
    migrations: 0x0010,
    crossings: 0x0020,
    health: 0x0040,
    figures: 0x0080,
    truth: 0x0100,
};
/** The region of parts that speak of no single one. */
export const NO_REGION = 65535;
/** Where a cluster stands with respect to its owner's region. */
export const PLACES = ['inside', 'at the boundary', 'outside'];
/** Why a body migrated. */
export const CAUSES = ['touched an aura', 'left the region', 'centre crossed'];
/** How a region fares. */
export const STATES = ['abandoned', 'waiting', 'running', 'recovering', 'silent', 'moving'];
export function readPart(outer) {
    const [kind, region, tick] = [outer.u8(), outer.u16(), outer.count64()];
    const reader = new Reader(outer.take(outer.u32()));
    const part = readFields(reader, kind, { region, tick });
    if (part.type !== 'unknown')
        reader.end();
    return part;
}
function readFields(reader, kind, head) {
    switch (kind) {
        case 0x01:
            return { ...head, type: 'auras', auras: reader.list(45, () => readAura(reader)) };
        case 0x02: {
            const entry = () => ({
                body: reader.u64(),
                cluster: reader.u64(),
                since: reader.count64(),
                place: PLACES[reader.u8()] ?? 'inside',
            });
            return { ...head, type: 'clusters', members: reader.list(25, entry) };
        }
        case 0x03: {
            const whole = reader.flag();
            const entry = () => ({ body: reader.u64(), epoch: reader.u32(), ...readFlags(reader) });
            return { ...head, type: 'bodies', whole, bodies: reader.list(13, entry) };
        }
        case 0x04: {
            const entry = () => ({
                body: reader.u64(),
                to: reader.u16(),
                epoch: reader.u32(),
                left: reader.count64(),
                place: reader.vec3d(),
            });
            return { ...head, type: 'flight', bodies: reader.list(46, entry) };
        }
        case 0x05: {
            const entry = () => ({
                body: reader.u64(),
                epoch: reader.u32(),
                to: reader.u16(),
                tick: reader.count64(),
                cause: CAUSES[reader.u8()] ?? CAUSES[0],
                place: reader.vec3d(),
            });
            return { ...head, type: 'migrations', migrations: reader.list(47, entry) };
        }
        case 0x06: {
            const entry = () => ({
                a: reader.u64(),
                b: reader.u64(),
                regionOfA: reader.u16(),
                regionOfB: reader.u16(),
                tick: reader.count64(),
                speed: reader.f32(),
                place: reader.vec3d(),
            });
            return { ...head, type: 'crossings', crossings: reader.list(56, entry) };
        }
        case 0x07:
            return { ...head, type: 'health', ...readHealth(reader) };
        case 0x08:
            return { ...head, type: 'figures', ...readFigures(reader) };
        case 0x09:
            return { ...head, type: 'truth', bodies: reader.list(87, () => readTruth(reader)) };
        default:
            return { ...head, type: 'unknown' };
    }
}
function readFlags(reader) {
    const flags = reader.u8();
    return { asleep: (flags & 1) !== 0, underway: (flags & 2) !== 0 };
}
function readAura(reader) {
    const [body, centre] = [reader.u64(), reader.vec3d()];
    const [radius, reach, growth] = [reader.f32(), reader.f32(), reader.f32()];
    const audience = Array.from({ length: reader.u8() }, () => reader.u16());
    return { body, centre, radius, reach, growth, audience };
}
function readHealth(reader) {
    return {
        state: STATES[reader.u8()] ?? 'silent',
        term: reader.u32(),
        server: reader.text(),
        standby: reader.text(),
        silentMs: reader.u32(),
        inTermMs: reader.u32(),
        exceeded: { speed: reader.count64(), latency: reader.count64(), frame: reader.count64() },
    };
}
function readFigures(reader) {
    return {
        term: reader.u32(),
        ticks: reader.count64(),
        lateTicks: reader.count64(),
        cpuNs: reader.count64(),
        longestNs: reader.count64(),
        budgetNs: reader.count64(),
        bodies: reader.u32(),
        awake: reader.u32(),
        projecting: reader.u32(),
        aurasHeld: reader.u32(),
        inFlight: reader.u32(),
        arrived: reader.count64(),
        departed: reader.count64(),
        bytesToRegions: reader.count64(),
        bytesToOthers: reader.count64(),
    };
}
function readTruth(reader) {
    const [body, owner, epoch, tick] = [reader.u64(), reader.u16(), reader.u32(), reader.count64()];
    const [position, rotation, velocity, spin] = [reader.vec3d(), reader.rotation(), reader.vec3f(), reader.vec3f()];
    return { body, owner, epoch, tick, position, rotation, velocity, spin, ...readFlags(reader) };
}
//# sourceMappingURL=inspection.js.map