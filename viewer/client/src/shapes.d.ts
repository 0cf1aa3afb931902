import { type Quat, type Reader, type Vec3, type Writer } from './bytes.js';
/** A part of a compound. */
export interface Part {
    position: Vec3;
    rotation: Quat;
    shape: Shape;
}
/** Any shape. Sizes in metres, around the body's origin. */
export type Shape = {
    type: 'sphere';
    radius: number;
} | {
    type: 'cuboid';
    size: Vec3;
} | {
    type: 'capsule';
    radius: number;
    height: number;
} | {
    type: 'convex';
    points: Vec3[];
} | {
    type: 'mesh';
    points: Vec3[];
    triangles: Vec3[];
} | {
    type: 'compound';
    parts: Part[];
} | {
    type: 'plane';
};
/** What something is made of: kg/m³, and two numbers without unit. */
export interface Material {
    density: number;
    friction: number;
    restitution: number;
}
export declare const DEFAULT_MATERIAL: Material;
export declare function readMaterial(reader: Reader): Material;
export declare function writeMaterial(writer: Writer, material: Material): void;
export declare function readShape(reader: Reader, inCompound?: boolean): Shape;
export declare function writeShape(writer: Writer, shape: Shape): void;
