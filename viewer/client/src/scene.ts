// What a client knows of the world: messages in, poses out. No I/O, no clock of its own.

import { Clock, Pace } from './clock.js';
import type { Features, FromGateway, Piece, Section, Welcome, World } from './messages.js';
import type { InspectionPart } from './inspection.js';
import type { Vec3 } from './bytes.js';
import type { Shape } from './shapes.js';
import { type Flight, RESTING, type Turn } from './stream/curves.js';
import { newPose, type Pose, showTrack, StreamDecoder, type Track } from './stream/decoder.js';

/** Without updates bodies are extrapolated for so long at most, s. */
const LONGEST_GUESS_S = 0.3;

interface Source {
  cell: number;
  track: Track | null;
}

/** A body in sight. */
export class Body {
  /** Where it is shown, as of the last {@link Scene.place}. */
  readonly pose: Pose = newPose();
  /** Is the pose known at all? */
  placed = false;
  /** Its place in {@link Scene.list}. */
  index = -1;
  /** Whatever belongs to it where it is drawn; nothing here looks at it. */
  tag: unknown = null;
  /** The cells that tell of it, the last one first. */
  readonly sources: Source[] = [];
  private track: Track | null = null;
  private flight: Flight | null = null;
  private turn: Turn | null = null;

  constructor(
    readonly id: bigint,
    public form: number,
    public owner: number,
  ) {}

  /** Brings the pose to a frame; false if it is what it was. */
  place(frame: number, pull: Vec3): boolean {
    for (let i = 0; i < this.sources.length; i++) {
      const track = (this.sources[i] as Source).track;
      if (track === null) continue;
      if (track === this.track && this.rests(track)) return false;
      if (!showTrack(track, frame, pull, this.pose)) continue;
      this.remember(track);
      this.placed = true;
      return true;
    }
    if (this.placed) return false;
    // So new that nothing is known of it yet: it waits where it will begin.
    const track = this.sources.find((source) => source.track)?.track;
    if (!track) return false;
    if (!showTrack(track, Math.max(track.flight?.start ?? 0, track.turn?.start ?? 0), pull, this.pose)) return false;
    this.placed = true;
    return true;
  }

  /** Nothing new is known, and what is known is that it rests. */
  private rests(track: Track): boolean {
    return track.flight === this.flight && track.turn === this.turn && this.flight !== null;
  }

  private remember(track: Track): void {
    this.track = track;
    const { flight, turn } = track;
    this.flight = this.turn = null;
    if (!flight || !turn || flight.course !== RESTING || turn.sx !== 0 || turn.sy !== 0 || turn.sz !== 0) return;
    const begun = this.pose.px === flight.px / 256 && this.pose.py === flight.py / 256 && this.pose.pz === flight.pz / 256;
    if (!begun || track.ready !== turn) return;
    this.flight = flight;
    this.turn = turn;
  }
}

/** Hears what happens. Every method is optional. */
export interface SceneListener {
  welcome?(welcome: Welcome): void;
  features?(features: Features): void;
  /** There is another world; everything of the old one is gone already. */
  world?(world: World): void;
  /** The same world: it has started, or regions have other servers. */
  regions?(world: World): void;
  statics?(pieces: Piece[]): void;
  forms?(forms: { number: number; shape: Shape }[]): void;
  entered?(body: Body): void;
  left?(body: Body, removed: boolean): void;
  owner?(body: Body, before: number): void;
  contact?(place: Vec3, speed: number): void;
  updated?(frame: number): void;
  inspection?(frame: number, parts: InspectionPart[]): void;
}

/** The world as a client sees it. */
export class Scene {
  welcome: Welcome | null = null;
  features: Features | null = null;
  world: World | null = null;
  readonly statics = new Map<number, Piece>();
  readonly forms = new Map<number, Shape>();
  readonly bodies = new Map<bigint, Body>();
  /** The same bodies, without gaps; removing one moves the last into its place. */
  readonly list: Body[] = [];
  readonly clock = new Clock();
  readonly pace = new Pace();
  /** The newest frame that has come. */
  frame = 0;
  /** Records of the state stream decoded so far. */
  private cells = new Map<number, { decoder: StreamDecoder; members: Set<bigint> }>();
  private pull: Vec3 = [0, 0, 0];
  private steady = -Infinity;

