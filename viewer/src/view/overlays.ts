// What nobody else shows: auras, clusters, bodies in flight, pulses, true poses.

import * as THREE from 'three';
import type { Body, Scene } from '@auramesh/client';
import type { Insight } from '../insight.js';
import { ownerColour } from '../palette.js';
import { lookOf, reachOf } from './shapes.js';

const PULSES = 256;
const PULSE_SECONDS = 1.1;

/** What is to be seen. */
export interface Layers {
  borders: boolean;
  auras: boolean;
  clusters: boolean;
  flight: boolean;
  pulses: boolean;
  truth: boolean;
  sleep: boolean;
}

/** Spheres of light whose rim shines. */
class Bubbles {
  mesh: THREE.InstancedMesh;
  private count = 0;
  private readonly matrix = new THREE.Matrix4();
  private readonly colour = new THREE.Color();

  constructor(
    private readonly parent: THREE.Object3D,
    private readonly strength: number,
  ) {
    this.mesh = this.make(128);
  }

  private make(capacity: number): THREE.InstancedMesh {
    const material = new THREE.ShaderMaterial({
      transparent: true,
      depthWrite: false,
      side: THREE.FrontSide,
      uniforms: { strength: { value: this.strength } },
      vertexShader: `
        varying vec3 vNormal; varying vec3 vView; varying vec3 vColour;
        void main() {
          vec4 place = modelViewMatrix * instanceMatrix * vec4(position, 1.0);
          vNormal = normalize(normalMatrix * normal);
          vView = normalize(-place.xyz);
          vColour = instanceColor;
          gl_Position = projectionMatrix * place;
        }`,
      fragmentShader: `
        uniform float strength; varying vec3 vNormal; varying vec3 vView; varying vec3 vColour;
        void main() {
          float rim = pow(1.0 - abs(dot(normalize(vNormal), normalize(vView))), 2.2);
          gl_FragColor = vec4(vColour, strength * (0.07 + rim));
          #include <colorspace_fragment>
        }`,
    });
    const mesh = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 32, 20), material, capacity);
    mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(capacity * 3), 3);
    mesh.frustumCulled = false;
    mesh.renderOrder = 6;
    this.parent.add(mesh);
    return mesh;
  }

  begin(): void {
    this.count = 0;
  }

  add(x: number, y: number, z: number, radius: number, colour: string): void {
    if (this.count === this.mesh.instanceMatrix.count) {
      const old = this.mesh;
      this.mesh = this.make(old.instanceMatrix.count * 2);
      this.mesh.instanceMatrix.array.set(old.instanceMatrix.array);
      (this.mesh.instanceColor as THREE.InstancedBufferAttribute).array.set((old.instanceColor as THREE.InstancedBufferAttribute).array);
      this.parent.remove(old);
      old.dispose();
    }
    this.matrix.makeScale(radius, radius, radius).setPosition(x, y, z);
    this.mesh.setMatrixAt(this.count, this.matrix);
    this.mesh.setColorAt(this.count, this.colour.set(colour));
    this.count++;
  }

  end(): void {
    // Many of them in one place must not hide what they are about.
    (this.mesh.material as THREE.ShaderMaterial).uniforms.strength!.value = this.strength * Math.min(1, (40 / Math.max(1, this.count)) ** 0.8);
    this.mesh.count = this.count;
    this.mesh.visible = this.count > 0;
    this.mesh.instanceMatrix.needsUpdate = true;
    (this.mesh.instanceColor as THREE.InstancedBufferAttribute).needsUpdate = true;
  }

  get size(): number {
    return this.count;
  }
}

/** Rings that spread where something has just happened. */
class Pulses {
  readonly mesh: THREE.Mesh<THREE.InstancedBufferGeometry, THREE.ShaderMaterial>;
  private readonly places = new THREE.InstancedBufferAttribute(new Float32Array(PULSES * 4), 4);
  private readonly colours = new THREE.InstancedBufferAttribute(new Float32Array(PULSES * 4), 4);
  private next = 0;
  private readonly colour = new THREE.Color();
  total = 0;

