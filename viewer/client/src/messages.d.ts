import { type Quat, type Rect, type Vec3 } from './bytes.js';
import { type Answer, type Area, type Command, type Network } from './commands.js';
import { type InspectionPart } from './inspection.js';
import { type Material, type Shape } from './shapes.js';
/** The version of the protocol that this library speaks. */
export declare const VERSION = 2;
/** Its name in the WebSocket's opening handshake. */
export declare const SUBPROTOCOL = "auramesh.v2";
/** What a token allows. */
export type Role = 'view' | 'play' | 'admin';
/** What a client sends. */
export type ToGateway = {
    type: 'hello';
    token: string;
    area: Area;
    rate: number;
    version?: number;
} | {
    type: 'watch';
    area: Area;
} | {
    type: 'ping';
    sent: bigint;
} | {
    type: 'command';
    id: number;
    command: Command;
} | {
    type: 'inspect';
    layers: number;
    picked: bigint[];
} | {
    type: 'anew';
};
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
    scenes: {
        name: string;
        about: string;
    }[];
}
export declare const GOODBYES: readonly ['version', 'token', 'malformed', 'flooding', 'too-slow', 'silent', 'stopping'];
export type Goodbye = (typeof GOODBYES)[number];
/** What a gateway sends. */
export type FromGateway = Welcome | World | {
    type: 'statics';
    pieces: Piece[];
} | {
    type: 'forms';
    forms: {
        number: number;
        shape: Shape;
    }[];
} | {
    type: 'update';
    frame: number;
    sections: Section[];
} | {
    type: 'pong';
    sent: bigint;
    received: bigint;
    replied: bigint;
} | {
    type: 'answer';
    id: number;
    answer: Answer;
} | {
    type: 'goodbye';
    reason: Goodbye;
    text: string;
} | {
    type: 'inspection';
    frame: number;
    parts: InspectionPart[];
} | Features
/** Of a later version of the protocol; to be ignored. */
 | {
    type: 'unknown';
    kind: number;
};
/** What has happened in a cell. */
export type Section = {
    cell: number;
} & ({
    type: 'begin';
    packet: number;
    frame: number;
} | {
    type: 'join';
    bytes: Uint8Array;
} | {
    type: 'packet';
    bytes: Uint8Array;
} | {
    type: 'end';
} | {
    type: 'entered';
    bodies: {
        body: bigint;
        form: number;
        owner: number;
    }[];
} | {
    type: 'left';
    bodies: {
        body: bigint;
        removed: boolean;
    }[];
} | {
    type: 'owners';
    bodies: {
        body: bigint;
        owner: number;
    }[];
} | {
    type: 'contacts';
    contacts: {
        place: Vec3;
        speed: number;
    }[];
});
/** A message as bytes, ready for a WebSocket. */
export declare function encode(message: ToGateway): Uint8Array<ArrayBuffer>;
/** Bytes as a message; throws {@link Malformed}. */
export declare function decode(bytes: Uint8Array): FromGateway;
