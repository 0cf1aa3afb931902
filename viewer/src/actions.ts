// What a user does, as commands.

import * as THREE from 'three';
import { type Answer, type Command, type Connection, DEFAULT_MATERIAL, type Quat, type Rect, type Shape, type Vec3 } from '@auramesh/client';
import { aim } from './throwing.js';
import type { Stage } from './view/stage.js';

const UPRIGHT: Quat = [0, 0, 0, 1];
const STILL: Vec3 = [0, 0, 0];
/** Commands under way at once; the gateway allows 32. */
const AT_ONCE = 12;

/** Bodies that can be spawned. */
export const SHAPES: Record<string, Shape> = {
  ball: { type: 'sphere', radius: 0.5 },
  box: { type: 'cuboid', size: [1, 1, 1] },
  capsule: { type: 'capsule', radius: 0.35, height: 1.7 },
  gem: { type: 'convex', points: gem() },
  dumbbell: {
    type: 'compound',
    parts: [
      { position: [0.6, 0, 0], rotation: UPRIGHT, shape: { type: 'sphere', radius: 0.4 } },
      { position: [-0.6, 0, 0], rotation: UPRIGHT, shape: { type: 'sphere', radius: 0.4 } },
      { position: [0, 0, 0], rotation: UPRIGHT, shape: { type: 'cuboid', size: [1.2, 0.24, 0.24] } },
    ],
  },
};

/** Scenery that can be put up. */
export const SCENERY: Record<string, { shape: Shape; lift: number }> = {
  ramp: { shape: { type: 'convex', points: wedge(4, 2, 5) }, lift: 0 },
  wall: { shape: { type: 'cuboid', size: [6, 2.5, 0.5] }, lift: 1.25 },
  block: { shape: { type: 'cuboid', size: [2.5, 2.5, 2.5] }, lift: 1.25 },
};

function gem(): Vec3[] {
  const points: Vec3[] = [
    [0, 0.75, 0],
    [0, -0.75, 0],
  ];
  for (let i = 0; i < 6; i++) points.push([0.55 * Math.cos((i * Math.PI) / 3), i % 2 ? 0.15 : -0.15, 0.55 * Math.sin((i * Math.PI) / 3)]);
  return points;
}

function wedge(width: number, height: number, depth: number): Vec3[] {
  const [w, d] = [width / 2, depth / 2];
  return [
    [-w, 0, -d],
    [w, 0, -d],
    [-w, 0, d],
    [w, 0, d],
    [-w, height, -d],
    [w, height, -d],
  ];
}

function spawn(shape: Shape, position: Vec3, velocity: Vec3 = STILL, swept = false): Command {
  return { type: 'spawn', position, rotation: UPRIGHT, velocity, spin: STILL, material: { ...DEFAULT_MATERIAL, restitution: 0.2 }, swept, shape };
}

export class Actions {
  /** Bodies that appear, while it rains. */
  raining = false;

  constructor(
    private readonly connection: Connection,
    private readonly stage: Stage,
    private readonly say: (text: string, bad?: boolean) => void,
  ) {}

  /** Asks, and says what went wrong, if anything. */
  private async ask(what: string, command: Command): Promise<Answer> {
    const answer = await this.connection.command(command);
    const why = complaint(answer);
    if (why) this.say(`${what}: ${why}`, true);
    return answer;
  }

  private get gravity(): number {
    return -(this.connection.scene.world?.gravity[1] ?? 0);
  }

  /** Where the eye rests: scenery or ground in the middle of the screen; else a point ahead. */
  private goal(x = 0, y = 0): THREE.Vector3 {
    const { position, direction } = this.stage.view();
    const place = this.stage.place(x, y);
    return place && place.distanceTo(position) < 2000 ? place : position.addScaledVector(direction, 20);
  }

  /** Throws a ball to where one looks or taps, aimed so high that it gets there. */
  async throwBall(x = 0, y = 0): Promise<bigint | null> {
    const { position, direction } = this.stage.view();
    const eye = position.clone().addScaledVector(direction, 1.5);
    const { from, velocity } = aim(eye, this.goal(x, y), this.gravity, this.connection.scene.world?.fastest ?? 0);
    const answer = await this.ask('The throw', spawn({ type: 'sphere', radius: 0.45 }, from.toArray(), velocity.toArray(), true));
    return answer.type === 'done' ? answer.about : null;
  }

