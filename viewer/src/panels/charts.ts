// Live charts: one line per region, numbers where the pointer is.

import { h, short } from '../dom.js';
import type { Insight, Point } from '../insight.js';
import { ownerColour } from '../palette.js';

/** What a chart shows at most, and at least, s. */
const LONGEST = 60;
const SHORTEST = 10;
/** Points farther apart than this are not joined, s. */
const GAP = 2;

interface Kind {
  title: string;
  unit: string;
  value(point: Point): number;
}

const KINDS: Kind[] = [
  { title: 'Tick time', unit: 'ms', value: (point) => point.tickMs },
  { title: 'Bodies', unit: '', value: (point) => point.bodies },
  { title: 'Migrations', unit: '/s', value: (point) => point.migrations },
  { title: 'Traffic between servers', unit: 'B/s', value: (point) => point.bytes },
];

class Chart {
  private readonly canvas = h('canvas', { role: 'img', tabindex: '0' });
  private readonly latest = h('span', { class: 'latest' });
  readonly element: HTMLElement;
  private hover: number | null = null;
  readonly tip = h('div', { class: 'tip', hidden: true });

  constructor(private readonly kind: Kind) {
    this.element = h('figure', { class: 'chart' }, h('figcaption', {}, kind.title, ' ', this.latest), this.canvas, this.tip);
    this.canvas.addEventListener('pointermove', (event) => (this.hover = event.offsetX / this.canvas.clientWidth));
    this.canvas.addEventListener('pointerdown', (event) => (this.hover = event.offsetX / this.canvas.clientWidth));
    for (const name of ['pointerleave', 'blur']) this.canvas.addEventListener(name, () => (this.hover = null));
    // By keyboard: arrows move the marker.
    this.canvas.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
      if (!step) return;
      this.hover = Math.min(1, Math.max(0, (this.hover ?? 1) + step));
      event.preventDefault();
      event.stopPropagation();
    });
  }

  draw(insight: Insight): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0) return;
    const ratio = Math.min(2, devicePixelRatio);
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext('2d') as CanvasRenderingContext2D;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const regions = [...insight.history].sort(([a], [b]) => a - b);
    const end = Math.max(0, ...regions.map(([, points]) => points.at(-1)?.time ?? 0));
    const begin = Math.min(end, ...regions.map(([, points]) => points[0]?.time ?? end));
    const seconds = Math.min(LONGEST, Math.max(SHORTEST, end - begin));
    const { value } = this.kind;
    const within = (point: Point) => point.time >= end - seconds && Number.isFinite(value(point));
    const most = nice(Math.max(1e-9, ...regions.flatMap(([, points]) => points.filter(within).map(value))));
    const x = (time: number) => ((time - end + seconds) / seconds) * width;
    const y = (v: number) => height - 3 - (v / most) * (height - 14);
    context.strokeStyle = '#2b3547';
    context.fillStyle = '#93a1b8';
    context.font = '10px system-ui, sans-serif';
    context.beginPath();
    for (const share of [0, 0.5, 1]) {
      context.moveTo(0, Math.round(y(most * share)) + 0.5);
      context.lineTo(width, Math.round(y(most * share)) + 0.5);
    }
    context.stroke();
    for (const [region, points] of regions) {
      context.strokeStyle = ownerColour(region);
      context.lineWidth = 1.6;
      context.beginPath();
      let [gap, before] = [true, -Infinity];
      for (const point of points) {
        gap ||= point.time - before > GAP;
        before = point.time;
        if (!within(point)) {
          gap = true;
          continue;
        }
        if (gap) context.moveTo(x(point.time), y(value(point)));
        else context.lineTo(x(point.time), y(value(point)));
        gap = false;
      }
      context.stroke();
    }
    context.fillText(`${short(most)} ${this.kind.unit}`, 3, 10);
    const sum = regions.reduce((total, [, points]) => total + (points.length ? value(points.at(-1) as Point) || 0 : 0), 0);
    const measured = this.kind.title !== 'Tick time' || sum > 0;
    this.latest.textContent = !regions.length ? 'no figures yet' : measured ? `${short(sum)} ${this.kind.unit} in all` : 'not measured';
    this.canvas.setAttribute('aria-label', `${this.kind.title}: ${this.latest.textContent}`);
    this.mark(context, regions, end, seconds, x, width, height);
  }

  /** The numbers at the pointer. */
  private mark(context: CanvasRenderingContext2D, regions: [number, Point[]][], end: number, seconds: number, x: (time: number) => number, width: number, height: number): void {
    this.tip.hidden = this.hover === null || regions.length === 0;
    if (this.hover === null || regions.length === 0) return;
    const time = end - seconds + this.hover * seconds;
    context.strokeStyle = '#dfe7f3';
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x(time), 0);
    context.lineTo(x(time), height);
    context.stroke();
    const rows = regions.map(([region, points]) => {
      const near = points.reduce<Point | null>((best, point) => (best && Math.abs(best.time - time) <= Math.abs(point.time - time) ? best : point), null);
      const v = near && Math.abs(near.time - time) < 2 ? this.kind.value(near) : NaN;
      return h('span', {}, h('i', { style: `background:${ownerColour(region)}` }), `${region}: ${short(v)} ${this.kind.unit}`);
    });
    const ago = (end - time).toFixed(0);
    this.tip.replaceChildren(h('b', {}, `${ago} s ago`), ...rows);
    this.tip.style.left = `${Math.min(width - 120, Math.max(0, x(time) + 8))}px`;
  }
}

/** The next number that people like. */
function nice(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value) ?? value;
}

export class Charts {
  readonly element = h('section', { class: 'panel charts', 'aria-label': 'Charts' }, h('h2', {}, 'Charts'));
  private readonly charts = KINDS.map((kind) => new Chart(kind));

  constructor() {
    this.element.append(...this.charts.map((chart) => chart.element));
  }

  draw(insight: Insight): void {
    for (const chart of this.charts) chart.draw(insight);
  }
}
