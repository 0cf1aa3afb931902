import { type Quat, type Reader, type Rect, type Vec3, type Writer } from './bytes.js';
import { type Material, type Shape } from './shapes.js';
/** The part of the world a client wants to see. */
export type Area = 'nothing' | 'everything' | Rect;
/** Region layouts by their numbers. */
export declare const LAYOUTS: readonly ['single', 'columns', 'grid', 'tree', 'thesis-3', 'thesis-7'];
export type Layout = (typeof LAYOUTS)[number];
/** Something to be done or told. */
export type Command = {
    type: 'spawn';
    position: Vec3;
    rotation: Quat;
    velocity: Vec3;
    spin: Vec3;
    material: Material;
    swept: boolean;
    shape: Shape;
} | {
    type: 'impulse';
    body: bigint;
    impulse: Vec3;
    at?: Vec3;
} | {
    type: 'velocity';
    body: bigint;
    velocity: Vec3;
} | {
    type: 'remove';
    body: bigint;
} | {
    type: 'reset';
} | {
    type: 'switch-scene';
    name: string;
} | {
    type: 'switch-scene';
    text: string;
} | {
    type: 'define-regions';
    layout: Layout;
    count: number;
} | {
    type: 'define-regions';
    boxes: Rect[];
} | {
    type: 'inject';
    min: Vec3;
    max: Vec3;
    rate: number;
    seconds: number;
    velocityMin: Vec3;
    velocityMax: Vec3;
    shapes: Shape[];
} | {
    type: 'ray';
    origin: Vec3;
    direction: Vec3;
    reach: number;
} | {
    type: 'overlap';
    position: Vec3;
    rotation: Quat;
    shape: Shape;
} | {
    type: 'put-up';
    position: Vec3;
    rotation: Quat;
    material: Material;
    shape: Shape;
} | {
    type: 'kill-server';
    server: string;
} | ({
    type: 'set-network';
} & Network) | {
    type: 'stop-injections';
};
/** An emulated network between servers. */
export interface Network {
    latencyMs: number;
    jitterMs: number;
    /** The share of datagrams that are lost, 0 to 1. */
    loss: number;
}
/** What became of a command. */
export type Answer = {
    type: 'done';
    tick: bigint;
    about: bigint;
} | {
    type: 'not-found';
} | {
    type: 'refused';
    why: string;
} | {
    type: 'forbidden';
    why: string;
} | {
    type: 'hit';
    hit: Hit | null;
} | {
    type: 'touching';
    bodies: bigint[];
} | {
    type: 'no-answer';
};
/** What a ray met first. */
export interface Hit {
    scenery: boolean;
    id: bigint;
    distance: number;
    point: Vec3;
    normal: Vec3;
}
export declare function writeArea(writer: Writer, area: Area): void;
export declare function writeCommand(writer: Writer, command: Command): void;
export declare function readAnswer(reader: Reader): Answer;