  constructor() {
    const geometry = new THREE.InstancedBufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), 3));
    geometry.setIndex([0, 1, 2, 0, 2, 3]);
    // Where and since when; which colour and how large.
    geometry.setAttribute('place', this.places.setUsage(THREE.DynamicDrawUsage));
    geometry.setAttribute('colour', this.colours.setUsage(THREE.DynamicDrawUsage));
    (this.places.array as Float32Array).fill(-1e4);
    geometry.instanceCount = PULSES;
    const material = new THREE.ShaderMaterial({
      transparent: true,
      depthWrite: false,
      depthTest: false,
      uniforms: { now: { value: 0 } },
      vertexShader: `
        attribute vec4 place; attribute vec4 colour; uniform float now;
        varying vec2 vAt; varying vec3 vColour; varying float vAge; varying float vKind;
        void main() {
          vAge = (now - place.w) / ${PULSE_SECONDS.toFixed(2)};
          vAt = position.xy; vColour = colour.rgb; vKind = colour.a;
          float size = (vAge < 0.0 || vAge > 1.0) ? 0.0 : abs(colour.a) * (0.25 + 0.75 * sqrt(vAge));
          vec4 centre = modelViewMatrix * vec4(place.xyz, 1.0);
          // Never smaller than can be seen.
          float least = 0.012 * -centre.z;
          gl_Position = projectionMatrix * (centre + vec4(position.xy * max(size, size > 0.0 ? least : 0.0), 0.0, 0.0));
        }`,
      fragmentShader: `
        varying vec2 vAt; varying vec3 vColour; varying float vAge; varying float vKind;
        void main() {
          float r = length(vAt);
          float ring = smoothstep(0.68, 0.9, r) * (1.0 - smoothstep(0.92, 1.0, r));
          float a = atan(vAt.y, vAt.x);
          float star = (1.0 - smoothstep(0.0, 1.0, r)) * pow(abs(cos(2.0 * a)), 10.0);
          float what = vKind > 0.0 ? ring : max(ring * 0.5, star);
          gl_FragColor = vec4(vColour, what * (1.0 - vAge));
          #include <colorspace_fragment>
        }`,
    });
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 8;
  }

  /** A ring for a migration, a star for a contact (negative size). */
  add(x: number, y: number, z: number, seconds: number, colour: string, size: number): void {
    const at = this.next;
    this.next = (at + 1) % PULSES;
    this.total++;
    this.colour.set(colour);
    this.places.setXYZW(at, x, y, z, seconds);
    this.colours.setXYZW(at, this.colour.r, this.colour.g, this.colour.b, size);
    this.places.needsUpdate = this.colours.needsUpdate = true;
  }

  clear(): void {
    (this.places.array as Float32Array).fill(-1e4);
    this.places.needsUpdate = true;
  }
}

/** A wire frame of a body's shape. */
class Wire {
  readonly lines: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private form = -1;
  private generation = -1;

  constructor(colour: number, opacity: number) {
    const material = new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity, depthTest: false });
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), material);
    this.lines.renderOrder = 9;
    this.lines.visible = false;
  }

  shape(scene: Scene, form: number, grow: number): void {
    const shape = scene.forms.get(form);
    const generation = scene.world?.generation ?? -1;
    if (!shape || (form === this.form && generation === this.generation)) return;
    this.form = form;
    this.generation = generation;
    const look = lookOf(shape);
    const geometry = look.geometry.clone().scale(look.scale[0] * grow, look.scale[1] * grow, look.scale[2] * grow);
    this.lines.geometry.dispose();
    this.lines.geometry = new THREE.EdgesGeometry(geometry, shape.type === 'sphere' ? 14 : 25);
    geometry.dispose();
  }
}

