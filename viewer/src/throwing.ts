// Where a thrown ball starts and how fast, so that it gets to its goal and is never faster than the world is made for.

import * as THREE from 'three';

/** m/s of a thrown ball, before it is aimed higher to reach its goal. */
const SPEED = 11;
/** A ball is thrown from at most so far away, m. */
const REACH = 14;
/** Nearer is no throw. If even that is too fast for this world, the gateway says so. */
const NEAREST = 1;
/** Share of the world's limit that is used. */
const SHARE = 0.9;

export interface Throw {
  from: THREE.Vector3;
  velocity: THREE.Vector3;
}

/**
 * A throw from the eye towards the goal. From as far as the eye is, but no farther than a ball may fly: it starts with a speed and hits with another one,
 * and both must be within the limit. `gravity` is in m/s² downwards, `fastest` in m/s (0: no limit).
 */
export function aim(eye: THREE.Vector3, goal: THREE.Vector3, gravity: number, fastest: number): Throw {
  const back = eye.clone().sub(goal);
  const distance = back.length();
  back.normalize();
  const limit = fastest > 0 ? SHARE * fastest : Infinity;
  let reach = Math.min(REACH, distance);
  for (;;) {
    const from = goal.clone().addScaledVector(back, reach);
    from.y = Math.max(from.y, 1);
    const velocity = between(from, goal, gravity, limit);
    if (velocity.length() <= limit && landing(velocity, from, goal, gravity) <= limit) return { from, velocity };
    if (reach <= NEAREST) return { from, velocity };
    reach -= 0.5;
  }
}

/** The velocity with which a ball gets from one place to another: fast and flat if it may, else as slow as it can. */
function between(from: THREE.Vector3, goal: THREE.Vector3, gravity: number, limit: number): THREE.Vector3 {
  const way = goal.clone().sub(from);
  const length = way.length();
  const quick = Math.max(0.2, length / Math.min(SPEED, limit));
  // |way / t + g t / 2| is least at t² = 2 |way| / g.
  const slow = gravity > 0 ? Math.max(quick, Math.sqrt((2 * length) / gravity)) : quick;
  const at = (seconds: number) => {
    const velocity = way.clone().divideScalar(seconds);
    velocity.y += 0.5 * gravity * seconds;
    return velocity;
  };
  const flat = at(quick);
  return flat.length() <= limit && landing(flat, from, goal, gravity) <= limit ? flat : at(slow);
}

/** The speed at the goal. */
function landing(velocity: THREE.Vector3, from: THREE.Vector3, goal: THREE.Vector3, gravity: number): number {
  return Math.sqrt(Math.max(0, velocity.lengthSq() + 2 * gravity * (from.y - goal.y)));
}
