// The legend: which colour is which server, and how it fares.

import type { Health, World } from '@auramesh/client';
import { h, icon, setText, short } from '../dom.js';
import type { Insight } from '../insight.js';
import { ownerColour } from '../palette.js';

const WORDS: Record<Health['state'], string> = {
  abandoned: 'dead: no server',
  waiting: 'waits for the start',
  running: 'running',
  recovering: 'recovering',
  silent: 'silent: dead?',
  moving: 'moves to another server',
};

interface Row {
  row: HTMLElement;
  server: HTMLElement;
  state: HTMLElement;
  bodies: HTMLElement;
  load: HTMLElement;
  exceeded: HTMLElement;
  kill: HTMLButtonElement;
}

export class Servers {
  readonly element = h('ul', { class: 'servers' });
  private rows: Row[] = [];
  onKill: (server: string) => void = () => {};

  /** As many rows as regions. */
  build(world: World): void {
    this.rows = world.regions.map((_, number) => {
      const server = h('b', { class: 'server' });
      const state = h('span', { class: 'state' });
      const bodies = h('span', { class: 'bodies' });
      const load = h('span', { class: 'load' });
      const exceeded = h('span', { class: 'exceeded', hidden: true });
      const kill = h('button', { class: 'kill', type: 'button', hidden: true, onclick: () => this.onKill(server.textContent ?? '') }, 'Kill');
      const swatch = h('span', { class: 'swatch', style: `background:${ownerColour(number)}` }, String(number));
      const row = h('li', { 'data-region': number }, swatch, h('span', { class: 'names' }, server, state), h('span', { class: 'numbers' }, bodies, load), kill, exceeded);
      return { row, server, state, bodies, load, exceeded, kill };
    });
    this.element.replaceChildren(...this.rows.map((row) => row.row));
  }

  update(world: World, insight: Insight, counts: readonly number[], mayKill: boolean, now: number): void {
    if (this.rows.length !== world.regions.length) this.build(world);
    world.regions.forEach((region, number) => {
      const row = this.rows[number] as Row;
      const health = insight.health.get(number);
      const state: Health['state'] = insight.fares(number, now) ?? (region.server ? 'running' : 'abandoned');
      setText(row.server, health?.server || region.server || '–');
      setText(row.state, WORDS[state] + (state === 'silent' && health ? ` (${(health.silentMs / 1000).toFixed(1)} s)` : ''));
      row.row.dataset.state = state;
      setText(row.bodies, `${counts[number] ?? 0} bodies`);
      const point = insight.history.get(number)?.at(-1);
      const figures = insight.figures.get(number);
      setText(row.load, point && point.tickMs > 0 ? `${short(point.tickMs)} ms/tick` : figures ? `${figures.awake} awake` : '');
      const times = health ? health.exceeded.speed + health.exceeded.latency + health.exceeded.frame : 0;
      row.exceeded.hidden = times === 0;
      if (health && times > 0) {
        const { speed, latency, frame } = health.exceeded;
        const which = [speed && `speed ${short(speed)} ×`, latency && `latency ${short(latency)} ×`, frame && `frame ${short(frame)} ×`].filter(Boolean);
        setText(row.exceeded, `⚠ exceeded: ${which.join(', ')}`);
        row.exceeded.title = 'How often a tolerance was exceeded: beyond it a collision may be late';
      }
      row.kill.hidden = !mayKill || !region.server;
      row.kill.setAttribute('aria-label', `Kill server ${region.server}`);
    });
  }
}

/** A button that shows an icon above a word. */
export function tool(name: Parameters<typeof icon>[0], label: string, key: string, onclick: () => void): HTMLButtonElement {
  const title = key ? `${label} (${key})` : label;
  return h('button', { type: 'button', class: 'tool', title, 'aria-keyshortcuts': key || undefined, onclick }, icon(name), h('span', {}, label));
}