export class Overlays {
  readonly group = new THREE.Group();
  private readonly auras = new Bubbles(this.group, 0.24);
  private readonly halos = new Bubbles(this.group, 0.95);
  private readonly pulses = new Pulses();
  private readonly links: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private linkPlaces = new THREE.BufferAttribute(new Float32Array(3 * 1024), 3);
  private readonly selection = new Wire(0xffffff, 0.95);
  private readonly trueNow = new Wire(0xff9ad5, 0.55);
  private readonly trueThen = new Wire(0xfff27a, 0.95);
  private linked: [Body, Body][] = [];
  private linkedAt = -1;
  private readonly origin = new THREE.Vector3();
  /** What is drawn, for tests and for those who cannot see. */
  readonly counts = { auras: 0, flying: 0, links: 0, pulses: 0 };

  constructor() {
    const material = new THREE.LineBasicMaterial({ color: 0xffffff, transparent: true, opacity: 0.75, depthTest: false });
    this.links = new THREE.LineSegments(new THREE.BufferGeometry().setAttribute('position', this.linkPlaces), material);
    this.links.frustumCulled = false;
    this.links.renderOrder = 7;
    this.group.add(this.pulses.mesh, this.links, this.selection.lines, this.trueNow.lines, this.trueThen.lines);
  }

  setOrigin(x: number, y: number, z: number): void {
    this.origin.set(x, y, z);
  }

  clear(): void {
    this.pulses.clear();
  }

  migrated(place: readonly [number, number, number], to: number, now: number): void {
    this.pulse(place, now, ownerColour(to), 1.5);
  }

  crossed(place: readonly [number, number, number], speed: number, now: number): void {
    this.pulse(place, now, '#ffffff', -Math.min(3, 1 + speed * 0.1));
  }

  private pulse([x, y, z]: readonly [number, number, number], now: number, colour: string, size: number): void {
    this.pulses.add(x - this.origin.x, y - this.origin.y, z - this.origin.z, now / 1000, colour, size);
    this.counts.pulses = this.pulses.total;
  }

  update(scene: Scene, insight: Insight, layers: Layers, picked: bigint | null, frame: number, now: number): void {
    this.pulses.mesh.visible = layers.pulses;
    this.pulses.mesh.material.uniforms.now!.value = now / 1000;
    this.showAuras(scene, insight, layers.auras);
    this.showFlying(scene, insight, layers.flight, now);
    this.showLinks(scene, insight, layers.clusters);
    this.showPicked(scene, insight, layers.truth, picked, frame);
  }

  private showAuras(scene: Scene, insight: Insight, visible: boolean): void {
    this.auras.begin();
    if (visible) {
      for (const [region, list] of insight.auras) {
        const colour = ownerColour(region);
        for (const aura of list) {
          const body = scene.bodies.get(aura.body);
          // The aura goes with its body as it is shown.
          const [x, y, z] = body?.placed ? [body.pose.px, body.pose.py, body.pose.pz] : aura.centre;
          this.auras.add(x - this.origin.x, y - this.origin.y, z - this.origin.z, aura.radius + aura.reach, colour);
        }
      }
    }
    this.auras.end();
    this.counts.auras = this.auras.size;
  }

  private showFlying(scene: Scene, insight: Insight, visible: boolean, now: number): void {
    this.halos.begin();
    if (visible) {
      const beat = 1.25 + 0.15 * Math.sin(now / 70);
      for (const list of insight.flights.values()) {
        for (const { body: id, to, place } of list) {
          const body = scene.bodies.get(id);
          const shape = body && scene.forms.get(body.form);
          const [x, y, z] = body?.placed ? [body.pose.px, body.pose.py, body.pose.pz] : place;
          this.halos.add(x - this.origin.x, y - this.origin.y, z - this.origin.z, (shape ? reachOf(shape) : 0.5) * beat, to === 65535 ? '#ffffff' : ownerColour(to));
        }
      }
    }
    this.halos.end();
    this.counts.flying = this.halos.size;
  }

