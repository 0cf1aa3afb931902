// A recording's time-line: play, pause, step, scrub.

import type { Player, Recording } from '@auramesh/client';
import { h, icon } from '../dom.js';

const BINS = 240;

export class Timeline {
  readonly element = h('section', { class: 'panel timeline', 'aria-label': 'Time-line' });
  private readonly play = h('button', { type: 'button', class: 'tool small', title: 'Play or pause (P)' });
  private readonly slider = h('input', { type: 'range', min: 0, step: 'any', value: 0, 'aria-label': 'Time in the recording' });
  private readonly label = h('output', {});
  private readonly marks = h('canvas', { class: 'marks', 'aria-hidden': 'true' });
  private readonly note = h('span', { class: 'note' });
  private readonly speed = h('select', { 'aria-label': 'Speed' });
  private readonly migrations = new Float64Array(BINS);
  playing = true;
  private dragged = false;
  private time = 0;

  constructor(
    private readonly player: Player,
    private readonly track: number,
    private readonly tickMs: () => number,
  ) {
    const { durationMs } = player.recording;
    this.slider.max = String(durationMs);
    for (const factor of [0.1, 0.25, 0.5, 1, 2, 4]) this.speed.append(h('option', { value: factor, selected: factor === 1 }, `${factor} ×`));
    this.slider.addEventListener('input', () => {
      this.playing = false;
      this.time = Number(this.slider.value);
    });
    for (const [name, held] of [['pointerdown', true], ['pointerup', false], ['pointercancel', false]] as const) this.slider.addEventListener(name, () => (this.dragged = held));
    this.play.addEventListener('click', () => this.toggle());
    const back = h('button', { type: 'button', class: 'tool small', title: 'One tick back (←)', 'aria-label': 'One tick back', onclick: () => this.step(-1) }, icon('back'));
    const forward = h('button', { type: 'button', class: 'tool small', title: 'One tick forward (→)', 'aria-label': 'One tick forward', onclick: () => this.step(1) }, icon('forward'));
    const rail = h('div', { class: 'track' }, this.marks, this.slider);
    this.element.append(back, this.play, forward, rail, this.label, this.speed, this.note);
    this.count();
  }

  /** Milliseconds since the recording's start. */
  get now(): number {
    return this.time;
  }

  toggle(): void {
    this.playing = !this.playing;
    if (this.playing && this.time >= this.player.recording.durationMs) this.time = 0;
  }

  /** So many physics ticks forwards or backwards. */
  step(ticks: number): void {
    this.playing = false;
    const tick = this.tickMs();
    this.time = Math.min(this.player.recording.durationMs, Math.max(0, (Math.round(this.time / tick) + ticks) * tick));
  }

  seek(ms: number): void {
    this.time = Math.min(this.player.recording.durationMs, Math.max(0, ms));
  }

  /** Time goes on; brings the scene there. */
  advance(seconds: number): void {
    const { durationMs } = this.player.recording;
    if (this.playing) this.time += seconds * 1000 * Number(this.speed.value);
    if (this.time >= durationMs) {
      this.time = durationMs;
      this.playing = false;
    }
    if (this.time !== this.player.now || this.time === 0) this.player.seek(this.time);
    this.show(durationMs);
  }

  private show(durationMs: number): void {
    if (!this.dragged) this.slider.value = String(this.time);
    this.slider.setAttribute('aria-valuetext', `${(this.time / 1000).toFixed(2)} seconds`);
    const text = `${(this.time / 1000).toFixed(2)} / ${(durationMs / 1000).toFixed(1)} s`;
    if (this.label.textContent !== text) this.label.textContent = text;
    const state = this.playing ? 'pause' : 'play';
    if (this.play.dataset.state !== state) {
      this.play.dataset.state = state;
      this.play.setAttribute('aria-label', this.playing ? 'Pause' : 'Play');
      this.play.replaceChildren(icon(state));
    }
    const note = this.player.recording.notes.filter((note) => note.time <= this.time).at(-1);
    const words = note && this.time - note.time < 4000 ? note.text : this.player.recording.cutOff ? 'the end of the file is missing' : '';
    if (this.note.textContent !== words) this.note.textContent = words;
  }

  /** Where migrations are, counted little by little so that nothing stutters. */
  private count(): void {
    const { recording } = this.player;
    const chunks = recording.of(this.track);
    let at = 0;
    const some = () => {
      const until = performance.now() + 6;
      while (at < chunks.length && performance.now() < until) {
        const chunk = chunks[at++] as (typeof chunks)[number];
        if (chunk.kind !== 3) continue;
        const bin = Math.min(BINS - 1, Math.floor((chunk.time / Math.max(1, recording.durationMs)) * BINS));
        this.migrations[bin] = (this.migrations[bin] as number) + migrationsIn(recording, chunk);
      }
      if (at < chunks.length) setTimeout(some, 10);
      else this.drawMarks();
    };
    setTimeout(some, 500);
  }

  private drawMarks(): void {
    this.marks.width = BINS * 2;
    this.marks.height = 24;
    const context = this.marks.getContext('2d') as CanvasRenderingContext2D;
    const most = Math.max(1, ...this.migrations);
    context.fillStyle = '#56b4e9';
    this.migrations.forEach((count, bin) => context.fillRect(bin * 2, 24 - (count / most) * 24, 2, (count / most) * 24));
    context.fillStyle = '#ffc94a';
    for (const { time } of this.player.recording.notes) context.fillRect((time / Math.max(1, this.player.recording.durationMs)) * BINS * 2, 0, 2, 24);
  }
}

/** Of what cannot be understood there are none here; the player says so when it gets there. */
function migrationsIn(recording: Recording, chunk: ReturnType<Recording['of']>[number]): number {
  let count = 0;
  try {
    for (const message of recording.messages(chunk)) {
      if (message.type !== 'inspection') continue;
      for (const part of message.parts) if (part.type === 'migrations') count += part.migrations.length;
    }
  } catch {
    return 0;
  }
  return count;
}
