// The picture: light, ground, bodies, overlays, cameras; one draw per frame.

import * as THREE from 'three';
import type { Body, Rect, Scene, World } from '@auramesh/client';
import type { Insight } from '../insight.js';
import { Bodies } from './bodies.js';
import { Cameras } from './cameras.js';
import { Ground } from './ground.js';
import { type Layers, Overlays } from './overlays.js';

const SKY = 0x10151f;

export type Quality = 'auto' | 'high' | 'low';

export class Stage {
  readonly canvas = document.createElement('canvas');
  readonly bodies = new Bodies();
  readonly ground = new Ground();
  readonly overlays = new Overlays();
  readonly cameras: Cameras;
  readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly sun = new THREE.DirectionalLight(0xfff4e0, 2.6);
  private readonly origin = new THREE.Vector3();
  private slowFrames = 0;
  private ratio = 1;
  private soft = false;

  constructor(private quality: Quality) {
    this.canvas.className = 'stage';
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.soft = isSoftware();
    const antialias = quality === 'high' || (quality === 'auto' && !this.soft);
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias, powerPreference: 'high-performance' });
    this.renderer.toneMapping = THREE.ACESFilmicToneMapping;
    this.renderer.toneMappingExposure = 1.12;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.cameras = new Cameras(this.canvas);
    this.scene.background = new THREE.Color(SKY);
    this.scene.fog = new THREE.Fog(SKY, 100, 600);
    this.scene.add(new THREE.HemisphereLight(0xcfe0ff, 0x3a4358, 1.5), this.sun, this.sun.target);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.04;
    this.scene.add(this.ground.group, this.bodies.group, this.overlays.group);
    this.setQuality(quality);
  }

  setQuality(quality: Quality): void {
    this.quality = quality;
    const modest = quality === 'low' || (quality === 'auto' && this.soft);
    this.renderer.shadowMap.enabled = !modest;
    this.ratio = modest ? Math.min(1, devicePixelRatio) * (this.soft ? (quality === 'low' ? 0.5 : 0.8) : 1) : Math.min(2, devicePixelRatio);
    this.sun.castShadow = !modest;
    this.resize();
  }

  /** Another world: where its middle is, how large it is. */
  setWorld(world: World): void {
    const { extent } = world;
    const centre: [number, number, number] = [(extent.minX + extent.maxX) / 2, 0, (extent.minZ + extent.maxZ) / 2];
    this.origin.set(...centre);
    for (const part of [this.bodies, this.ground, this.overlays]) {
      part.setOrigin(...centre);
      part.clear();
    }
    this.ground.setRegions(world);
    this.light(extent);
  }

  private light(extent: Rect): void {
    const size = Math.max(extent.maxX - extent.minX, extent.maxZ - extent.minZ);
    this.sun.position.set(size * 0.35, size * 0.75, size * 0.2);
    const { camera } = this.sun.shadow;
    const reach = size * 0.62;
    [camera.left, camera.right, camera.top, camera.bottom] = [-reach, reach, reach, -reach];
    [camera.near, camera.far] = [1, size * 2.2];
    camera.updateProjectionMatrix();
    this.scene.fog = new THREE.Fog(SKY, size * 1.6, size * 6);
  }

  resize(): void {
    const parent = this.canvas.parentElement;
    if (!parent) return;
    const { clientWidth, clientHeight } = parent;
    this.renderer.setPixelRatio(this.ratio);
    this.renderer.setSize(clientWidth, clientHeight, true);
    this.cameras.resize();
  }

  /** Everything but drawing: matrices, colours, overlays. */
  prepare(scene: Scene, insight: Insight, layers: Layers, picked: bigint | null, follow: Body | null, frame: number, now: number, seconds: number): void {
    scene.place(frame, (body) => this.bodies.place(body));
    this.bodies.finish(now);
    this.ground.showBorders = layers.borders;
    this.ground.animate(now);
    this.overlays.update(scene, insight, layers, picked, frame, now);
    const target = follow?.placed ? scratch.set(follow.pose.px, follow.pose.py, follow.pose.pz).sub(this.origin) : null;
    this.cameras.update(seconds, target);
  }

  draw(): void {
    this.renderer.render(this.scene, this.cameras.camera);
  }

  /** Frames that take too long make the picture simpler, step by step. */
  adapt(seconds: number): void {
    if (this.quality !== 'auto' || document.hidden) return;
    this.slowFrames = seconds > 0.045 ? this.slowFrames + 1 : Math.max(0, this.slowFrames - 2);
    if (this.slowFrames < 45) return;
    this.slowFrames = 0;
    if (this.renderer.shadowMap.enabled) {
      this.renderer.shadowMap.enabled = false;
      this.sun.castShadow = false;
    } else if (this.ratio > 0.6) {
      this.ratio = Math.max(0.6, this.ratio * 0.75);
      this.resize();
    }
  }

  /** A ray from the camera through a point of the screen, −1 to 1 each. */
  ray(x: number, y: number): THREE.Raycaster {
    this.cameras.camera.updateMatrixWorld();
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(x, y), this.cameras.camera);
    return ray;
  }

  pick(x: number, y: number): Body | null {
    return this.bodies.pick(this.ray(x, y));
  }

  /** Where a ray meets scenery or else the plane y = 0, in world coordinates; null: the sky. */
  place(x: number, y: number): THREE.Vector3 | null {
    const ray = this.ray(x, y);
    const [hit] = ray.intersectObjects(this.ground.solids, false);
    const point = hit ? hit.point.clone() : ray.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 1, 0), this.origin.y), new THREE.Vector3());
    return point?.add(this.origin) ?? null;
  }

  /** Where the camera is and looks, in world coordinates. */
  view(): { position: THREE.Vector3; direction: THREE.Vector3 } {
    const { camera } = this.cameras;
    return { position: camera.position.clone().add(this.origin), direction: camera.getWorldDirection(new THREE.Vector3()) };
  }

  /** Where something is on the screen, in CSS pixels; null if behind. */
  project([x, y, z]: readonly [number, number, number]): { x: number; y: number } | null {
    this.cameras.camera.updateMatrixWorld();
    const at = new THREE.Vector3(x, y, z).sub(this.origin).project(this.cameras.camera);
    if (at.z > 1) return null;
    return { x: ((at.x + 1) / 2) * this.canvas.clientWidth, y: ((1 - at.y) / 2) * this.canvas.clientHeight };
  }
}

const scratch = new THREE.Vector3();

/** Without a graphics card the processor draws: the picture begins simpler then. */
function isSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2');
  if (!gl) return false;
  const about = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}
