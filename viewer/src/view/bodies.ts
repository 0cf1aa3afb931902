// Thousands of bodies by instancing: one draw call per kind of geometry.

import * as THREE from 'three';
import type { Body, Shape } from '@auramesh/client';
import { ownerColour } from '../palette.js';
import { type Look, lookOf, textureOf } from './shapes.js';

const FIRST_CAPACITY = 64;
/** A change of colour takes so long, ms: seen, but no flicker. */
const FADE_MS = 350;

/** All bodies of one geometry. */
class Batch {
  mesh: THREE.InstancedMesh;
  /** The mesh's own matrices. */
  matrices: Float32Array = new Float32Array(0);
  moved = false;
  readonly members: Item[] = [];

  constructor(
    private readonly parent: THREE.Object3D,
    private readonly geometry: THREE.BufferGeometry,
    private readonly material: THREE.Material,
  ) {
    this.mesh = this.make(FIRST_CAPACITY);
  }

  private make(capacity: number): THREE.InstancedMesh {
    const mesh = new THREE.InstancedMesh(this.geometry, this.material, capacity);
    mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(capacity * 3), 3);
    mesh.instanceColor.setUsage(THREE.DynamicDrawUsage);
    mesh.frustumCulled = false;
    mesh.castShadow = mesh.receiveShadow = true;
    mesh.count = 0;
    this.matrices = mesh.instanceMatrix.array as Float32Array;
    this.parent.add(mesh);
    return mesh;
  }

  add(item: Item): void {
    if (this.members.length === this.mesh.instanceMatrix.count) this.grow();
    item.batch = this;
    item.at = this.members.push(item) - 1;
    this.mesh.count = this.members.length;
    this.hide(item.at);
  }

  /** Until its first pose it is nowhere. */
  private hide(at: number): void {
    this.mesh.instanceMatrix.array.fill(0, at * 16, at * 16 + 16);
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  private grow(): void {
    const old = this.mesh;
    this.mesh = this.make(old.instanceMatrix.count * 2);
    this.mesh.count = old.count;
    this.mesh.instanceMatrix.array.set(old.instanceMatrix.array);
    (this.mesh.instanceColor as THREE.InstancedBufferAttribute).array.set((old.instanceColor as THREE.InstancedBufferAttribute).array);
    this.parent.remove(old);
    old.dispose();
  }

  remove(item: Item): void {
    const last = this.members.pop() as Item;
    if (last !== item) {
      this.members[item.at] = last;
      const { array } = this.mesh.instanceMatrix;
      array.copyWithin(item.at * 16, last.at * 16, last.at * 16 + 16);
      const colours = (this.mesh.instanceColor as THREE.InstancedBufferAttribute).array;
      colours.copyWithin(item.at * 3, last.at * 3, last.at * 3 + 3);
      last.at = item.at;
    }
    this.mesh.count = this.members.length;
    this.touch();
  }

  touch(): void {
    this.mesh.instanceMatrix.needsUpdate = true;
    (this.mesh.instanceColor as THREE.InstancedBufferAttribute).needsUpdate = true;
  }

  dispose(): void {
    this.parent.remove(this.mesh);
    this.mesh.dispose();
    this.geometry.dispose();
    this.material.dispose();
  }
}

/** A body on the screen. */
export class Item {
  batch!: Batch;
  at = -1;
  sx = 1;
  sy = 1;
  sz = 1;
  /** What colour it has, and whence and since when it is changing. */
  readonly colour = new THREE.Color();
  readonly from = new THREE.Color();
  fadesSince = -1;
  asleep = false;

  constructor(readonly body: Body) {}
}

/** Keeps one instance for each body. */
export class Bodies {
  readonly group = new THREE.Group();
  private readonly items = new Map<bigint, Item>();
  private readonly batches = new Map<THREE.BufferGeometry, Batch>();
  private readonly looks = new Map<number, Look & { shape: string }>();
  private readonly fading = new Set<Item>();
  private readonly origin = new THREE.Vector3();
  shadeSleepers = true;

  /** What is subtracted from world coordinates: screens compute in single precision. */
  setOrigin(x: number, y: number, z: number): void {
    this.origin.set(x, y, z);
  }

  clear(): void {
    for (const batch of this.batches.values()) batch.dispose();
    this.batches.clear();
    this.looks.clear();
    this.items.clear();
    this.fading.clear();
  }

  setForm(number: number, shape: Shape): void {
    // Told again, it keeps its geometry: those who have it need not change.
    const text = JSON.stringify(shape);
    if (this.looks.get(number)?.shape !== text) this.looks.set(number, { ...lookOf(shape), shape: text });
  }

  get(id: bigint): Item | undefined {
    return this.items.get(id);
  }

  add(body: Body): void {
    const item = new Item(body);
    this.items.set(body.id, item);
    body.tag = item;
    this.join(item);
    this.paint(item, this.goal(item));
  }

  private join(item: Item): void {
    const look = this.looks.get(item.body.form);
    if (!look) return;
    [item.sx, item.sy, item.sz] = look.scale;
    let batch = this.batches.get(look.geometry);
    if (!batch) {
      const material = new THREE.MeshLambertMaterial({ map: textureOf(look.mark), flatShading: look.mark === 'none' });
      batch = new Batch(this.group, look.geometry, material);
      this.batches.set(look.geometry, batch);
    }
    batch.add(item);
  }

