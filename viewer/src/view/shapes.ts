// Geometry for every shape of the protocol.

import * as THREE from 'three';
import { ConvexGeometry } from 'three/examples/jsm/geometries/ConvexGeometry.js';
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type { Shape, Vec3 } from '@auramesh/client';

/** How a form is drawn: a geometry, a scale for it, and how its surface is marked so that turning shows. */
export interface Look {
  geometry: THREE.BufferGeometry;
  scale: Vec3;
  mark: Mark;
}
export type Mark = 'edges' | 'bands' | 'none';

const unitSphere = new THREE.SphereGeometry(1, 24, 16);
const unitBox = new THREE.BoxGeometry(1, 1, 1);

/** Spheres and cuboids share one geometry each, whatever their size: fewer draw calls. */
export function lookOf(shape: Shape): Look {
  switch (shape.type) {
    case 'sphere':
      return { geometry: unitSphere, scale: [shape.radius, shape.radius, shape.radius], mark: 'bands' };
    case 'cuboid':
      return { geometry: unitBox, scale: shape.size, mark: 'edges' };
    case 'capsule':
      return { geometry: geometryOf(shape), scale: [1, 1, 1], mark: 'bands' };
    default:
      return { geometry: geometryOf(shape), scale: [1, 1, 1], mark: 'none' };
  }
}

function vectors(points: readonly Vec3[]): THREE.Vector3[] {
  return points.map(([x, y, z]) => new THREE.Vector3(x, y, z));
}

function geometryOf(shape: Shape): THREE.BufferGeometry {
  switch (shape.type) {
    case 'sphere':
      return new THREE.SphereGeometry(shape.radius, 20, 14);
    case 'cuboid':
      return new THREE.BoxGeometry(...shape.size);
    case 'capsule':
      return new THREE.CapsuleGeometry(shape.radius, Math.max(0, shape.height - 2 * shape.radius), 8, 20);
    case 'convex':
      return convex(shape.points);
    case 'mesh':
      return mesh(shape.points, shape.triangles);
    case 'compound':
      return compound(shape);
    case 'plane':
      return new THREE.PlaneGeometry(2000, 2000).rotateX(-Math.PI / 2);
  }
}

function convex(points: readonly Vec3[]): THREE.BufferGeometry {
  try {
    return new ConvexGeometry(vectors(points));
  } catch {
    // Points that hull finders dislike: their box is better than nothing.
    const box = new THREE.Box3().setFromPoints(vectors(points));
    const size = box.getSize(new THREE.Vector3());
    const centre = box.getCenter(new THREE.Vector3());
    return new THREE.BoxGeometry(size.x, size.y, size.z).translate(centre.x, centre.y, centre.z);
  }
}

function mesh(points: readonly Vec3[], triangles: readonly Vec3[]): THREE.BufferGeometry {
  const flat = new Float32Array(triangles.length * 9);
  triangles.forEach((triangle, t) => triangle.forEach((corner, c) => flat.set(points[corner] as Vec3, t * 9 + c * 3)));
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(flat, 3));
  geometry.computeVertexNormals();
  return geometry;
}

function compound(shape: Extract<Shape, { type: 'compound' }>): THREE.BufferGeometry {
  const parts = shape.parts.map((part) => {
    const geometry = geometryOf(part.shape).toNonIndexed();
    for (const name of Object.keys(geometry.attributes)) if (name !== 'position' && name !== 'normal') geometry.deleteAttribute(name);
    geometry.applyQuaternion(new THREE.Quaternion(...part.rotation));
    return geometry.translate(...part.position);
  });
  return mergeGeometries(parts) ?? new THREE.BufferGeometry();
}

/** The radius of the sphere around the origin that holds it. */
export function reachOf(shape: Shape): number {
  switch (shape.type) {
    case 'sphere':
      return shape.radius;
    case 'cuboid':
      return Math.hypot(...shape.size) / 2;
    case 'capsule':
      return shape.height / 2;
    case 'convex':
    case 'mesh':
      return shape.points.reduce((most, point) => Math.max(most, Math.hypot(...point)), 0);
    case 'compound':
      return shape.parts.reduce((most, part) => Math.max(most, Math.hypot(...part.position) + reachOf(part.shape)), 0);
    case 'plane':
      return 1;
  }
}

const textures = new Map<Mark, THREE.Texture | null>();

/** A pattern that makes turning visible and neighbours distinguishable. */
export function textureOf(mark: Mark): THREE.Texture | null {
  const known = textures.get(mark);
  if (known !== undefined) return known;
  const texture = mark === 'none' ? null : paint(mark);
  textures.set(mark, texture);
  return texture;
}

function paint(mark: Mark): THREE.Texture {
  const size = 128;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, size, size);
  if (mark === 'edges') {
    context.strokeStyle = 'rgba(20, 28, 44, 0.55)';
    context.lineWidth = 7;
    context.strokeRect(0, 0, size, size);
  } else {
    context.fillStyle = 'rgba(20, 28, 44, 0.28)';
    for (let i = 0; i < 4; i++) context.fillRect((i * size) / 4, i % 2 ? 0 : size / 2, size / 4, size / 2);
  }
  const texture = new THREE.CanvasTexture(canvas);
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.anisotropy = 4;
  return texture;
}
