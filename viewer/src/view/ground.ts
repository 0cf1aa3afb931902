// What does not move: scenery, regions on the ground, the borders between them.

import * as THREE from 'three';
import type { Health, Piece, Rect, World } from '@auramesh/client';
import { ALARM, ownerColour, WARNING } from '../palette.js';
import { lookOf } from './shapes.js';

const FLOOR = 0x1b2434;
const SCENERY = 0x8d98ab;
const alarm = new THREE.Color(ALARM);

/** How a region is marked on the ground. */
interface Tile {
  floor: THREE.Mesh<THREE.PlaneGeometry, THREE.MeshBasicMaterial>;
  hatch: THREE.Mesh<THREE.PlaneGeometry, THREE.MeshBasicMaterial>;
  label: THREE.Mesh<THREE.PlaneGeometry, THREE.MeshBasicMaterial>;
  text: string;
  exceededAt: number;
}

export class Ground {
  readonly group = new THREE.Group();
  private readonly scenery = new THREE.Group();
  private readonly regions = new THREE.Group();
  private readonly plan = new THREE.Group();
  private readonly pieces = new Map<number, THREE.Object3D>();
  private tiles: Tile[] = [];
  private readonly origin = new THREE.Vector3();
  private readonly hatchTexture = hatch();
  private size = 60;
  showBorders = true;

  constructor() {
    this.group.add(this.scenery, this.regions, this.plan);
  }

  clear(): void {
    empty(this.scenery);
    this.pieces.clear();
  }

  setOrigin(x: number, y: number, z: number): void {
    this.origin.set(x, y, z);
  }

  addPiece(piece: Piece): void {
    const known = this.pieces.get(piece.id);
    if (known) {
      this.scenery.remove(known);
      free(known);
    }
    const look = lookOf(piece.shape);
    const isFloor = piece.shape.type === 'plane';
    const material = isFloor
      ? new THREE.MeshLambertMaterial({ color: FLOOR })
      : new THREE.MeshLambertMaterial({ color: SCENERY, flatShading: true, side: piece.shape.type === 'mesh' ? THREE.DoubleSide : THREE.FrontSide });
    const mesh = new THREE.Mesh(look.geometry, material);
    mesh.scale.set(...look.scale);
    mesh.position.set(...piece.position).sub(this.origin);
    mesh.quaternion.set(...piece.rotation);
    mesh.receiveShadow = true;
    mesh.castShadow = !isFloor;
    this.pieces.set(piece.id, mesh);
    this.scenery.add(mesh);
  }

  /** Objects that a ray may meet. */
  get solids(): THREE.Object3D[] {
    return this.scenery.children;
  }

  get pieceCount(): number {
    return this.pieces.size;
  }

  setRegions(world: World): void {
    empty(this.regions);
    const { extent } = world;
    this.size = Math.max(extent.maxX - extent.minX, extent.maxZ - extent.minZ);
    this.tiles = world.regions.map((region, number) => this.tile(region.rect, number));
    this.regions.add(borders(world.regions.map((region) => region.rect), extent, this.origin, this.size));
    this.regions.visible = this.showBorders;
    this.name(world);
  }

  private tile(rect: Rect, number: number): Tile {
    const [width, depth] = [rect.maxX - rect.minX, rect.maxZ - rect.minZ];
    const [x, z] = [(rect.minX + rect.maxX) / 2 - this.origin.x, (rect.minZ + rect.maxZ) / 2 - this.origin.z];
    const flat = (material: THREE.MeshBasicMaterial, w: number, d: number, height: number) => {
      const mesh = new THREE.Mesh(new THREE.PlaneGeometry(w, d), material);
      mesh.rotation.x = -Math.PI / 2;
      mesh.position.set(x, height - this.origin.y, z);
      mesh.renderOrder = 1;
      this.regions.add(mesh);
      return mesh;
    };
    const soft = { transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -2, fog: true };
    const floor = flat(new THREE.MeshBasicMaterial({ ...soft, color: ownerColour(number), opacity: 0.13 }), width, depth, 0.01);
    const texture = this.hatchTexture.clone();
    texture.repeat.set(width / 4, depth / 4);
    const hatched = flat(new THREE.MeshBasicMaterial({ ...soft, map: texture, opacity: 0.55 }), width, depth, 0.02);
    hatched.visible = false;
    const side = Math.min(width, depth * 2, this.size * 0.32);
    const label = flat(new THREE.MeshBasicMaterial({ ...soft, opacity: 0.9 }), side, side / 4, 0.03);
    label.position.set(rect.minX - this.origin.x + side / 2 + this.size * 0.012, 0.03 - this.origin.y, rect.maxZ - this.origin.z - side / 8 - this.size * 0.012);
    return { floor, hatch: hatched, label, text: '', exceededAt: -1e9 };
  }

