// What the servers tell beyond poses, kept so that the page can show it.

import type { Aura, BodyState, ClusterMember, Figures, Health, InFlight, InspectionPart, Migration, Truth } from '@auramesh/client';

/** What a chart shows of a region at a time. */
export interface Point {
  /** Seconds since the world's start. */
  time: number;
  tickMs: number;
  bodies: number;
  migrations: number;
  bytes: number;
}

/** A migration with where it came from. */
export interface Journey extends Migration {
  from: number;
}

export interface InsightListener {
  migrated?(journey: Journey): void;
  /** A contact began between bodies that had different owners a moment ago. */
  crossed?(place: readonly [number, number, number], speed: number, region: number): void;
  exceeded?(region: number, what: 'speed' | 'latency' | 'frame', times: number): void;
  healthChanged?(region: number, health: Health, before: Health | undefined): void;
}

/** What a region goes through is shown for at least so long, however short it was: a take-over can be over before anyone has looked. */
const TROUBLE_MS = 1000;
const JOURNEYS_PER_BODY = 6;
const TRUTHS = 24;
/** Points kept per region: two minutes at 10 a second. */
const POINTS = 1200;
/** Rates are taken over this many ticks. */
const RATE_TICKS = 60;

export class Insight {
  readonly states = new Map<bigint, BodyState>();
  readonly auras = new Map<number, Aura[]>();
  readonly clusters = new Map<number, ClusterMember[]>();
  readonly clusterOf = new Map<bigint, ClusterMember>();
  readonly flights = new Map<number, InFlight[]>();
  readonly health = new Map<number, Health>();
  readonly figures = new Map<number, Figures>();
  readonly history = new Map<number, Point[]>();
  readonly journeys = new Map<bigint, Journey[]>();
  readonly truths = new Map<bigint, Truth[]>();
  private readonly counted = new Map<number, { tick: number; figures: Figures }[]>();
  private readonly troubles = new Map<number, { state: Health['state']; heard: number }>();
  migrations = 0;
  /** Raised with every message, so that others know when to look again. */
  version = 0;

  constructor(
    private readonly listener: InsightListener,
    private tickSeconds = 1 / 60,
  ) {}

  /** Another world: nothing of the old one means anything. Or the same at another time: charts keep what was before that, in seconds. */
  clear(tickSeconds: number, until?: number): void {
    this.tickSeconds = tickSeconds;
    for (const map of [this.states, this.auras, this.clusters, this.clusterOf, this.flights, this.figures, this.truths]) map.clear();
    this.health.clear();
    this.troubles.clear();
    if (until === undefined) {
      this.history.clear();
      this.journeys.clear();
    }
    for (const [body, journeys] of this.journeys) this.journeys.set(body, journeys.filter((journey) => journey.tick * tickSeconds <= (until ?? 0)));
    for (const [region, points] of this.history) this.history.set(region, points.filter((point) => point.time <= (until ?? 0)));
    this.counted.clear();
    this.migrations = 0;
    this.version++;
  }

  /** How a region fares, so that people can see it; `now` in milliseconds. */
  fares(region: number, now: number): Health['state'] | undefined {
    const state = this.health.get(region)?.state;
    const trouble = this.troubles.get(region);
    return state === 'running' && trouble && now - trouble.heard < TROUBLE_MS ? trouble.state : state;
  }

  handle(parts: InspectionPart[], now = performance.now()): void {
    this.version++;
    let clustered = false;
    for (const part of parts) {
      switch (part.type) {
        case 'auras':
          this.auras.set(part.region, part.auras);
          break;
        case 'clusters':
          this.clusters.set(part.region, part.members);
          clustered = true;
          break;
        case 'bodies':
          if (part.whole) this.states.clear();
          for (const state of part.bodies) this.states.set(state.body, state);
          break;
        case 'flight':
          this.flights.set(part.region, part.bodies);
          break;
        case 'migrations':
          for (const migration of part.migrations) this.journey({ ...migration, from: part.region });
          break;
        case 'crossings':
          for (const { place, speed } of part.crossings) this.listener.crossed?.(place, speed, part.region);
          break;
        case 'health':
          this.heard(part.region, part, now);
          break;
        case 'figures':
          this.count(part.region, part.tick, part);
          break;
        case 'truth':
          for (const truth of part.bodies) this.truth(truth);
      }
    }
    if (clustered) this.indexClusters();
  }

  private indexClusters(): void {
    this.clusterOf.clear();
    for (const members of this.clusters.values()) for (const member of members) this.clusterOf.set(member.body, member);
  }

  private journey(journey: Journey): void {
    this.migrations++;
    const known = this.journeys.get(journey.body) ?? [];
    // A recording tells some again after a step back.
    if (known.some((earlier) => earlier.epoch === journey.epoch && earlier.tick === journey.tick)) return;
    known.unshift(journey);
    known.length = Math.min(known.length, JOURNEYS_PER_BODY);
    this.journeys.set(journey.body, known);
    this.listener.migrated?.(journey);
  }

  private heard(region: number, health: Health, now: number): void {
    const before = this.health.get(region);
    this.health.set(region, health);
    // The first word is no news: a world that begins is not in trouble.
    if (before && health.state !== 'running' && health.state !== 'waiting') this.troubles.set(region, { state: health.state, heard: now });
    if (before?.state !== health.state || before.server !== health.server || before.term !== health.term) {
      this.listener.healthChanged?.(region, health, before);
    }
    for (const what of ['speed', 'latency', 'frame'] as const) {
      const more = before && before.term === health.term ? health.exceeded[what] - before.exceeded[what] : 0;
      if (more > 0) this.listener.exceeded?.(region, what, more);
    }
  }

  private count(region: number, tick: number, figures: Figures): void {
    this.figures.set(region, figures);
    const counted = this.counted.get(region) ?? [];
    // A new term counts from zero again.
    if (counted[0] && counted[0].figures.term !== figures.term) counted.length = 0;
    // While the world stands still the same is told again and again.
    if (counted.at(-1)?.tick === tick) return;
    counted.push({ tick, figures });
    while (counted.length > 2 && tick - (counted[0] as { tick: number }).tick > RATE_TICKS) counted.shift();
    this.counted.set(region, counted);
    const first = counted[0] as { tick: number; figures: Figures };
    const [ticks, seconds] = [figures.ticks - first.figures.ticks, (tick - first.tick) * this.tickSeconds];
    const history = this.history.get(region) ?? [];
    const latest = history.at(-1);
    if (latest && latest.time >= tick * this.tickSeconds) return;
    history.push({
      time: tick * this.tickSeconds,
      tickMs: ticks > 0 ? (figures.cpuNs - first.figures.cpuNs) / ticks / 1e6 : NaN,
      bodies: figures.bodies,
      migrations: seconds > 0 ? (figures.departed - first.figures.departed) / seconds : NaN,
      bytes: seconds > 0 ? (figures.bytesToRegions - first.figures.bytesToRegions) / seconds : NaN,
    });
    if (history.length > POINTS) history.splice(0, history.length - POINTS);
    this.history.set(region, history);
  }

  private truth(truth: Truth): void {
    const known = this.truths.get(truth.body) ?? [];
    if (known.length && (known[known.length - 1] as Truth).tick >= truth.tick) return;
    known.push(truth);
    if (known.length > TRUTHS) known.shift();
    this.truths.set(truth.body, known);
  }

  /** A body has left the world. */
  forget(body: bigint): void {
    this.states.delete(body);
    this.journeys.delete(body);
    this.truths.delete(body);
  }
}
