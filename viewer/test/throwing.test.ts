import * as THREE from 'three';
import { describe, expect, it } from 'vitest';
import { aim } from '../src/throwing.js';

/** Where a thrown ball is after the time it takes to get as near to the goal as it does. */
function nearest({ from, velocity }: ReturnType<typeof aim>, goal: THREE.Vector3, gravity: number): number {
  let least = Infinity;
  for (let t = 0; t < 5; t += 0.005) {
    const place = from.clone().addScaledVector(velocity, t);
    place.y -= 0.5 * gravity * t * t;
    least = Math.min(least, place.distanceTo(goal));
  }
  return least;
}

describe('a throw', () => {
  it('gets there, and is nowhere faster than the world is made for', () => {
    for (const fastest of [6, 9, 12, 30, 0]) {
      for (const gravity of [0, 1.6, 9.81]) {
        for (const goal of [new THREE.Vector3(0, 0, 0), new THREE.Vector3(-7, 2, 4), new THREE.Vector3(3, 12, -9)]) {
          for (const eye of [new THREE.Vector3(8, 9, 14), new THREE.Vector3(0, 3, 0), new THREE.Vector3(60, 45, -80), new THREE.Vector3(1, 30, 1)]) {
            const thrown = aim(eye, goal, gravity, fastest);
            expect(nearest(thrown, goal, gravity)).toBeLessThan(0.15);
            if (fastest === 0) continue;
            expect(thrown.velocity.length()).toBeLessThanOrEqual(fastest);
            const drop = Math.max(0, thrown.from.y - goal.y);
            expect(Math.sqrt(thrown.velocity.lengthSq() + 2 * gravity * drop)).toBeLessThanOrEqual(fastest);
          }
        }
      }
    }
  });
});
