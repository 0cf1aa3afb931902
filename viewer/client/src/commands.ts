// What a client may ask for, and what comes back.

import { Malformed, type Quat, type Reader, type Rect, type Vec3, type Writer } from './bytes.js';
import { type Material, type Shape, writeMaterial, writeShape } from './shapes.js';

/** The part of the world a client wants to see. */
export type Area = 'nothing' | 'everything' | Rect;

/** Region layouts by their numbers. */
export const LAYOUTS = ['single', 'columns', 'grid', 'tree', 'thesis-3', 'thesis-7'] as const;
export type Layout = (typeof LAYOUTS)[number];

/** Something to be done or told. */
export type Command =
  | {
      type: 'spawn';
      position: Vec3;
      rotation: Quat;
      velocity: Vec3;
      spin: Vec3;
      material: Material;
      swept: boolean;
      shape: Shape;
    }
  | { type: 'impulse'; body: bigint; impulse: Vec3; at?: Vec3 }
  | { type: 'velocity'; body: bigint; velocity: Vec3 }
  | { type: 'remove'; body: bigint }
  | { type: 'reset' }
  | { type: 'switch-scene'; name: string }
  | { type: 'switch-scene'; text: string }
  | { type: 'define-regions'; layout: Layout; count: number }
  | { type: 'define-regions'; boxes: Rect[] }
  | {
      type: 'inject';
      min: Vec3;
      max: Vec3;
      rate: number;
      seconds: number;
      velocityMin: Vec3;
      velocityMax: Vec3;
      shapes: Shape[];
    }
  | { type: 'ray'; origin: Vec3; direction: Vec3; reach: number }
  | { type: 'overlap'; position: Vec3; rotation: Quat; shape: Shape }
  | { type: 'put-up'; position: Vec3; rotation: Quat; material: Material; shape: Shape }
  | { type: 'kill-server'; server: string }
  | ({ type: 'set-network' } & Network)
  | { type: 'stop-injections' };

/** An emulated network between servers. */
export interface Network {
  latencyMs: number;
  jitterMs: number;
  /** The share of datagrams that are lost, 0 to 1. */
  loss: number;
}

/** What became of a command. */
export type Answer =
  | { type: 'done'; tick: bigint; about: bigint }
  | { type: 'not-found' }
  | { type: 'refused'; why: string }
  | { type: 'forbidden'; why: string }
  | { type: 'hit'; hit: Hit | null }
  | { type: 'touching'; bodies: bigint[] }
  | { type: 'no-answer' };

/** What a ray met first. */
export interface Hit {
  scenery: boolean;
  id: bigint;
  distance: number;
  point: Vec3;
  normal: Vec3;
}

export function writeArea(writer: Writer, area: Area): void {
  if (area === 'nothing') writer.u8(0);
  else if (area === 'everything') writer.u8(1);
  else writer.u8(2).rect(area);
}

export function writeCommand(writer: Writer, command: Command): void {
  switch (command.type) {
    case 'spawn':
      writer.u8(0x01).vec3d(command.position).rotation(command.rotation).vec3f(command.velocity).vec3f(command.spin);
      writeMaterial(writer, command.material);
      writer.flag(command.swept);
      return writeShape(writer, command.shape);
    case 'impulse':
      writer.u8(0x02).u64(command.body).vec3f(command.impulse).flag(command.at !== undefined);
      if (command.at) writer.vec3d(command.at);
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
      if ('name' in command) writer.u8(0x06).flag(false).longText(command.name);
      else writer.u8(0x06).flag(true).longText(command.text);
      return;
    case 'define-regions':
      if ('layout' in command) writer.u8(0x07).flag(false).u8(LAYOUTS.indexOf(command.layout)).u16(command.count);
      else writer.u8(0x07).flag(true).list(command.boxes, (rect) => writer.rect(rect));
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

export function readAnswer(reader: Reader): Answer {
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
      if (!reader.flag()) return { type: 'hit', hit: null };
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
