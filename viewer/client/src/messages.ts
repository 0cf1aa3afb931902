// Every message, byte by byte: docs/protocols/client.md.

import { Malformed, Reader, type Quat, type Rect, type Vec3, Writer } from './bytes.js';
import { type Answer, type Area, type Command, type Network, readAnswer, writeArea, writeCommand } from './commands.js';
import { type InspectionPart, readPart } from './inspection.js';
import { type Material, readMaterial, readShape, type Shape } from './shapes.js';

/** The version of the protocol that this library speaks. */
export const VERSION = 2;
/** Its name in the WebSocket's opening handshake. */
export const SUBPROTOCOL = 'auramesh.v2';

/** What a token allows. */
export type Role = 'view' | 'play' | 'admin';
const ROLES: readonly Role[] = ['view', 'play', 'admin'];

/** What a client sends. */
export type ToGateway =
  | { type: 'hello'; token: string; area: Area; rate: number; version?: number }
  | { type: 'watch'; area: Area }
  | { type: 'ping'; sent: bigint }
  | { type: 'command'; id: number; command: Command }
  | { type: 'inspect'; layers: number; picked: bigint[] }
  | { type: 'anew' };

export interface Welcome {
  type: 'welcome';
  version: number;
  session: bigint;
  role: Role;
  /** The cluster's time, ns of Unix time. */
  clock: bigint;
  /** Seconds of a physics step. */
  tick: number;
  /** Physics steps per frame; a frame is the unit of the stream's time. */
  frameTicks: number;
  /** Frames behind the newest update at which to show the world. */
  delayFrames: number;
  toleranceM: number;
  toleranceRad: number;
}

export interface Region {
  rect: Rect;
  /** Who simulates it; empty: nobody just now. */
  server: string;
}

export interface World {
  type: 'world';
  /** Another one than before: everything of the old world is void. */
  generation: number;
  /** When frame 0 was, ns of Unix time; 0: not known yet. */
  start: bigint;
  name: string;
  gravity: Vec3;
  /** m/s this world is made for; a body that is spawned faster is refused. 0: no limit is known. */
  fastest: number;
  extent: Rect;
  cells: readonly [number, number];
  regions: Region[];
}

export interface Piece {
  id: number;
  position: Vec3;
  rotation: Quat;
  material: Material;
  shape: Shape;
}

/** What this gateway can do besides showing the world. */
export interface Features {
  type: 'features';
  /** Servers may be killed and the network be made worse. */
  demo: boolean;
  /** The emulated network in force. */
  network: Network;
  scenes: { name: string; about: string }[];
}

export const GOODBYES = ['version', 'token', 'malformed', 'flooding', 'too-slow', 'silent', 'stopping'] as const;
export type Goodbye = (typeof GOODBYES)[number];

/** What a gateway sends. */
export type FromGateway =
  | Welcome
  | World
  | { type: 'statics'; pieces: Piece[] }
  | { type: 'forms'; forms: { number: number; shape: Shape }[] }
  | { type: 'update'; frame: number; sections: Section[] }
  | { type: 'pong'; sent: bigint; received: bigint; replied: bigint }
  | { type: 'answer'; id: number; answer: Answer }
  | { type: 'goodbye'; reason: Goodbye; text: string }
  | { type: 'inspection'; frame: number; parts: InspectionPart[] }
  | Features
  /** Of a later version of the protocol; to be ignored. */
  | { type: 'unknown'; kind: number };

/** What has happened in a cell. */
export type Section = { cell: number } & (
  | { type: 'begin'; packet: number; frame: number }
  | { type: 'join'; bytes: Uint8Array }
  | { type: 'packet'; bytes: Uint8Array }
  | { type: 'end' }
  | { type: 'entered'; bodies: { body: bigint; form: number; owner: number }[] }
  | { type: 'left'; bodies: { body: bigint; removed: boolean }[] }
  | { type: 'owners'; bodies: { body: bigint; owner: number }[] }
  | { type: 'contacts'; contacts: { place: Vec3; speed: number }[] }
);

/** A message as bytes, ready for a WebSocket. */
export function encode(message: ToGateway): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  switch (message.type) {
    case 'hello':
      writer.u8(0x01).u16(message.version ?? VERSION).text(message.token);
      writeArea(writer, message.area);
      writer.u8(message.rate);
      break;
    case 'watch':
      writer.u8(0x02);
      writeArea(writer, message.area);
      break;
    case 'ping':
      writer.u8(0x03).u64(message.sent);
      break;
    case 'command':
      writer.u8(0x04).u32(message.id);
      writeCommand(writer, message.command);
      break;
    case 'inspect':
      writer.u8(0x05).u16(message.layers).list(message.picked, (body) => writer.u64(body));
      break;
    case 'anew':
      writer.u8(0x06);
  }
  return writer.finish();
}

