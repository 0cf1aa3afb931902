// Elements in one expression.

type Child = Node | string | null | undefined | false;
type Attributes = { [name: string]: unknown; class?: string };

/** Makes an element: `on…` are listeners, booleans set or omit an attribute, everything else is an attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** Sets a text only if it is another one: the page is not laid out anew for nothing. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const ICONS = {
  throw: 'M5 19c4-9 8-12 14-14M13 4h6v6M6 20.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Z',
  spawn: 'M12 5v14M5 12h14',
  stack: 'M4 20h7v-7H4zM13 20h7v-7h-7zM8.500 12h7V5h-7z',
  static: 'M3 20h18M6 20V9l6-5 6 5v11',
  borders: 'M12 3v18M3 12h18M3 3h18v18H3z',
  inject: 'M6 4v4M12 3v6M18 4v4M7 13v2M12 12v3M17 13v2M4 20h16',
  reset: 'M4 5v5h5M5 10a8 8 0 1 1-1 5',
  network: 'M3 8c6-5 12-5 18 0M6 12c4-3 8-3 12 0M9.500 16c2-1.500 3-1.500 5 0M12 20h.01',
  charts: 'M4 20V4M4 20h16M8 16l4-5 3 3 5-7',
  servers: 'M4 5h16v5H4zM4 14h16v5H4zM8 7.500h.01M8 16.500h.01',
  layers: 'M12 4 3 9l9 5 9-5zM3 14l9 5 9-5',
  camera: 'M4 8h3l2-3h6l2 3h3v11H4zM12 16a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  help: 'M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18h.01',
  play: 'M7 4v16l13-8z',
  pause: 'M8 4v16M16 4v16',
  back: 'M18 5v14L8 12zM6 5v14',
  forward: 'M6 5v14l10-7zM18 5v14',
  close: 'M5 5l14 14M19 5 5 19',
} as const;

export type Icon = keyof typeof ICONS;

/** A line drawing of 24 × 24. */
export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.classList.add('icon');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

/** 1234567 as 1.23 M. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : 2);
}