  constructor(private readonly listener: SceneListener = {}) {}

  /** Seconds of a frame. */
  get frameSeconds(): number {
    return this.welcome ? this.welcome.tick * this.welcome.frameTicks : 1 / 30;
  }

  /** Takes a message that came at a time of the own clock, ms; throws if it makes no sense. */
  handle(message: FromGateway, local: number): void {
    switch (message.type) {
      case 'welcome':
        this.welcome = message;
        this.listener.welcome?.(message);
        break;
      case 'features':
        this.features = message;
        this.listener.features?.(message);
        break;
      case 'world':
        this.handleWorld(message);
        break;
      case 'statics':
        for (const piece of message.pieces) this.statics.set(piece.id, piece);
        this.listener.statics?.(message.pieces);
        break;
      case 'forms':
        for (const { number, shape } of message.forms) this.forms.set(number, shape);
        this.listener.forms?.(message.forms);
        break;
      case 'update':
        for (const section of message.sections) this.handleSection(section);
        this.frame = message.frame;
        if (this.clock.known && this.world && this.world.start > 0n) this.pace.observe(this.present(local), message.frame);
        this.listener.updated?.(message.frame);
        break;
      case 'pong':
        this.clock.observe(toMs(message.sent), toMs(message.received), toMs(message.replied), local);
        break;
      case 'inspection':
        this.listener.inspection?.(message.frame, message.parts);
        break;
    }
  }

  private handleWorld(world: World): void {
    // A gateway that was started anew may count from the same number.
    const restarted = this.world !== null && this.world.start > 0n && this.world.start !== world.start;
    const another = this.world?.generation !== world.generation || restarted;
    this.world = world;
    const square = this.frameSeconds ** 2;
    this.pull = [world.gravity[0] * square, world.gravity[1] * square, world.gravity[2] * square];
    if (!another) return this.listener.regions?.(world);
    this.forget();
    this.listener.world?.(world);
  }

  /** Forgets the world: another one, or the same told anew from another time. */
  forget(): void {
    for (const body of [...this.list]) this.drop(body, false);
    this.statics.clear();
    this.forms.clear();
    this.cells.clear();
    this.pace.reset();
    this.frame = 0;
    this.steady = -Infinity;
  }

  private handleSection(section: Section): void {
    switch (section.type) {
      case 'begin':
        return this.begin(section.cell, section.packet, section.frame);
      case 'end': {
        const cell = this.cells.get(section.cell);
        this.cells.delete(section.cell);
        cell?.members.forEach((id) => this.leave(section.cell, id, false));
        return;
      }
      case 'packet': {
        const decoder = this.decoder(section.cell);
        decoder.receive(section.bytes);
        return decoder.acknowledge();
      }
      case 'join':
        return this.decoder(section.cell).receiveJoin(section.bytes);
      case 'entered':
        for (const { body, form, owner } of section.bodies) this.enter(section.cell, body, form, owner);
        return;
      case 'left':
        for (const { body, removed } of section.bodies) {
          this.cells.get(section.cell)?.members.delete(body);
          this.leave(section.cell, body, removed);
        }
        return;
      case 'owners':
        for (const { body: id, owner } of section.bodies) {
          const body = this.bodies.get(id);
          if (body) this.setOwner(body, owner);
        }
        return;
      case 'contacts':
        for (const { place, speed } of section.contacts) this.listener.contact?.(place, speed);
    }
  }

  private decoder(cell: number): StreamDecoder {
    const known = this.cells.get(cell);
    if (!known) throw new Error(`a packet of cell ${cell} came before the cell began`);
    return known.decoder;
  }

  private begin(number: number, packet: number, frame: number): void {
    if (!this.world) throw new Error('a cell came before the world');
    const settings = { tick: this.frameSeconds, gravity: this.world.gravity };
    const link = (track: Track, to: Track | null) => {
      const source = this.bodies.get(track.id)?.sources.find((source) => source.cell === number);
      if (source) source.track = to;
    };
    const decoder = StreamDecoder.joining(settings, packet, frame, {
      entered: (track) => link(track, track),
      left: (track) => link(track, null),
    });
    const known = this.cells.get(number);
    this.cells.set(number, { decoder, members: new Set() });
    // The same cell again: who is still in it will be told in a moment, by the same message. Until then they stay.
    known?.members.forEach((id) => {
      const source = this.bodies.get(id)?.sources.find((source) => source.cell === number);
      if (source) source.track = null;
    });
    if (known) queueMicrotask(() => this.sweep(number, known.members));
  }

