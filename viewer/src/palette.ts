// Owners' colours: Okabe and Ito's palette, which people with any kind of colour vision can tell apart, in an order that keeps the first four far
// apart on a dark ground. More than eight regions get lighter and darker ones; numbers on the ground and in the legend tell them apart for sure.

const BASE = ['#e69f00', '#56b4e9', '#009e73', '#cc79a7', '#f0e442', '#0072b2', '#d55e00', '#b8bfca'] as const;

/** What is wrong with a server is never told by colour alone; these are its colours all the same. */
export const ALARM = '#ff6b4a';
export const WARNING = '#ffc94a';
export const FINE = '#7fd6a8';

/** A region's colour, CSS. */
export function ownerColour(region: number): string {
  const base = BASE[region % BASE.length] as string;
  const round = Math.floor(region / BASE.length);
  if (round === 0) return base;
  return mix(base, round % 2 === 1 ? '#ffffff' : '#202938', 0.35 + 0.1 * Math.floor(round / 2));
}

/** [r, g, b], 0 to 1, as CSS has them. */
export function rgb(css: string): [number, number, number] {
  const value = parseInt(css.slice(1), 16);
  return [((value >> 16) & 255) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function mix(a: string, b: string, share: number): string {
  const [from, to] = [rgb(a), rgb(b)];
  const parts = from.map((v, i) => Math.round(255 * (v + ((to[i] as number) - v) * Math.min(1, share))));
  return `#${parts.map((v) => v.toString(16).padStart(2, '0')).join('')}`;
}