/** Bytes as a message; throws {@link Malformed}. */
export function decode(bytes: Uint8Array): FromGateway {
  const reader = new Reader(bytes);
  const message = read(reader);
  if (message.type !== 'unknown') reader.end();
  return message;
}

function read(reader: Reader): FromGateway {
  const kind = reader.u8();
  switch (kind) {
    case 0x81:
      return readWelcome(reader);
    case 0x82:
      return readWorld(reader);
    case 0x83:
      return { type: 'statics', pieces: reader.list(54, () => readPiece(reader)) };
    case 0x84:
      return { type: 'forms', forms: reader.list(5, () => ({ number: reader.u32(), shape: readShape(reader) })) };
    case 0x85: {
      const frame = reader.count64();
      const sections: Section[] = [];
      while (reader.remaining > 0) sections.push(readSection(reader));
      return { type: 'update', frame, sections };
    }
    case 0x86:
      return { type: 'pong', sent: reader.u64(), received: reader.u64(), replied: reader.u64() };
    case 0x87:
      return { type: 'answer', id: reader.u32(), answer: readAnswer(reader) };
    case 0x88: {
      const reason = GOODBYES[reader.u8() - 1];
      if (!reason) throw new Malformed('a goodbye without reason');
      return { type: 'goodbye', reason, text: reader.text() };
    }
    case 0x89: {
      const frame = reader.count64();
      const parts: InspectionPart[] = [];
      while (reader.remaining > 0) parts.push(readPart(reader));
      return { type: 'inspection', frame, parts };
    }
    case 0x8a:
      return readFeatures(reader);
    default:
      return { type: 'unknown', kind };
  }
}

function readWelcome(reader: Reader): Welcome {
  const [version, session, role] = [reader.u16(), reader.u64(), ROLES[reader.u8()]];
  if (!role) throw new Malformed('a role that does not exist');
  return {
    type: 'welcome',
    version,
    session,
    role,
    clock: reader.u64(),
    tick: reader.f64(),
    frameTicks: reader.u8(),
    delayFrames: reader.u8(),
    toleranceM: reader.f32(),
    toleranceRad: reader.f32(),
  };
}

function readWorld(reader: Reader): World {
  return {
    type: 'world',
    generation: reader.u32(),
    start: reader.u64(),
    name: reader.text(),
    gravity: reader.vec3d(),
    fastest: reader.f64(),
    extent: reader.rect(),
    cells: [reader.u16(), reader.u16()],
    regions: reader.list(34, () => ({ rect: reader.rect(), server: reader.text() })),
  };
}

function readFeatures(reader: Reader): Features {
  const demo = (reader.u8() & 1) === 1;
  const network = { latencyMs: reader.f32(), jitterMs: reader.f32(), loss: reader.f32() };
  const scenes = reader.list(4, () => ({ name: reader.text(), about: reader.text() }));
  return { type: 'features', demo, network, scenes };
}

function readPiece(reader: Reader): Piece {
  const [id, position, rotation] = [reader.u32(), reader.vec3d(), reader.rotation()];
  return { id, position, rotation, material: readMaterial(reader), shape: readShape(reader) };
}

function readSection(outer: Reader): Section {
  const [kind, cell] = [outer.u8(), outer.u16()];
  const bytes = outer.take(outer.u32());
  if (kind === 0x03) return { cell, type: 'packet', bytes };
  if (kind === 0x02) return { cell, type: 'join', bytes };
  const reader = new Reader(bytes);
  const section = readListSection(reader, kind, cell);
  reader.end();
  return section;
}

function readListSection(reader: Reader, kind: number, cell: number): Section {
  switch (kind) {
    case 0x01:
      return { cell, type: 'begin', packet: reader.count64(), frame: reader.count64() };
    case 0x04:
      return { cell, type: 'end' };
    case 0x05: {
      const entry = () => ({ body: reader.u64(), form: reader.u32(), owner: reader.u16() });
      return { cell, type: 'entered', bodies: reader.list(14, entry) };
    }
    case 0x06: {
      const entry = () => ({ body: reader.u64(), removed: reader.flag() });
      return { cell, type: 'left', bodies: reader.list(9, entry) };
    }
    case 0x07: {
      const entry = () => ({ body: reader.u64(), owner: reader.u16() });
      return { cell, type: 'owners', bodies: reader.list(10, entry) };
    }
    case 0x08: {
      const entry = () => ({ place: reader.vec3f(), speed: reader.f32() });
      return { cell, type: 'contacts', contacts: reader.list(16, entry) };
    }
    default:
      throw new Malformed(`no section has the number ${kind}`);
  }
}