  /** Those who were in a cell that was told anew, and are not any more. */
  private sweep(number: number, before: Set<bigint>): void {
    const now = this.cells.get(number)?.members;
    for (const id of before) if (!now?.has(id)) this.leave(number, id, false);
  }

  private enter(number: number, id: bigint, form: number, owner: number): void {
    const cell = this.cells.get(number);
    cell?.members.add(id);
    let body = this.bodies.get(id);
    const isNew = !body;
    if (!body) {
      body = new Body(id, form, owner);
      this.bodies.set(id, body);
      body.index = this.list.push(body) - 1;
    }
    body.form = form;
    const at = body.sources.findIndex((source) => source.cell === number);
    if (at >= 0) body.sources.splice(at, 1);
    body.sources.unshift({ cell: number, track: cell?.decoder.track(id) ?? null });
    if (isNew) this.listener.entered?.(body);
    else this.setOwner(body, owner);
  }

  private setOwner(body: Body, owner: number): void {
    const before = body.owner;
    if (owner === before) return;
    body.owner = owner;
    this.listener.owner?.(body, before);
  }

  private leave(number: number, id: bigint, removed: boolean): void {
    const body = this.bodies.get(id);
    if (!body) return;
    const at = body.sources.findIndex((source) => source.cell === number);
    if (at >= 0) body.sources.splice(at, 1);
    if (body.sources.length === 0) this.drop(body, removed);
  }

  private drop(body: Body, removed: boolean): void {
    this.bodies.delete(body.id);
    const last = this.list.pop() as Body;
    if (last !== body) {
      this.list[body.index] = last;
      last.index = body.index;
    }
    this.listener.left?.(body, removed);
  }

  /** The cluster's present, in frames. */
  present(local: number): number {
    if (!this.world) return 0;
    return (this.clock.now(local) - toMs(this.world.start)) / (this.frameSeconds * 1000);
  }

  /**
   * The frame to show now: all that is shown is known by then. Before the clock is known, the newest. If updates stay away, bodies go on for a moment and then
   * stand still: farther on they would fall through the floor.
   */
  shownFrame(local: number): number {
    const delay = this.welcome?.delayFrames ?? 0;
    const started = this.clock.known && this.world !== null && this.world.start > 0n;
    const paced = started ? this.pace.shown(this.present(local), delay) : undefined;
    if (paced === undefined) return this.frame - delay;
    return Math.min(paced, this.frame + LONGEST_GUESS_S / this.frameSeconds);
  }

  /** The same, but never back in time: if updates have become later, it waits. */
  steadyFrame(local: number): number {
    const frame = this.shownFrame(local);
    const back = this.steady - frame;
    // Farther back than that is another time, not a delay.
    if (!(back > 0 && back * this.frameSeconds < 3)) this.steady = frame;
    return this.steady;
  }

  /** Brings all bodies to a frame and tells of those whose pose has changed. */
  place(frame: number, moved?: (body: Body) => void): void {
    const { list, pull } = this;
    for (let i = 0; i < list.length; i++) {
      const body = list[i] as Body;
      if (body.place(frame, pull)) moved?.(body);
    }
  }

  /** Where one body is at a frame, without changing anything. */
  poseAt(body: Body, frame: number, out: Pose): boolean {
    return body.sources.some((source) => source.track !== null && showTrack(source.track, frame, this.pull, out));
  }

  /** A body's speed as its curve has it, m/s. */
  speed(body: Body, frame: number): number {
    const source = body.sources.find((source) => source.track);
    const decoder = source && this.cells.get(source.cell)?.decoder;
    return source?.track && decoder ? decoder.speed(source.track, frame, this.frameSeconds) : 0;
  }

  /** Records of the state stream decoded so far. */
  get updates(): number {
    let updates = 0;
    for (const cell of this.cells.values()) updates += cell.decoder.updates;
    return updates;
  }
}

/** Nanoseconds as they stand in messages, as milliseconds. */
export function toMs(ns: bigint): number {
  return Number(ns) / 1e6;
}