  /** Drops a body above the place one looks at. */
  async drop(name: string): Promise<bigint | null> {
    const goal = this.goal();
    const answer = await this.ask('Spawning', spawn(SHAPES[name] ?? (SHAPES.ball as Shape), [goal.x, goal.y + 4, goal.z]));
    return answer.type === 'done' ? answer.about : null;
  }

  /** A stack of 27 boxes where one looks. */
  async stack(): Promise<number> {
    const goal = this.goal();
    const commands: Command[] = [];
    for (let y = 0; y < 3; y++) {
      for (let x = -1; x <= 1; x++) {
        for (let z = -1; z <= 1; z++) {
          commands.push(spawn({ type: 'cuboid', size: [0.9, 0.9, 0.9] }, [goal.x + x * 0.92, goal.y + 0.5 + y * 0.92, goal.z + z * 0.92]));
        }
      }
    }
    let [done, why] = [0, ''];
    for (let i = 0; i < commands.length; i += AT_ONCE) {
      const answers = await Promise.all(commands.slice(i, i + AT_ONCE).map((command) => this.connection.command(command)));
      done += answers.filter((answer) => answer.type === 'done').length;
      why ||= answers.map(complaint).find(Boolean) ?? '';
    }
    if (why) this.say(`The stack has ${done} of ${commands.length} boxes: ${why}`, true);
    return done;
  }

  /** Scenery where one looks, turned to the viewer. */
  async putUp(name: string): Promise<bigint | null> {
    const goal = this.goal();
    const { shape, lift } = SCENERY[name] ?? (SCENERY.ramp as { shape: Shape; lift: number });
    const { direction } = this.stage.view();
    const turn = new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(0, 1, 0), Math.atan2(-direction.x, -direction.z));
    const rotation: Quat = [turn.x, turn.y, turn.z, turn.w];
    const position: Vec3 = [goal.x, goal.y + lift, goal.z];
    const answer = await this.ask('The scenery', { type: 'put-up', position, rotation, material: DEFAULT_MATERIAL, shape });
    return answer.type === 'done' ? answer.about : null;
  }

  /** Bodies of all kinds fall from above the place one looks at. */
  async rain(rate: number, seconds: number): Promise<boolean> {
    const goal = this.goal();
    const answer = await this.ask('The rain', {
      type: 'inject',
      min: [goal.x - 6, goal.y + 8, goal.z - 6],
      max: [goal.x + 6, goal.y + 14, goal.z + 6],
      rate,
      seconds,
      velocityMin: [-3, -4, -3],
      velocityMax: [3, 0, 3],
      shapes: [SHAPES.ball, SHAPES.box, SHAPES.capsule, SHAPES.gem, SHAPES.dumbbell] as Shape[],
    });
    this.raining = answer.type === 'done';
    if (this.raining) setTimeout(() => (this.raining = false), seconds * 1000);
    return this.raining;
  }

  async stopRain(): Promise<void> {
    this.raining = false;
    await this.ask('Stopping the rain', { type: 'stop-injections' });
  }

  async reset(): Promise<boolean> {
    return (await this.ask('The reset', { type: 'reset' })).type === 'done';
  }

  async switchScene(name: string): Promise<boolean> {
    return (await this.ask(`Scene ${name}`, { type: 'switch-scene', name })).type === 'done';
  }

  async loadScene(text: string): Promise<boolean> {
    return (await this.ask('The scene file', { type: 'switch-scene', text })).type === 'done';
  }

  async defineRegions(boxes: Rect[]): Promise<boolean> {
    return (await this.ask('The borders', { type: 'define-regions', boxes })).type === 'done';
  }

  async kill(server: string): Promise<boolean> {
    return (await this.ask(`Killing ${server}`, { type: 'kill-server', server })).type === 'done';
  }

  async setNetwork(latencyMs: number, jitterMs: number, loss: number): Promise<boolean> {
    return (await this.ask('The network', { type: 'set-network', latencyMs, jitterMs, loss })).type === 'done';
  }

  async push(body: bigint): Promise<void> {
    const upwards = Math.max(4, this.gravity * 0.6);
    await this.ask('The push', { type: 'velocity', body, velocity: [0, upwards, 0] });
  }

  async remove(body: bigint): Promise<void> {
    await this.ask('Removing it', { type: 'remove', body });
  }
}

/** What is wrong with an answer, in words. */
function complaint(answer: Answer): string | null {
  switch (answer.type) {
    case 'refused':
    case 'forbidden':
      return answer.why;
    case 'not-found':
      return 'there is no such body any more';
    case 'no-answer':
      return 'no answer came in time';
    default:
      return null;
  }
}
