// What a client may ask for, and what comes back.
import { Malformed } from './bytes.js';
import { writeMaterial, writeShape } from './shapes.js';
/** Region layouts by their numbers. */
export const LAYOUTS = ['single', 'columns', 'grid', 'tree', 'thesis-3', 'thesis-7'];
export function writeArea(writer, area) {
    if (area === 'nothing')
        writer.u8(0);
    else if (area === 'everything')
        writer.u8(1);
    else
        writer.u8(2).rect(area);
}
export function writeCommand(writer, command) {
    switch (command.type) {
        case 'spawn':
            writer.u8(0x01).vec3d(command.position).rotation(command.rotation).vec3f(command.velocity).vec3f(command.spin);
            writeMaterial(writer, command.material);
            writer.flag(command.swept);
            return writeShape(writer, command.shape);
        case 'impulse':
            writer.u8(0x02).u64(command.body).vec3f(command.impulse).flag(command.at !== undefined);
            if (command.at)
                writer.vec3d(command.at);
            return;
        case 'velocity':
            writer.u8(0x03).u64(command.body).vec3f(command.velocity);
            return;
        case 'remove':
            writer.u8(0x04).u64(command.body);
            return;
        case 'reset':
            writer.u8(0x05);
            return;
        case 'switch-scene':
            if ('name' in command)
                writer.u8(0x06).flag(false).longText(command.name);
            else
                writer.u8(0x06).flag(true).longText(command.text);
            return;
        case 'define-regions':
            if ('layout' in command)
                writer.u8(0x07).flag(false).u8(LAYOUTS.indexOf(command.layout)).u16(command.count);
            else
                writer.u8(0x07).flag(true).list(command.boxes, (rect) => writer.rect(rect));
            return;
        case 'inject':
            writer.u8(0x08).vec3d(command.min).vec3d(command.max).f32(command.rate).f32(command.seconds);
            writer.vec3f(command.velocityMin).vec3f(command.velocityMax);
            writer.list(command.shapes, (shape) => writeShape(writer, shape));
            return;
        case 'ray':
            writer.u8(0x09).vec3d(command.origin).vec3f(command.direction).f32(command.reach);
            return;
        case 'overlap':
            writer.u8(0x0a).vec3d(command.position).rotation(command.rotation);
            return writeShape(writer, command.shape);
        case 'put-up':
            writer.u8(0x0b).vec3d(command.position).rotation(command.rotation);
            writeMaterial(writer, command.material);
            return writeShape(writer, command.shape);
        case 'kill-server':
            writer.u8(0x0c).text(command.server);
            return;
        case 'set-network':
            writer.u8(0x0d).f32(command.latencyMs).f32(command.jitterMs).f32(command.loss);
            return;
        case 'stop-injections':
            writer.u8(0x0e);
            return;
    }
}
export function readAnswer(reader) {
    const kind = reader.u8();
    switch (kind) {
        case 0x01:
            return { type: 'done', tick: reader.u64(), about: reader.u64() };
        case 0x02:
            return { type: 'not-found' };
        case 0x03:
            return { type: 'refused', why: reader.text() };
        case 0x04:
            return { type: 'forbidden', why: reader.text() };
        case 0x05: {
            if (!reader.flag())
                return { type: 'hit', hit: null };
            const [scenery, id, distance] = [reader.flag(), reader.u64(), reader.f32()];
            return { type: 'hit', hit: { scenery, id, distance, point: reader.vec3d(), normal: reader.vec3f() } };
        }
        case 0x06:
            return { type: 'touching', bodies: reader.list(8, () => reader.u64()) };
        case 0x07:
            return { type: 'no-answer' };
        default:
            throw new Malformed(`no answer has the number ${kind}`);
    }
}
//# sourceMappingURL=commands.js.map