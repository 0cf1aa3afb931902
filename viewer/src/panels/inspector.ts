// Everything known about the body that was picked.

import { type Body, newPose, type Scene } from '@auramesh/client';
import { h, setText } from '../dom.js';
import type { Insight } from '../insight.js';
import { ownerColour } from '../palette.js';

const FIELDS = ['Owner', 'Epoch', 'Shape', 'Speed', 'Position', 'Cluster', 'Sleep', 'Shown vs true', 'Server is ahead by'] as const;

export class Inspector {
  readonly element = h('section', { class: 'panel inspector', 'aria-label': 'Picked body', hidden: true });
  private readonly title = h('h2', {});
  private readonly values = new Map<string, HTMLElement>();
  private readonly journeys = h('ol', { class: 'journeys' });
  readonly follow = h('button', { type: 'button', 'aria-pressed': 'false', title: 'Follow (F)' }, 'Follow');
  readonly push = h('button', { type: 'button', title: 'Push it upwards (U)' }, 'Push up');
  readonly remove = h('button', { type: 'button', title: 'Remove it (Delete)' }, 'Remove');
  readonly close = h('button', { type: 'button', class: 'close', 'aria-label': 'Unpick (Escape)', title: 'Unpick (Escape)' }, '×');

  constructor() {
    const list = h('dl', {});
    for (const field of FIELDS) {
      const value = h('dd', { 'data-field': field });
      this.values.set(field, value);
      list.append(h('dt', {}, field), value);
    }
    const buttons = h('div', { class: 'buttons' }, this.follow, this.push, this.remove);
    this.element.append(h('header', {}, this.title, this.close), list, h('h3', {}, 'Last migrations'), this.journeys, buttons);
  }

  private set(field: (typeof FIELDS)[number], text: string): void {
    setText(this.values.get(field) as HTMLElement, text);
  }

  update(body: Body | null, scene: Scene, insight: Insight, frame: number): void {
    this.element.hidden = body === null;
    if (!body || !scene.world) return;
    const state = insight.states.get(body.id);
    const truths = insight.truths.get(body.id);
    const newest = truths?.at(-1);
    const frameTicks = scene.welcome?.frameTicks ?? 2;
    setText(this.title, nameOf(body.id));
    const owner = this.values.get('Owner') as HTMLElement;
    setText(owner, `region ${body.owner}, ${scene.world.regions[body.owner]?.server || 'nobody'}`);
    owner.style.setProperty('--owner', ownerColour(body.owner));
    this.set('Epoch', String(newest?.epoch ?? state?.epoch ?? insight.journeys.get(body.id)?.[0]?.epoch ?? '–'));
    this.set('Shape', scene.forms.get(body.form)?.type ?? '–');
    const speed = newest ? Math.hypot(...newest.velocity) : scene.speed(body, frame);
    this.set('Speed', `${speed.toFixed(2)} m/s`);
    const { px, py, pz } = body.pose;
    this.set('Position', `${px.toFixed(2)}, ${py.toFixed(2)}, ${pz.toFixed(2)}`);
    const member = insight.clusterOf.get(body.id);
    this.set('Cluster', member ? `${nameOf(member.cluster)}, ${sizeOf(insight, member.cluster)} bodies, ${member.place}` : 'alone, inside its region');
    const asleep = newest?.asleep ?? state?.asleep;
    this.set('Sleep', newest?.underway || state?.underway ? 'in flight' : asleep === undefined ? '–' : asleep ? 'asleep' : 'awake');
    this.difference(body, scene, truths, frame, frameTicks);
    this.listJourneys(insight, body.id, frame * frameTicks, scene.welcome?.tick ?? 1 / 60);
  }

  /** How far the shown pose is from the true one of the same moment, and how far the true one has got since. */
  private difference(body: Body, scene: Scene, truths: readonly { tick: number; position: readonly number[]; rotation: readonly number[] }[] | undefined, frame: number, frameTicks: number): void {
    const then = truths && [...truths].reverse().find((truth) => truth.tick <= frame * frameTicks);
    const newest = truths?.at(-1);
    const pose = newPose();
    if (!then || !newest || !scene.poseAt(body, then.tick / frameTicks, pose)) {
      this.set('Shown vs true', '–');
      return this.set('Server is ahead by', '–');
    }
    const [x, y, z] = then.position as [number, number, number];
    const apart = Math.hypot(pose.px - x, pose.py - y, pose.pz - z);
    const [qx, qy, qz, qw] = then.rotation as [number, number, number, number];
    const dot = Math.min(1, Math.abs(pose.x * qx + pose.y * qy + pose.z * qz + pose.w * qw));
    this.set('Shown vs true', `${(apart * 1000).toFixed(1)} mm, ${((Math.acos(dot) * 360) / Math.PI).toFixed(2)}°`);
    const [nx, ny, nz] = newest.position as [number, number, number];
    const since = Math.max(0, newest.tick - frame * frameTicks) * (scene.welcome?.tick ?? 1 / 60);
    this.set('Server is ahead by', `${(since * 1000).toFixed(0)} ms, ${Math.hypot(nx - body.pose.px, ny - body.pose.py, nz - body.pose.pz).toFixed(3)} m`);
  }

  private listJourneys(insight: Insight, id: bigint, tick: number, seconds: number): void {
    const journeys = insight.journeys.get(id) ?? [];
    const lines = journeys.map((j) => `${j.from} → ${j.to}, ${Math.max(0, (tick - j.tick) * seconds).toFixed(0)} s ago: ${j.cause}`);
    const text = lines.join('\n') || 'none seen';
    if (this.journeys.dataset.text === text) return;
    this.journeys.dataset.text = text;
    this.journeys.replaceChildren(...(lines.length ? lines : ['none seen']).map((line) => h('li', {}, line)));
  }
}

function sizeOf(insight: Insight, cluster: bigint): number {
  let size = 0;
  for (const member of insight.clusterOf.values()) if (member.cluster === cluster) size++;
  return size;
}

/** Bodies of the scene have small ids; those that players have spawned have the highest bit set. */
export function nameOf(id: bigint): string {
  return id >> 63n ? `spawned ${(id & ((1n << 63n) - 1n)).toString(36)}` : `body ${id}`;
}
