// What the servers know beyond poses: auras, clusters, handovers, health, figures, exact states. Sent while somebody asks.

import { type Quat, Reader, type Vec3 } from './bytes.js';

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
} as const;

/** The region of parts that speak of no single one. */
export const NO_REGION = 65535;

export interface Aura {
  body: bigint;
  centre: Vec3;
  /** Of the body's bounding sphere. */
  radius: number;
  /** How far the aura reaches beyond it. */
  reach: number;
  /** Metres per tick while no news comes. */
  growth: number;
  /** Regions that know it. */
  audience: number[];
}

/** Where a cluster stands with respect to its owner's region. */
export const PLACES = ['inside', 'at the boundary', 'outside'] as const;

export interface ClusterMember {
  body: bigint;
  /** The body that the cluster is named after. */
  cluster: bigint;
  since: number;
  place: (typeof PLACES)[number];
}

export interface BodyState {
  body: bigint;
  epoch: number;
  asleep: boolean;
  /** It has left its owner and nobody else has it yet. */
  underway: boolean;
}

export interface InFlight {
  body: bigint;
  to: number;
  epoch: number;
  left: number;
  place: Vec3;
}

/** Why a body migrated. */
export const CAUSES = ['touched an aura', 'left the region', 'centre crossed'] as const;

export interface Migration {
  body: bigint;
  epoch: number;
  to: number;
  tick: number;
  cause: (typeof CAUSES)[number];
  place: Vec3;
}

export interface Crossing {
  a: bigint;
  b: bigint;
  regionOfA: number;
  regionOfB: number;
  tick: number;
  speed: number;
  place: Vec3;
}

/** How a region fares. */
export const STATES = ['abandoned', 'waiting', 'running', 'recovering', 'silent', 'moving'] as const;

export interface Health {
  state: (typeof STATES)[number];
  /** 1 for the first owner, one more with each replacement. */
  term: number;
  server: string;
  standby: string;
  silentMs: number;
  inTermMs: number;
  /** How often each tolerance was exceeded. */
  exceeded: { speed: number; latency: number; frame: number };
}

/** Counters since the term began. */
export interface Figures {
  term: number;
  ticks: number;
  lateTicks: number;
  /** Nanoseconds of CPU of all ticks; 0 in simulated recordings. */
  cpuNs: number;
  longestNs: number;
  budgetNs: number;
  bodies: number;
  awake: number;
  projecting: number;
  aurasHeld: number;
  inFlight: number;
  arrived: number;
  departed: number;
  bytesToRegions: number;
  bytesToOthers: number;
}

/** A body exactly as it is simulated. */
export interface Truth {
  body: bigint;
  owner: number;
  epoch: number;
  tick: number;
  position: Vec3;
  rotation: Quat;
  velocity: Vec3;
  spin: Vec3;
  asleep: boolean;
  underway: boolean;
}

export type InspectionPart = { region: number; tick: number } & (
  | { type: 'auras'; auras: Aura[] }
  | { type: 'clusters'; members: ClusterMember[] }
  | { type: 'bodies'; whole: boolean; bodies: BodyState[] }
  | { type: 'flight'; bodies: InFlight[] }
  | { type: 'migrations'; migrations: Migration[] }
  | { type: 'crossings'; crossings: Crossing[] }
  | ({ type: 'health' } & Health)
  | ({ type: 'figures' } & Figures)
  | { type: 'truth'; bodies: Truth[] }
  | { type: 'unknown' }
);

export function readPart(outer: Reader): InspectionPart {
  const [kind, region, tick] = [outer.u8(), outer.u16(), outer.count64()];
  const reader = new Reader(outer.take(outer.u32()));
  const part = readFields(reader, kind, { region, tick });
  if (part.type !== 'unknown') reader.end();
  return part;
}

function readFields(reader: Reader, kind: number, head: { region: number; tick: number }): InspectionPart {
  switch (kind) {
    case 0x01:
      return { ...head, type: 'auras', auras: reader.list(45, () => readAura(reader)) };
    case 0x02: {
      const entry = (): ClusterMember => ({
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
      const entry = (): InFlight => ({
        body: reader.u64(),
        to: reader.u16(),
        epoch: reader.u32(),
        left: reader.count64(),
        place: reader.vec3d(),
      });
      return { ...head, type: 'flight', bodies: reader.list(46, entry) };
    }
    case 0x05: {
      const entry = (): Migration => ({
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
      const entry = (): Crossing => ({
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

function readFlags(reader: Reader): { asleep: boolean; underway: boolean } {
  const flags = reader.u8();
  return { asleep: (flags & 1) !== 0, underway: (flags & 2) !== 0 };
}

function readAura(reader: Reader): Aura {
  const [body, centre] = [reader.u64(), reader.vec3d()];
  const [radius, reach, growth] = [reader.f32(), reader.f32(), reader.f32()];
  const audience = Array.from({ length: reader.u8() }, () => reader.u16());
  return { body, centre, radius, reach, growth, audience };
}

function readHealth(reader: Reader): Health {
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

function readFigures(reader: Reader): Figures {
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

function readTruth(reader: Reader): Truth {
  const [body, owner, epoch, tick] = [reader.u64(), reader.u16(), reader.u32(), reader.count64()];
  const [position, rotation, velocity, spin] = [reader.vec3d(), reader.rotation(), reader.vec3f(), reader.vec3f()];
  return { body, owner, epoch, tick, position, rotation, velocity, spin, ...readFlags(reader) };
}
