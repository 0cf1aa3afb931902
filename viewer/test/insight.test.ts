// What charts and pulses are made of: counters become rates, terms begin anew, exceedances are told once.

import { describe, expect, test } from 'vitest';
import type { Figures, Health, InspectionPart } from '@auramesh/client';
import { Insight } from '../src/insight.js';
import { ownerColour } from '../src/palette.js';

const NONE: Figures = { term: 1, ticks: 0, lateTicks: 0, cpuNs: 0, longestNs: 0, budgetNs: 0, bodies: 0, awake: 0, projecting: 0, aurasHeld: 0, inFlight: 0, arrived: 0, departed: 0, bytesToRegions: 0, bytesToOthers: 0 };
const FINE: Health = { state: 'running', term: 1, server: 's0', standby: '', silentMs: 0, inTermMs: 0, exceeded: { speed: 0, latency: 0, frame: 0 } };

function figures(tick: number, more: Partial<Figures>): InspectionPart {
  return { type: 'figures', region: 0, tick, ...NONE, ...more };
}

describe('insight', () => {
  test('rates are differences of counters over the time between', () => {
    const insight = new Insight({});
    for (let tick = 0; tick <= 60; tick += 6) insight.handle([figures(tick, { ticks: tick, cpuNs: tick * 2e6, bodies: 9, departed: tick, bytesToRegions: tick * 100 })]);
    const last = insight.history.get(0)?.at(-1);
    expect(last?.time).toBeCloseTo(1);
    expect(last?.tickMs).toBeCloseTo(2);
    expect(last?.migrations).toBeCloseTo(60);
    expect(last?.bytes).toBeCloseTo(6000);
    expect(last?.bodies).toBe(9);
  });

  test('a new term counts from zero: no rate is negative', () => {
    const insight = new Insight({});
    insight.handle([figures(0, { ticks: 1000, departed: 500 })]);
    insight.handle([figures(6, { ticks: 1006, departed: 510 })]);
    insight.handle([figures(12, { term: 2, ticks: 1, departed: 0 })]);
    insight.handle([figures(18, { term: 2, ticks: 7, departed: 3 })]);
    const rates = insight.history.get(0)?.map((point) => point.migrations) ?? [];
    expect(rates.filter(Number.isFinite).every((rate) => rate >= 0)).toBe(true);
    expect(rates.at(-1)).toBeCloseTo(30);
  });

  test('exceedances are told when counters rise, and a changed state is told once', () => {
    const told: string[] = [];
    const insight = new Insight({
      exceeded: (region, what, times) => told.push(`${region} ${what} ${times}`),
      healthChanged: (region, health) => told.push(`${region} ${health.state}`),
    });
    const health = (more: Partial<Health>): InspectionPart => ({ type: 'health', region: 3, tick: 0, ...FINE, ...more });
    insight.handle([health({})]);
    insight.handle([health({ exceeded: { speed: 0, latency: 2, frame: 0 } })]);
    insight.handle([health({ exceeded: { speed: 0, latency: 2, frame: 0 } })]);
    insight.handle([health({ state: 'silent', exceeded: { speed: 0, latency: 2, frame: 0 } })]);
    insight.handle([health({ state: 'running', term: 2 })]);
    expect(told).toEqual(['3 running', '3 latency 2', '3 silent', '3 running']);
  });

  test('trouble that is over at once can be seen nevertheless, for a moment', () => {
    const insight = new Insight({});
    const health = (state: Health['state']): InspectionPart[] => [{ type: 'health', region: 3, tick: 0, ...FINE, state }];
    expect(insight.fares(3, 0)).toBeUndefined();
    insight.handle(health('recovering'), 0);
    insight.handle(health('running'), 1);
    expect(insight.fares(3, 2), 'a world that begins').toBe('running');
    insight.handle(health('recovering'), 1000);
    insight.handle(health('running'), 1000);
    expect(insight.fares(3, 1900)).toBe('recovering');
    expect(insight.fares(3, 2100)).toBe('running');
    insight.handle(health('silent'), 3000);
    expect(insight.fares(3, 9000), 'for as long as it lasts').toBe('silent');
  });

  test('charts keep what was before the time that a recording is scrubbed back to', () => {
    const insight = new Insight({});
    for (let tick = 0; tick <= 600; tick += 6) insight.handle([figures(tick, { ticks: tick })]);
    insight.clear(1 / 60, 4);
    expect(insight.history.get(0)?.at(-1)?.time).toBeCloseTo(4);
    insight.clear(1 / 60);
    expect(insight.history.size).toBe(0);
  });
});

describe('colours', () => {
  test('of the first 24 owners are all different', () => {
    const colours = Array.from({ length: 24 }, (_, i) => ownerColour(i));
    expect(new Set(colours).size).toBe(24);
    expect(colours.every((colour) => /^#[0-9a-f]{6}$/.test(colour))).toBe(true);
  });
});