  /** Who has which region, written on the ground; what is wrong, too. */
  name(world: World, fares: (region: number) => Health['state'] | undefined = () => undefined): void {
    world.regions.forEach((region, number) => {
      const tile = this.tiles[number];
      if (!tile) return;
      const state = fares(number) ?? (region.server ? 'running' : 'abandoned');
      const bad = state !== 'running' && state !== 'waiting';
      const words = { abandoned: 'no server', silent: 'silent', recovering: 'recovering', moving: 'moving', waiting: 'starts', running: '' }[state];
      const text = `${number}|${region.server || '–'}|${words}`;
      tile.hatch.visible = bad;
      tile.hatch.material.color.set(state === 'recovering' || state === 'moving' ? WARNING : ALARM);
      if (text === tile.text) return;
      tile.text = text;
      tile.label.material.map?.dispose();
      tile.label.material.map = write(number, region.server || 'no server', words, bad ? (state === 'recovering' ? WARNING : ALARM) : ownerColour(number));
      tile.label.material.needsUpdate = true;
    });
  }

  /** A tolerance was exceeded in a region: its ground flares up. */
  exceeded(region: number, now: number): void {
    const tile = this.tiles[region];
    if (tile) tile.exceededAt = now;
  }

  animate(now: number): void {
    this.regions.visible = this.showBorders;
    this.tiles.forEach((tile, number) => {
      const share = Math.max(0, 1 - (now - tile.exceededAt) / 900);
      tile.floor.material.opacity = 0.13 + 0.12 * share;
      tile.floor.material.color.set(ownerColour(number)).lerp(alarm, 0.65 * share);
      if (tile.hatch.visible) tile.hatch.material.opacity = 0.4 + 0.2 * Math.sin(now / 180);
    });
  }

  /** Borders as they are being drawn. */
  setPlan(rects: Rect[] | null, line: [number, number, number, number] | null): void {
    empty(this.plan);
    if (!rects) return;
    const height = 0.06 - this.origin.y;
    rects.forEach((rect, number) => {
      const material = new THREE.MeshBasicMaterial({ color: ownerColour(number), transparent: true, opacity: 0.5, depthTest: false });
      const mesh = new THREE.Mesh(new THREE.PlaneGeometry(rect.maxX - rect.minX - this.size * 0.006, rect.maxZ - rect.minZ - this.size * 0.006), material);
      mesh.rotation.x = -Math.PI / 2;
      mesh.position.set((rect.minX + rect.maxX) / 2 - this.origin.x, height, (rect.minZ + rect.maxZ) / 2 - this.origin.z);
      mesh.renderOrder = 10;
      this.plan.add(mesh);
    });
    if (!line) return;
    const points = [new THREE.Vector3(line[0], 0.1, line[1]).sub(this.origin), new THREE.Vector3(line[2], 0.1, line[3]).sub(this.origin)];
    const stroke = new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), new THREE.LineBasicMaterial({ color: 0xffffff, depthTest: false }));
    stroke.renderOrder = 11;
    this.plan.add(stroke);
  }
}

/** Takes everything out of a group, and out of the graphics card's memory: three.js does not do that by itself. */
function empty(group: THREE.Group): void {
  group.children.forEach(free);
  group.clear();
}

function free(object: THREE.Object3D): void {
  object.traverse((part) => {
    const { geometry, material } = part as THREE.Mesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>;
    // What others show as well is brought there again with the next picture.
    geometry?.dispose();
    material?.map?.dispose();
    material?.dispose();
  });
}

