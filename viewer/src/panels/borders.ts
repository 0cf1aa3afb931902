// Borders drawn by hand: the world's extent is cut into two again and again, by lines across the region they begin in.

import type { Rect } from '@auramesh/client';
import { h } from '../dom.js';
import { ownerColour } from '../palette.js';
import type { Stage } from '../view/stage.js';

/** Nothing narrower can be drawn, m. */
const NARROWEST = 2;
const MOST = 16;

export class BorderEditor {
  readonly element = h('section', { class: 'panel borders', 'aria-label': 'Draw borders', hidden: true });
  private readonly list = h('ol', { class: 'plan' });
  private readonly hint = h('p', {}, 'Drag a line across a region to cut it. Lines become straight.');
  private extent: Rect = { minX: 0, minZ: 0, maxX: 1, maxZ: 1 };
  private steps: Rect[][] = [];
  private from: [number, number] | null = null;
  onApply: (rects: Rect[]) => void = () => {};
  onClose: () => void = () => {};

  constructor(private readonly stage: Stage) {
    const region = h('input', { type: 'number', min: 0, max: MOST - 1, value: 0, 'aria-label': 'Region to cut' });
    const along = h('select', { 'aria-label': 'Direction of the cut' }, h('option', { value: 'x' }, 'x ='), h('option', { value: 'z' }, 'z ='));
    const place = h('input', { type: 'number', step: 0.5, value: 0, 'aria-label': 'Place of the cut, metres' });
    const cut = h('button', { type: 'submit' }, 'Cut');
    const form = h('form', { class: 'cut' }, 'Region ', region, ' at ', along, place, ' m', cut);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.cut(Number(region.value), along.value as 'x' | 'z', Number(place.value));
    });
    const presets = h('div', { class: 'buttons' });
    for (const [name, columns, rows] of [['1', 1, 1], ['2', 2, 1], ['4 columns', 4, 1], ['2 × 2', 2, 2], ['3 × 2', 3, 2]] as const) {
      presets.append(h('button', { type: 'button', onclick: () => this.grid(columns, rows) }, name));
    }
    const buttons = h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: () => this.undo() }, 'Undo'),
      h('button', { type: 'button', class: 'primary', onclick: () => this.onApply(this.rects) }, 'Apply'),
      h('button', { type: 'button', onclick: () => this.onClose() }, 'Cancel'),
    );
    this.element.append(h('h2', {}, 'Draw borders'), this.hint, presets, form, this.list, buttons, h('p', { class: 'small' }, 'Applying starts the scene anew.'));
    stage.canvas.addEventListener('pointerdown', (event) => this.begin(event));
    stage.canvas.addEventListener('pointermove', (event) => this.draw(event));
    stage.canvas.addEventListener('pointerup', (event) => this.end(event));
  }

  get active(): boolean {
    return !this.element.hidden;
  }

  private get rects(): Rect[] {
    return this.steps.at(-1) ?? [this.extent];
  }

  open(extent: Rect): void {
    this.extent = extent;
    this.steps = [[extent]];
    this.element.hidden = false;
    this.stage.cameras.above();
    this.stage.cameras.capture(true);
    this.show();
  }

  close(): void {
    this.element.hidden = true;
    this.stage.cameras.capture(false);
    this.stage.ground.setPlan(null, null);
  }

  private show(line: [number, number, number, number] | null = null): void {
    this.stage.ground.setPlan(this.rects, line);
    const rows = this.rects.map((rect, number) => {
      const swatch = h('span', { class: 'swatch', style: `background:${ownerColour(number)}` }, String(number));
      return h('li', {}, swatch, `x ${rect.minX.toFixed(1)} to ${rect.maxX.toFixed(1)}, z ${rect.minZ.toFixed(1)} to ${rect.maxZ.toFixed(1)}`);
    });
    this.list.replaceChildren(...rows);
  }

  private undo(): void {
    if (this.steps.length > 1) this.steps.pop();
    this.show();
  }

  private grid(columns: number, rows: number): void {
    const { minX, minZ, maxX, maxZ } = this.extent;
    const at = (from: number, to: number, i: number, of: number) => from + ((to - from) * i) / of;
    const rects: Rect[] = [];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        rects.push({
          minX: at(minX, maxX, column, columns),
          maxX: at(minX, maxX, column + 1, columns),
          minZ: at(minZ, maxZ, row, rows),
          maxZ: at(minZ, maxZ, row + 1, rows),
        });
      }
    }
    this.steps.push(rects);
    this.show();
  }

  /** Cuts a region in two; what cannot be cut there stays. */
  cut(number: number, along: 'x' | 'z', at: number): boolean {
    const rect = this.rects[number];
    if (!rect || this.rects.length >= MOST) return false;
    const [min, max] = along === 'x' ? [rect.minX, rect.maxX] : [rect.minZ, rect.maxZ];
    if (at - min < NARROWEST || max - at < NARROWEST) {
      this.hint.textContent = `Region ${number} can be cut between ${min + NARROWEST} and ${max - NARROWEST}.`;
      return false;
    }
    const halves: Rect[] = along === 'x' ? [{ ...rect, maxX: at }, { ...rect, minX: at }] : [{ ...rect, maxZ: at }, { ...rect, minZ: at }];
    const others = this.rects.slice();
    others.splice(number, 1, ...halves);
    this.steps.push(others);
    this.show();
    return true;
  }

  private point(event: PointerEvent): [number, number] | null {
    const { clientWidth, clientHeight } = this.stage.canvas;
    const place = this.stage.place((event.offsetX / clientWidth) * 2 - 1, 1 - (event.offsetY / clientHeight) * 2);
    return place && [place.x, place.z];
  }

  private begin(event: PointerEvent): void {
    if (!this.active) return;
    this.from = this.point(event);
    this.stage.canvas.setPointerCapture(event.pointerId);
  }

  private draw(event: PointerEvent): void {
    const to = this.active && this.from ? this.point(event) : null;
    if (!to || !this.from) return;
    const upright = Math.abs(to[1] - this.from[1]) > Math.abs(to[0] - this.from[0]);
    this.show(upright ? [this.from[0], this.from[1], this.from[0], to[1]] : [this.from[0], this.from[1], to[0], this.from[1]]);
  }

  private end(event: PointerEvent): void {
    const from = this.from;
    this.from = null;
    const to = this.active && from ? this.point(event) : null;
    if (!to || !from || Math.hypot(to[0] - from[0], to[1] - from[1]) < 1) return this.active ? this.show() : undefined;
    const middle: [number, number] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    const number = this.rects.findIndex((r) => middle[0] >= r.minX && middle[0] < r.maxX && middle[1] >= r.minZ && middle[1] < r.maxZ);
    const upright = Math.abs(to[1] - from[1]) > Math.abs(to[0] - from[0]);
    const half = (value: number) => Math.round(value * 2) / 2;
    if (number < 0 || !this.cut(number, upright ? 'x' : 'z', half(upright ? from[0] : from[1]))) this.show();
  }
}
