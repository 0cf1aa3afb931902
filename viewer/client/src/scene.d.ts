import { Clock, Pace } from './clock.js';
import type { Features, FromGateway, Piece, Welcome, World } from './messages.js';
import type { InspectionPart } from './inspection.js';
import type { Vec3 } from './bytes.js';
import type { Shape } from './shapes.js';
import { type Pose, type Track } from './stream/decoder.js';
interface Source {
    cell: number;
    track: Track | null;
}
/** A body in sight. */
export declare class Body {
    readonly id: bigint;
    form: number;
    owner: number;
    /** Where it is shown, as of the last {@link Scene.place}. */
    readonly pose: Pose;
    /** Is the pose known at all? */
    placed: boolean;
    /** Its place in {@link Scene.list}. */
    index: number;
    /** Whatever belongs to it where it is drawn; nothing here looks at it. */
    tag: unknown;
    /** The cells that tell of it, the last one first. */
    readonly sources: Source[];
    /** If it rests: the track, and the packets of its newest curves, by which that is known. */
    private resting;
    private restsBy;
    private turnsBy;
    constructor(id: bigint, form: number, owner: number);
    /** Brings the pose to a frame; false if it is what it was. */
    place(frame: number, pull: Vec3): boolean;
    /** Does what is shown stay as it is until something new is known? */
    private remember;
}
/** Hears what happens. Every method is optional. */
export interface SceneListener {
    welcome?(welcome: Welcome): void;
    features?(features: Features): void;
    /** There is another world; everything of the old one is gone already. */
    world?(world: World): void;
    /** The same world: it has started, or regions have other servers. */
    regions?(world: World): void;
    statics?(pieces: Piece[]): void;
    forms?(forms: {
        number: number;
        shape: Shape;
    }[]): void;
    entered?(body: Body): void;
    left?(body: Body, removed: boolean): void;
    owner?(body: Body, before: number): void;
    contact?(place: Vec3, speed: number): void;
    updated?(frame: number): void;
    inspection?(frame: number, parts: InspectionPart[]): void;
}
/** The world as a client sees it. */
export declare class Scene {
    private readonly listener;
    welcome: Welcome | null;
    features: Features | null;
    world: World | null;
    readonly statics: Map<number, Piece>;
    readonly forms: Map<number, Shape>;
    readonly bodies: Map<bigint, Body>;
    /** The same bodies, without gaps; removing one moves the last into its place. */
    readonly list: Body[];
    readonly clock: Clock;
    readonly pace: Pace;
    /** The newest frame that has come. */
    frame: number;
    /** Records of the state stream decoded so far. */
    private cells;
    private pull;
    private steady;
    constructor(listener?: SceneListener);
    /** Seconds of a frame. */
    get frameSeconds(): number;
    /** Takes a message that came at a time of the own clock, ms; throws if it makes no sense. */
    handle(message: FromGateway, local: number): void;
    private handleWorld;
    /** Forgets the world: another one, or the same told anew from another time. */
    forget(): void;
    private handleSection;
    private decoder;
    private begin;
    /** Those who were in a cell that was told anew, and are not any more. */
    private sweep;
    private enter;
    private setOwner;
    private leave;
    private drop;
    /** The cluster's present, in frames. */
    present(local: number): number;
    /** The frame to show now: all that is shown is known by then. Before the clock is known, the newest. */
    shownFrame(local: number): number;
    /** The same, but never back in time: if updates have become later, it waits. */
    steadyFrame(local: number): number;
    /** Brings all bodies to a frame and tells of those whose pose has changed. */
    place(frame: number, moved?: (body: Body) => void): void;
    /** Where one body is at a frame, without changing anything. */
    poseAt(body: Body, frame: number, out: Pose): boolean;
    /** A body's speed as its curve has it, m/s. */
    speed(body: Body, frame: number): number;
    /** Records of the state stream decoded so far. */
    get updates(): number;
}
/** Nanoseconds as they stand in messages, as milliseconds. */
export declare function toMs(ns: bigint): number;
export {};