/** Curtains of light where two regions meet: bright at the ground, fading upwards. */
function borders(rects: Rect[], extent: Rect, origin: THREE.Vector3, size: number): THREE.Group {
  const group = new THREE.Group();
  const height = Math.max(1.5, size * 0.035);
  const seen = new Set<string>();
  const edges: [number, number, number, number][] = [];
  const add = (x1: number, z1: number, x2: number, z2: number) => {
    const key = [x1, z1, x2, z2].join();
    if (seen.has(key)) return;
    seen.add(key);
    edges.push([x1, z1, x2, z2]);
  };
  for (const rect of rects) {
    if (rect.maxX < extent.maxX) add(rect.maxX, rect.minZ, rect.maxX, rect.maxZ);
    if (rect.maxZ < extent.maxZ) add(rect.minX, rect.maxZ, rect.maxX, rect.maxZ);
  }
  const texture = fade();
  const material = new THREE.MeshBasicMaterial({ map: texture, color: 0xdfe9ff, transparent: true, side: THREE.DoubleSide, depthWrite: false, opacity: 0.34 });
  const line = new THREE.LineBasicMaterial({ color: 0xf2f6ff, transparent: true, opacity: 0.85 });
  for (const [x1, z1, x2, z2] of edges) {
    const length = Math.hypot(x2 - x1, z2 - z1);
    const curtain = new THREE.Mesh(new THREE.PlaneGeometry(length, height), material);
    curtain.position.set((x1 + x2) / 2, height / 2, (z1 + z2) / 2).sub(origin);
    curtain.rotation.y = x1 === x2 ? Math.PI / 2 : 0;
    curtain.renderOrder = 5;
    const ends = [new THREE.Vector3(x1, 0.04, z1).sub(origin), new THREE.Vector3(x2, 0.04, z2).sub(origin)];
    group.add(curtain, new THREE.Line(new THREE.BufferGeometry().setFromPoints(ends), line));
  }
  const corners = [
    [extent.minX, extent.minZ],
    [extent.maxX, extent.minZ],
    [extent.maxX, extent.maxZ],
    [extent.minX, extent.maxZ],
    [extent.minX, extent.minZ],
  ].map(([x, z]) => new THREE.Vector3(x, 0.04, z).sub(origin));
  group.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(corners), new THREE.LineBasicMaterial({ color: 0x6f7d95 })));
  return group;
}

function canvas(width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const element = document.createElement('canvas');
  element.width = width;
  element.height = height;
  return [element, element.getContext('2d') as CanvasRenderingContext2D];
}

function fade(): THREE.Texture {
  const [element, context] = canvas(4, 64);
  const gradient = context.createLinearGradient(0, 0, 0, 64);
  gradient.addColorStop(0, 'rgba(255,255,255,0)');
  gradient.addColorStop(0.7, 'rgba(255,255,255,0.25)');
  gradient.addColorStop(1, 'rgba(255,255,255,1)');
  context.fillStyle = gradient;
  context.fillRect(0, 0, 4, 64);
  return new THREE.CanvasTexture(element);
}

function hatch(): THREE.Texture {
  const [element, context] = canvas(64, 64);
  context.strokeStyle = '#fff';
  context.lineWidth = 14;
  for (const x of [-64, 0, 64]) {
    context.beginPath();
    context.moveTo(x, 64);
    context.lineTo(x + 64, 0);
    context.stroke();
  }
  const texture = new THREE.CanvasTexture(element);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  return texture;
}

function write(number: number, server: string, words: string, colour: string): THREE.Texture {
  const [element, context] = canvas(512, 128);
  context.fillStyle = colour;
  context.font = '700 92px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.fillText(String(number), 12, 70);
  const left = 30 + context.measureText(String(number)).width;
  context.font = '500 46px system-ui, sans-serif';
  context.fillText(server.slice(0, 14), left, words ? 46 : 70);
  if (words) {
    context.font = '700 46px system-ui, sans-serif';
    context.fillText(words, left, 96);
  }
  const texture = new THREE.CanvasTexture(element);
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.anisotropy = 8;
  return texture;
}
