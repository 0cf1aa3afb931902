// Clock, pace and scene without any network.

import { describe, expect, test } from 'vitest';
import { Clock, Pace, Scene } from '../src/index.js';

describe('the clock', () => {
  test('follows the best exchange and never jumps', () => {
    const clock = new Clock();
    const ahead = 1_000_000;
    clock.observe(0, ahead + 20, ahead + 20, 40);
    expect(clock.now(40)).toBeCloseTo(ahead + 40, 6);
    // A faster exchange says that we were 5 ms off.
    clock.observe(100, ahead + 100 + 5 + 1, ahead + 100 + 5 + 1, 102);
    let last = clock.now(102);
    for (let local = 103; local < 1000; local++) {
      const now = clock.now(local);
      expect(now - last).toBeGreaterThan(0.9);
      expect(now - last).toBeLessThan(1.1);
      last = now;
    }
    expect(clock.now(1000)).toBeCloseTo(ahead + 1005, 3);
    // A slow one changes nothing.
    clock.observe(2000, ahead + 2500, ahead + 2500, 2600);
    expect(Math.abs(clock.now(2600) - ahead - 2605)).toBeLessThan(0.01);
  });

  test('nonsense is not followed', () => {
    const clock = new Clock();
    clock.observe(10, 5, 500, 20);
    expect(clock.known).toBe(false);
  });
});

describe('the pace', () => {
  test('what is shown is never newer than what has come', () => {
    const pace = new Pace();
    expect(pace.shown(10, 1)).toBeUndefined();
    for (let frame = 0; frame < 200; frame++) {
      const present = frame + (frame % 7 === 0 ? 2.5 : 0.5);
      pace.observe(present, frame);
      const shown = pace.shown(present, 1) as number;
      expect(shown).toBeLessThanOrEqual(frame - 1 + 1e-9);
      expect(shown).toBeGreaterThan(frame - 4);
    }
  });

  test('a late world is shown late, and a punctual one in time', () => {
    const pace = new Pace();
    for (let frame = 0; frame < 300; frame++) {
      pace.observe(2 * frame, frame);
      expect(pace.shown(2 * frame, 1)).toBe(frame - 1);
    }
    pace.observe(700, 699);
    expect(pace.shown(700, 1)).toBe(698);
  });
});

describe('the shown frame', () => {
  test('waits when updates become later, and never goes back', () => {
    const scene = new Scene();
    const rect = { minX: 0, minZ: 0, maxX: 1, maxZ: 1 };
    scene.handle({ type: 'welcome', version: 2, session: 1n, role: 'view', clock: 0n, tick: 1 / 60, frameTicks: 2, delayFrames: 1, toleranceM: 0.01, toleranceRad: 0.02 }, 0);
    scene.handle({ type: 'world', generation: 1, start: 1n, name: '', gravity: [0, 0, 0], fastest: 0, extent: rect, cells: [1, 1], regions: [] }, 0);
    scene.handle({ type: 'pong', sent: 0n, received: 0n, replied: 0n }, 0);
    let [last, waited] = [-Infinity, 0];
    for (let frame = 0; frame < 90; frame++) {
      const local = (frame * 1000) / 30;
      // From the 30th on, updates come half a second late.
      scene.handle({ type: 'update', frame: frame < 30 ? frame : frame - 15, sections: [] }, local);
      const steady = scene.steadyFrame(local);
      expect(steady).toBeGreaterThanOrEqual(last);
      if (steady === last) waited++;
      last = steady;
    }
    expect(waited).toBeGreaterThan(10);
    expect(last).toBeCloseTo(scene.shownFrame((89 * 1000) / 30), 6);
  });
});

describe('when updates stay away', () => {
  test('bodies go on for a moment, then stand still', () => {
    const scene = new Scene();
    const rect = { minX: 0, minZ: 0, maxX: 1, maxZ: 1 };
    scene.handle({ type: 'welcome', version: 2, session: 1n, role: 'view', clock: 0n, tick: 1 / 60, frameTicks: 2, delayFrames: 1, toleranceM: 0.01, toleranceRad: 0.02 }, 0);
    scene.handle({ type: 'world', generation: 1, start: 1n, name: '', gravity: [0, 0, 0], fastest: 0, extent: rect, cells: [1, 1], regions: [] }, 0);
    scene.handle({ type: 'pong', sent: 0n, received: 0n, replied: 0n }, 0);
    for (let frame = 0; frame < 30; frame++) scene.handle({ type: 'update', frame, sections: [] }, (frame * 1000) / 30);
    expect(scene.shownFrame(1200)).toBeGreaterThan(29);
    const stopped = scene.shownFrame(3000);
    expect(stopped).toBeLessThanOrEqual(29 + 10);
    expect(scene.shownFrame(60_000)).toBe(stopped);
  });
});

describe('a world', () => {
  test('is another one if its generation or its start is, and the same if it has only started', () => {
    const heard: string[] = [];
    const scene = new Scene({ world: (world) => heard.push(`world ${world.generation}`), regions: () => heard.push('regions') });
    const rect = { minX: 0, minZ: 0, maxX: 1, maxZ: 1 };
    const tell = (generation: number, start: bigint) => scene.handle({ type: 'world', generation, start, name: '', gravity: [0, 0, 0], fastest: 0, extent: rect, cells: [1, 1], regions: [] }, 0);
    tell(1, 0n);
    tell(1, 5n);
    tell(1, 5n);
    tell(1, 9n);
    tell(2, 9n);
    expect(heard).toEqual(['world 1', 'regions', 'regions', 'world 1', 'world 2']);
  });
});
