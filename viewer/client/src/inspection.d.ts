import { type Quat, Reader, type Vec3 } from './bytes.js';
/** What can be asked for; a bit set. */
export declare const LAYERS: {
    readonly auras: 1;
    readonly clusters: 2;
    readonly bodies: 4;
    readonly flight: 8;
    readonly migrations: 16;
    readonly crossings: 32;
    readonly health: 64;
    readonly figures: 128;
    readonly truth: 256;
};
/** The region of parts that speak of no single one. */
export declare const NO_REGION = 65535;
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
export declare const PLACES: readonly ['inside', 'at the boundary', 'outside'];
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
export declare const CAUSES: readonly ['touched an aura', 'left the region', 'centre crossed'];
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
export declare const STATES: readonly ['abandoned', 'waiting', 'running', 'recovering', 'silent', 'moving'];
export interface Health {
    state: (typeof STATES)[number];
    /** 1 for the first owner, one more with each replacement. */
    term: number;
    server: string;
    standby: string;
    silentMs: number;
    inTermMs: number;
    /** How often each tolerance was exceeded. */
    exceeded: {
        speed: number;
        latency: number;
        frame: number;
    };
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
export type InspectionPart = {
    region: number;
    tick: number;
} & ({
    type: 'auras';
    auras: Aura[];
} | {
    type: 'clusters';
    members: ClusterMember[];
} | {
    type: 'bodies';
    whole: boolean;
    bodies: BodyState[];
} | {
    type: 'flight';
    bodies: InFlight[];
} | {
    type: 'migrations';
    migrations: Migration[];
} | {
    type: 'crossings';
    crossings: Crossing[];
} | ({
    type: 'health';
} & Health) | ({
    type: 'figures';
} & Figures) | {
    type: 'truth';
    bodies: Truth[];
} | {
    type: 'unknown';
});
export declare function readPart(outer: Reader): InspectionPart;