  remove(body: Body): void {
    const item = this.items.get(body.id);
    if (!item) return;
    this.items.delete(body.id);
    this.fading.delete(item);
    if (item.at >= 0) item.batch.remove(item);
  }

  /** Writes a body's pose into its instance. */
  place(body: Body): void {
    const item = body.tag as Item | null;
    if (item === null || item.at < 0) return;
    const { pose } = body;
    const { x, y, z, w } = pose;
    const { sx, sy, sz, batch } = item;
    const to = batch.matrices;
    const at = item.at * 16;
    const x2 = x + x;
    const y2 = y + y;
    const z2 = z + z;
    const xx = x * x2;
    const xy = x * y2;
    const xz = x * z2;
    const yy = y * y2;
    const yz = y * z2;
    const zz = z * z2;
    const wx = w * x2;
    const wy = w * y2;
    const wz = w * z2;
    to[at] = (1 - (yy + zz)) * sx;
    to[at + 1] = (xy + wz) * sx;
    to[at + 2] = (xz - wy) * sx;
    to[at + 4] = (xy - wz) * sy;
    to[at + 5] = (1 - (xx + zz)) * sy;
    to[at + 6] = (yz + wx) * sy;
    to[at + 8] = (xz + wy) * sz;
    to[at + 9] = (yz - wx) * sz;
    to[at + 10] = (1 - (xx + yy)) * sz;
    to[at + 12] = pose.px - this.origin.x;
    to[at + 13] = pose.py - this.origin.y;
    to[at + 14] = pose.pz - this.origin.z;
    to[at + 15] = 1;
    batch.moved = true;
  }

  /** The colour it should have: its owner's, each body a little lighter or darker than the next; sleepers darker. */
  private goal(item: Item): THREE.Color {
    const { body } = item;
    const shade = 0.92 + 0.16 * (((Number(body.id & 0xffffn) * 2654435761) >>> 8) % 256) / 256;
    const colour = new THREE.Color(ownerColour(body.owner));
    return colour.multiplyScalar(shade * (item.asleep && this.shadeSleepers ? 0.62 : 1));
  }

  /** The owner is another one, or it fell asleep: fades to the new colour. */
  recolour(id: bigint, now: number): void {
    const item = this.items.get(id);
    if (!item) return;
    this.blend(item, now, item.from);
    item.colour.copy(this.goal(item));
    item.fadesSince = now;
    this.fading.add(item);
  }

  setAsleep(id: bigint, asleep: boolean, now: number): void {
    const item = this.items.get(id);
    if (!item || item.asleep === asleep) return;
    item.asleep = asleep;
    this.recolour(id, now);
  }

  private paint(item: Item, colour: THREE.Color): void {
    item.colour.copy(colour);
    item.from.copy(colour);
    this.write(item, colour);
  }

  private write(item: Item, { r, g, b }: THREE.Color): void {
    if (item.at < 0) return;
    const attribute = item.batch.mesh.instanceColor as THREE.InstancedBufferAttribute;
    attribute.array[item.at * 3] = r;
    attribute.array[item.at * 3 + 1] = g;
    attribute.array[item.at * 3 + 2] = b;
    attribute.needsUpdate = true;
  }

  /** The colour it has just now, into `out`. */
  private blend(item: Item, now: number, out: THREE.Color): void {
    const share = item.fadesSince < 0 ? 1 : Math.min(1, (now - item.fadesSince) / FADE_MS);
    out.copy(share === 1 ? item.colour : scratch.copy(item.from).lerp(item.colour, share));
  }

  /** Once per frame, after all places. */
  finish(now: number): void {
    for (const batch of this.batches.values()) {
      if (batch.moved) batch.mesh.instanceMatrix.needsUpdate = true;
      batch.moved = false;
    }
    for (const item of this.fading) {
      this.blend(item, now, shown);
      this.write(item, shown);
      if (now - item.fadesSince >= FADE_MS) {
        item.fadesSince = -1;
        this.fading.delete(item);
      }
    }
  }

  /** The body that a ray meets first. */
  pick(ray: THREE.Raycaster): Body | null {
    let [found, nearest]: [Body | null, number] = [null, Infinity];
    for (const batch of this.batches.values()) {
      batch.mesh.boundingSphere = null;
      for (const hit of ray.intersectObject(batch.mesh, false)) {
        const item = hit.instanceId === undefined ? undefined : batch.members[hit.instanceId];
        if (item && hit.distance < nearest) [found, nearest] = [item.body, hit.distance];
      }
    }
    return found;
  }

  /** The colour a body has on the screen just now, CSS; for tests. */
  colourOf(id: bigint): string | null {
    const item = this.items.get(id);
    if (!item || item.at < 0) return null;
    const colours = (item.batch.mesh.instanceColor as THREE.InstancedBufferAttribute).array;
    return `#${scratch.fromArray(colours as unknown as number[], item.at * 3).getHexString()}`;
  }

  /** Is it drawn, and where? For tests. */
  drawn(id: bigint): [number, number, number] | null {
    const item = this.items.get(id);
    if (!item || item.at < 0) return null;
    const m = item.batch.mesh.instanceMatrix.array;
    const at = item.at * 16;
    if (m[at + 15] !== 1 || item.at >= item.batch.mesh.count) return null;
    return [(m[at + 12] as number) + this.origin.x, (m[at + 13] as number) + this.origin.y, (m[at + 14] as number) + this.origin.z];
  }
}

const scratch = new THREE.Color();
const shown = new THREE.Color();
