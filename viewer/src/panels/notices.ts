// Short messages that come and go, and the one about the connection that stays.

import { h } from '../dom.js';

export class Notices {
  readonly toasts = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' });
  readonly banner = h('div', { class: 'banner', role: 'alert', hidden: true });
  private last = '';
  private lastAt = 0;

  /** Says something for a few seconds; the same thing not twice in a row. */
  say(text: string, bad = false): void {
    const now = performance.now();
    if (text === this.last && now - this.lastAt < 3000) return;
    this.last = text;
    this.lastAt = now;
    const toast = h('div', { class: bad ? 'toast bad' : 'toast' }, text);
    this.toasts.append(toast);
    while (this.toasts.childElementCount > 4) this.toasts.firstElementChild?.remove();
    setTimeout(() => toast.classList.add('going'), 4500);
    setTimeout(() => toast.remove(), 5000);
  }

  /** Says something until it is no longer so. */
  keep(...content: (Node | string)[]): void {
    this.banner.replaceChildren(...content);
    this.banner.hidden = content.length === 0;
  }
}