  private showLinks(scene: Scene, insight: Insight, visible: boolean): void {
    let count = 0;
    if (visible) {
      if (insight.version !== this.linkedAt) {
        this.linkedAt = insight.version;
        this.linked = link(scene, insight);
      }
      this.links.material.opacity = 0.2 + 0.55 * Math.min(1, 60 / Math.max(1, this.linked.length));
      const needed = this.linked.length * 2;
      if (needed > this.linkPlaces.count) {
        this.linkPlaces = new THREE.BufferAttribute(new Float32Array(3 * needed * 2), 3);
        this.links.geometry.dispose();
        this.links.geometry = new THREE.BufferGeometry().setAttribute('position', this.linkPlaces);
      }
      for (const pair of this.linked) {
        for (const { pose } of pair) {
          this.linkPlaces.setXYZ(count++, pose.px - this.origin.x, pose.py - this.origin.y, pose.pz - this.origin.z);
        }
      }
    }
    this.links.geometry.setDrawRange(0, count);
    this.links.visible = count > 0;
    this.linkPlaces.needsUpdate = true;
    this.counts.links = count / 2;
  }

  private showPicked(scene: Scene, insight: Insight, truth: boolean, picked: bigint | null, frame: number): void {
    const body = picked === null ? undefined : scene.bodies.get(picked);
    for (const wire of [this.selection, this.trueNow, this.trueThen]) wire.lines.visible = false;
    if (!body?.placed) return;
    this.selection.shape(scene, body.form, 1.06);
    const { px, py, pz, x, y, z, w } = body.pose;
    this.selection.lines.position.set(px, py, pz).sub(this.origin);
    this.selection.lines.quaternion.set(x, y, z, w);
    this.selection.lines.visible = true;
    const known = insight.truths.get(body.id);
    if (!truth || !known?.length) return;
    // Where the server has it now, and where it had it at the time that is shown.
    const tick = frame * (scene.welcome?.frameTicks ?? 2);
    const newest = known[known.length - 1]!;
    const then = [...known].reverse().find((state) => state.tick <= tick) ?? known[0]!;
    const after = known.find((state) => state.tick > tick) ?? then;
    const share = after.tick > then.tick ? Math.min(1, Math.max(0, (tick - then.tick) / (after.tick - then.tick))) : 0;
    for (const [wire, from, to, s] of [
      [this.trueNow, newest, newest, 0],
      [this.trueThen, then, after, share],
    ] as const) {
      wire.shape(scene, body.form, 1.01);
      wire.lines.position.set(...from.position).lerp(scratch.set(...to.position), s).sub(this.origin);
      wire.lines.quaternion.set(...from.rotation).slerp(turned.set(...to.rotation), s);
      wire.lines.visible = true;
    }
  }
}

/** Each member of a cluster with the nearest of those just before it: a web that shows who belongs together without a line from everyone to everyone. */
function link(scene: Scene, insight: Insight): [Body, Body][] {
  const clusters = new Map<bigint, Body[]>();
  for (const member of insight.clusterOf.values()) {
    const body = scene.bodies.get(member.body);
    if (!body?.placed) continue;
    const others = clusters.get(member.cluster);
    if (others) others.push(body);
    else clusters.set(member.cluster, [body]);
  }
  const pairs: [Body, Body][] = [];
  for (const bodies of clusters.values()) {
    bodies.forEach((body, at) => {
      let [nearest, least]: [Body | null, number] = [null, Infinity];
      for (const other of bodies.slice(Math.max(0, at - 24), at)) {
        const apart = (body.pose.px - other.pose.px) ** 2 + (body.pose.py - other.pose.py) ** 2 + (body.pose.pz - other.pose.pz) ** 2;
        if (apart < least) [nearest, least] = [other, apart];
      }
      if (nearest) pairs.push([body, nearest]);
    });
  }
  return pairs;
}

const scratch = new THREE.Vector3();
const turned = new THREE.Quaternion();
