// A recording with several tracks: the same time as several places saw it, next to each other. Each track is this very page in a frame; the outer page has
// the time-line and sets the others' time.

import type { App } from './app.js';
import { h } from './dom.js';

export class SideBySide {
  private readonly frames: HTMLIFrameElement[];

  constructor(
    root: HTMLElement,
    tracks: { number: number; name: string }[],
    private readonly app: App,
  ) {
    this.frames = tracks.map(({ number, name }) => {
      const address = new URL(location.href);
      address.searchParams.set('track', String(number));
      address.searchParams.set('bare', '');
      return h('iframe', { src: address.href, title: name });
    });
    const views = this.frames.map((frame, i) => h('figure', {}, h('figcaption', {}, tracks[i]?.name ?? ''), frame));
    root.append(h('div', { class: 'side-by-side' }, ...views));
    document.body.classList.add('several');
    // What is behind the frames need not be drawn.
    app.stage.draw = () => {};
    const follow = () => {
      this.align();
      requestAnimationFrame(follow);
    };
    follow();
  }

  /** All show the time of the outer page. */
  private align(): void {
    const time = this.app.timeline?.now;
    if (time === undefined) return;
    for (const frame of this.frames) {
      const timeline = (frame.contentWindow as (Window & { auramesh?: App }) | null)?.auramesh?.timeline;
      if (!timeline) continue;
      timeline.playing = false;
      timeline.seek(time);
    }
  }
}
