// Three ways to look: around a point, from anywhere, and along with a body.

import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import type { Rect } from '@auramesh/client';

export type CameraMode = 'orbit' | 'fly';

const TURN = 0.0032;
const KEYS = new Set(['KeyW', 'KeyA', 'KeyS', 'KeyD', 'KeyQ', 'KeyE', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);

export class Cameras {
  readonly camera = new THREE.PerspectiveCamera(50, 1, 0.1, 4000);
  readonly orbit: OrbitControls;
  private current: CameraMode = 'orbit';
  private readonly pressed = new Set<string>();
  private readonly euler = new THREE.Euler(0, 0, 0, 'YXZ');
  private dragging: number | null = null;
  private size = 60;
  /** Drawing borders: the pointer belongs to somebody else. */
  captured = false;
  /** Arrow keys step a recording instead of turning the camera. */
  arrowsTaken = false;
  onMode: (mode: CameraMode) => void = () => {};

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.enableDamping = true;
    this.orbit.dampingFactor = 0.12;
    this.orbit.maxPolarAngle = Math.PI / 2 - 0.02;
    this.orbit.minDistance = 1;
    canvas.addEventListener('pointerdown', (event) => this.grab(event));
    canvas.addEventListener('pointermove', (event) => this.drag(event));
    for (const name of ['pointerup', 'pointercancel'] as const) canvas.addEventListener(name, () => (this.dragging = null));
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: true });
  }

  get mode(): CameraMode {
    return this.current;
  }

  set mode(mode: CameraMode) {
    if (mode === this.current) return;
    this.current = mode;
    this.orbit.enabled = mode === 'orbit' && !this.captured;
    if (mode === 'orbit') {
      const ahead = this.camera.getWorldDirection(new THREE.Vector3());
      const reach = ahead.y < -0.05 ? Math.min(this.size, this.camera.position.y / -ahead.y) : this.size * 0.3;
      this.orbit.target.copy(this.camera.position).addScaledVector(ahead, Math.max(2, reach));
    }
    this.onMode(mode);
  }

  capture(captured: boolean): void {
    this.captured = captured;
    this.orbit.enabled = !captured && this.current === 'orbit';
  }

  /** The whole world, from a corner, a little from above. */
  overview(extent: Rect): void {
    const [width, depth] = [extent.maxX - extent.minX, extent.maxZ - extent.minZ];
    this.size = Math.max(width, depth);
    const tall = this.camera.aspect < 1 ? 1.5 : 1;
    this.orbit.target.set(0, 0, 0);
    this.camera.position.set(this.size * 0.34, this.size * 0.4, this.size * 0.62).multiplyScalar(tall);
    this.orbit.maxDistance = this.size * 4;
    this.camera.far = this.size * 12 + 500;
    this.camera.near = Math.max(0.05, this.size / 2000);
    this.camera.updateProjectionMatrix();
    this.orbit.update();
    if (this.current === 'fly') this.camera.lookAt(0, 0, 0);
  }

  /** Closer to the middle, where things happen. */
  closer(share: number): void {
    this.camera.position.sub(this.orbit.target).multiplyScalar(share).add(this.orbit.target);
    this.orbit.update();
  }

  /** From above, to draw on the ground. */
  above(): void {
    this.mode = 'orbit';
    this.orbit.target.set(0, 0, 0);
    this.camera.position.set(0, this.size * (this.camera.aspect < 1 ? 1.9 : 1.15), 0.01);
    this.orbit.update();
  }

  private grab(event: PointerEvent): void {
    if (this.current === 'fly' && !this.captured) this.dragging = event.pointerId;
  }

  private drag(event: PointerEvent): void {
    if (this.dragging !== event.pointerId || this.captured) return;
    this.turn(-event.movementX * TURN, -event.movementY * TURN);
  }

  private turn(yaw: number, pitch: number): void {
    this.euler.setFromQuaternion(this.camera.quaternion);
    this.euler.y += yaw;
    this.euler.x = Math.max(-1.5, Math.min(1.5, this.euler.x + pitch));
    this.camera.quaternion.setFromEuler(this.euler);
  }

  private wheel(event: WheelEvent): void {
    if (this.current === 'fly') this.camera.translateZ(Math.sign(event.deltaY) * this.size * 0.02);
  }

  /** A key went down; true if it is one of ours. */
  keyDown(code: string): boolean {
    if (!KEYS.has(code) || (this.arrowsTaken && code.startsWith('Arrow'))) return false;
    this.pressed.add(code);
    return true;
  }

  keyUp(code: string): void {
    this.pressed.delete(code);
  }

  releaseKeys(): void {
    this.pressed.clear();
  }

  /** Moves by what keys are down; follows a body if there is one. */
  update(seconds: number, follow: THREE.Vector3 | null): void {
    const held = (code: string) => (this.pressed.has(code) ? 1 : 0);
    const step = Math.min(0.1, seconds) * this.size * 0.35;
    const [ahead, aside, up] = [held('KeyW') - held('KeyS'), held('KeyD') - held('KeyA'), held('KeyE') - held('KeyQ')];
    const [yaw, pitch] = [held('ArrowLeft') - held('ArrowRight'), held('ArrowUp') - held('ArrowDown')];
    if (this.current === 'fly') {
      this.camera.translateZ(-ahead * step);
      this.camera.translateX(aside * step);
      this.camera.position.y += up * step;
      if (yaw || pitch) this.turn(yaw * seconds * 1.4, pitch * seconds * 1.1);
      return;
    }
    if (follow) {
      scratch.copy(follow).sub(this.orbit.target);
      this.orbit.target.add(scratch);
      this.camera.position.add(scratch);
    }
    if (ahead || aside) {
      const direction = this.camera.getWorldDirection(scratch).setY(0).normalize();
      const side = new THREE.Vector3(-direction.z, 0, direction.x);
      const way = direction.multiplyScalar(ahead * step).addScaledVector(side, aside * step);
      this.orbit.target.add(way);
      this.camera.position.add(way);
    }
    if (yaw || pitch || up) {
      const offset = this.camera.position.clone().sub(this.orbit.target);
      const around = new THREE.Spherical().setFromVector3(offset);
      around.theta -= yaw * seconds * 1.4;
      around.phi = Math.max(0.05, Math.min(this.orbit.maxPolarAngle, around.phi - pitch * seconds));
      around.radius *= 1 - up * seconds * 0.8;
      this.camera.position.setFromSpherical(around).add(this.orbit.target);
    }
    this.orbit.update();
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.camera.aspect = clientWidth / Math.max(1, clientHeight);
    this.camera.updateProjectionMatrix();
  }
}

const scratch = new THREE.Vector3();
