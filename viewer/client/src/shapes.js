// The geometry of bodies and scenery.
import { Malformed } from './bytes.js';
export const DEFAULT_MATERIAL = { density: 1000, friction: 0.5, restitution: 0 };
export function readMaterial(reader) {
    return { density: reader.f32(), friction: reader.f32(), restitution: reader.f32() };
}
export function writeMaterial(writer, material) {
    writer.f32(material.density).f32(material.friction).f32(material.restitution);
}
export function readShape(reader, inCompound = false) {
    const kind = reader.u8();
    switch (kind) {
        case 0:
            return { type: 'sphere', radius: reader.f32() };
        case 1:
            return { type: 'cuboid', size: reader.vec3f() };
        case 2:
            return { type: 'capsule', radius: reader.f32(), height: reader.f32() };
        case 3:
            return { type: 'convex', points: reader.list(12, () => reader.vec3f()) };
        case 4: {
            const points = reader.list(12, () => reader.vec3f());
            const triangle = () => [reader.u32(), reader.u32(), reader.u32()];
            const triangles = reader.list(12, triangle);
            if (triangles.some((t) => Math.max(...t) >= points.length))
                throw new Malformed('a triangle without its points');
            return { type: 'mesh', points, triangles };
        }
        case 5: {
            if (inCompound)
                throw new Malformed('a compound in a compound');
            const part = () => ({ position: reader.vec3f(), rotation: reader.rotation(), shape: readShape(reader, true) });
            return { type: 'compound', parts: reader.list(29, part) };
        }
        case 6:
            return { type: 'plane' };
        default:
            throw new Malformed(`no shape has the number ${kind}`);
    }
}
export function writeShape(writer, shape) {
    switch (shape.type) {
        case 'sphere':
            writer.u8(0).f32(shape.radius);
            break;
        case 'cuboid':
            writer.u8(1).vec3f(shape.size);
            break;
        case 'capsule':
            writer.u8(2).f32(shape.radius).f32(shape.height);
            break;
        case 'convex':
            writer.u8(3).list(shape.points, (point) => writer.vec3f(point));
            break;
        case 'mesh':
            writer.u8(4).list(shape.points, (point) => writer.vec3f(point));
            writer.list(shape.triangles, ([a, b, c]) => writer.u32(a).u32(b).u32(c));
            break;
        case 'compound':
            writer.u8(5).list(shape.parts, (part) => {
                writer.vec3f(part.position).rotation(part.rotation);
                writeShape(writer, part.shape);
            });
            break;
        case 'plane':
            writer.u8(6);
    }
}
//# sourceMappingURL=shapes.js.map