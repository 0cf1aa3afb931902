// The page: one world, live or recorded, and everything one can do with it.

import { type Body, Connection, type Health, LAYERS, Player, Recording, Scene, type SceneListener, type Status, toMs, type World } from '@auramesh/client';
import { Actions, SCENERY, SHAPES } from './actions.js';
import { h, icon, setText } from './dom.js';
import { Insight } from './insight.js';
import { BorderEditor } from './panels/borders.js';
import { Charts } from './panels/charts.js';
import { Inspector, nameOf } from './panels/inspector.js';
import { Notices } from './panels/notices.js';
import { Servers, tool } from './panels/servers.js';
import { Timeline } from './panels/timeline.js';
import { Measures } from './measures.js';
import type { Layers } from './view/overlays.js';
import { type Quality, Stage } from './view/stage.js';

const LAYER_NAMES: Record<keyof Layers, [label: string, key: string]> = {
  borders: ['Borders', ''],
  auras: ['Auras', 'Z'],
  clusters: ['Clusters', 'X'],
  flight: ['Bodies in flight', ''],
  pulses: ['Pulses', ''],
  truth: ['True pose of the picked body', ''],
  sleep: ['Sleepers darker', ''],
};
/** Exceeded tolerances are put into words at most so often, ms. */
const QUIET_MS = 15_000;
/** A world begins for so long. */
const BEGINNING_MS = 3000;
/** Panels are brought up to date so often, ms. */
const PANELS_MS = 200;
const EVERYTHING = LAYERS.auras | LAYERS.clusters | LAYERS.bodies | LAYERS.flight | LAYERS.migrations | LAYERS.crossings | LAYERS.health | LAYERS.figures | LAYERS.truth;

export class App {
  readonly stage: Stage;
  readonly insight: Insight;
  readonly measures = new Measures();
  readonly layers: Layers = { borders: true, auras: true, clusters: true, flight: true, pulses: true, truth: true, sleep: true };
  private readonly notices = new Notices();
  private readonly servers = new Servers();
  private readonly inspector = new Inspector();
  private readonly charts = new Charts();
  private readonly editor: BorderEditor;
  private connection: Connection | null = null;
  private recorded: { scene: Scene; player: Player; timeline: Timeline } | null = null;
  private actions: Actions | null = null;
  picked: bigint | null = null;
  private following = false;
  private frame = 0;
  private last = 0;
  private panelsAt = 0;
  private seen = '';
  private built = '';
  private exceededAt = -QUIET_MS;
  private enteredAt = 0;
  private readonly boundTo = new Map<string, () => void>();
  private readonly title = h('h1', {}, 'Auramesh');
  private readonly status = h('span', { class: 'status', role: 'status' });
  private readonly numbers = h('span', { class: 'numbers' });
  private readonly sceneName = h('span', { class: 'scene' });
  private readonly scenes = h('select', { class: 'scenes', 'aria-label': 'Scene', hidden: true });
  private readonly tools = h('div', { class: 'tools', role: 'toolbar', 'aria-label': 'Do things' });
  private gateway = { host: '', own: true };
  private readonly left = h('aside', { class: 'left' });
  private readonly right = h('aside', { class: 'right' });
  private readonly popover = h('div', { class: 'panel popover', hidden: true });
  private readonly help: HTMLDialogElement;
  private readonly cameraTool: HTMLButtonElement;
  private readonly bottom = h('div', { class: 'bottom' });

  constructor(
    private readonly root: HTMLElement,
    parameters: URLSearchParams,
  ) {
    this.stage = new Stage((parameters.get('quality') as Quality | null) ?? 'auto');
    this.editor = new BorderEditor(this.stage);
    this.insight = new Insight({
      migrated: (journey) => this.recorded?.player.seeking || this.stage.overlays.migrated(journey.place, journey.to, performance.now()),
      crossed: (place, speed) => this.recorded?.player.seeking || this.stage.overlays.crossed(place, speed, performance.now()),
      exceeded: (region, what, times) => {
        const now = performance.now();
        if (this.recorded?.player.seeking) return;
        this.stage.ground.exceeded(region, now);
        // The ground and the legend tell each time; words would bury everything else.
        if (now - this.exceededAt < QUIET_MS) return;
        this.exceededAt = now;
        this.notices.say(`Region ${region}: ${what} tolerance exceeded${times > 1 ? ` ${times} times` : ''}`, true);
      },
      healthChanged: (region, health, before) => this.tellHealth(region, health, before),
    });
    this.help = this.makeHelp();
    this.cameraTool = tool('camera', 'Orbit', 'C', () => this.switchCamera());
    this.layOut();
    this.listen();
    requestAnimationFrame((now) => this.step(now));
  }

  // ── where the world comes from ─────────────────────────────────────────────────────────────────────────────────

  /** Follows a live world; `own`: of the gateway that this page is from. */
  connect(url: string, token: string, own: boolean): void {
    this.gateway = { host: new URL(url, location.href).host, own };
    const connection = new Connection(url, {
      token,
      onStatus: (status) => this.showStatus(status),
      onMessage: (message, bytes) => this.measures.received(bytes, message.type),
      onHandled: (ms) => this.measures.add('handle', ms),
      listener: this.listener(),
    });
    this.connection = connection;
    this.actions = new Actions(connection, this.stage, (text, bad) => this.notices.say(text, bad));
    this.ask();
  }

  /** Plays a track of a recording; returns all there are. */
  async open(url: string, track = 0): Promise<{ number: number; name: string }[]> {
    this.notices.keep(`Loading ${url} …`);
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
      const recording = new Recording(new Uint8Array(await response.arrayBuffer()));
      this.play(recording, track);
      this.notices.keep();
      return [...recording.tracks].map(([number, name]) => ({ number, name }));
    } catch (error) {
      this.notices.keep(`The recording cannot be played: ${error instanceof Error ? error.message : String(error)}`);
      return [];
    }
  }

  private play(recording: Recording, track: number): void {
    const scene = new Scene(this.listener());
    const player = new Player(recording, scene, track);
    const timeline = new Timeline(player, track, () => (scene.welcome?.tick ?? 1 / 60) * 1000);
    this.recorded = { scene, player, timeline };
    this.stage.cameras.arrowsTaken = true;
    this.bottom.prepend(timeline.element);
    setText(this.status, 'Recording');
    this.status.dataset.state = 'replay';
    this.buildTools();
  }

  get scene(): Scene | null {
    return this.recorded?.scene ?? this.connection?.scene ?? null;
  }

  get live(): Connection | null {
    return this.connection;
  }

  get timeline(): Timeline | null {
    return this.recorded?.timeline ?? null;
  }

  /** The frame that is shown. */
  get shownFrame(): number {
    return this.frame;
  }

  private listener(): SceneListener {
    const { stage, insight } = this;
    return {
      welcome: () => this.buildTools(),
      features: () => this.buildTools(),
      world: (world) => this.enterWorld(world),
      regions: (world) => {
        stage.ground.setRegions(world);
        this.nameGround(world);
      },
      statics: (pieces) => pieces.forEach((piece) => stage.ground.addPiece(piece)),
      forms: (forms) => forms.forEach(({ number, shape }) => stage.bodies.setForm(number, shape)),
      entered: (body) => stage.bodies.add(body),
      left: (body, removed) => {
        stage.bodies.remove(body);
        if (removed) insight.forget(body.id);
        // A recording that goes back in time tells everything anew; whether it is still there shows then.
        if (this.picked === body.id && !this.recorded) this.pick(null, removed ? `${nameOf(body.id)} is gone` : undefined);
      },
      owner: (body, before) => {
        stage.bodies.recolour(body.id, performance.now());
        this.measures.ownerChanged(body.id, before, body.owner);
        // Without the servers' own word, the place where it is shown has to do.
        if (insight.figures.size === 0) stage.overlays.migrated([body.pose.px, body.pose.py, body.pose.pz], body.owner, performance.now());
      },
      inspection: (_, parts) => {
        insight.handle(parts);
        const now = performance.now();
        for (const part of parts) if (part.type === 'bodies') for (const { body, asleep } of part.bodies) stage.bodies.setAsleep(body, asleep, now);
        if (this.scene?.world) this.nameGround(this.scene.world);
      },
    };
  }

  private enterWorld(world: World): void {
    const key = `${world.name} ${JSON.stringify(world.extent)}`;
    this.stage.setWorld(world);
    const { player } = this.recorded ?? {};
    const worldTime = player && (player.recording.startMs + player.now - toMs(world.start)) / 1000;
    this.insight.clear(this.scene?.welcome?.tick ?? 1 / 60, worldTime);
    this.enteredAt = performance.now();
    this.servers.build(world);
    if (key !== this.seen) this.stage.cameras.overview(world.extent);
    if (this.seen && !this.recorded) this.notices.say(`A new start: ${world.name}, ${world.regions.length} regions`);
    this.seen = key;
    if (this.editor.active) this.editor.close();
    setText(this.sceneName, world.name);
    document.title = `${world.name} · Auramesh`;
    this.stage.canvas.setAttribute('aria-label', `The world "${world.name}" in 3D`);
    this.chooseScene();
  }

  /** What is to be inspected: everything while somebody looks. */
  private ask(): void {
    this.connection?.inspect(document.hidden ? 0 : EVERYTHING, this.picked === null ? [] : [this.picked]);
  }

  private tellHealth(region: number, { state, server, term }: Health, before: Health | undefined): void {
    // After a new start every region begins; that is no recovery.
    if (!before || this.recorded?.player.seeking || performance.now() - this.enteredAt < BEGINNING_MS) return;
    if (state === 'silent') this.notices.say(`Region ${region}: nothing is heard of server ${server || '?'}`, true);
    else if (state === 'abandoned') this.notices.say(`Region ${region}: server ${before.server || '?'} is dead`, true);
    else if (state === 'recovering') this.notices.say(`Region ${region} recovers on ${server}`, true);
    else if (state === 'running' && term !== before.term) this.notices.say(`Region ${region} runs on ${server}`);
    else if (state === 'running' && before.state === 'recovering') this.notices.say(`Region ${region} runs again on ${server}`);
  }

  private showStatus(status: Status): void {
    this.status.dataset.state = status.state;
    switch (status.state) {
      case 'connecting':
        setText(this.status, status.attempt > 1 ? `Connecting again (${status.attempt})` : 'Connecting');
        break;
      case 'open':
        setText(this.status, 'Live');
        this.notices.keep();
        this.buildTools();
        break;
      case 'waiting': {
        setText(this.status, 'No connection');
        const retry = h('button', { type: 'button', onclick: () => this.connection?.retry() }, 'Try now');
        this.notices.keep(h('b', {}, `${status.why}.`), ` What you see stands still. Trying again in ${(status.retryMs / 1000).toFixed(1)} s. `, retry);
        break;
      }
      case 'ended':
        setText(this.status, 'Not connected');
        if (status.reason === 'token') this.askToken(status.why);
        else this.notices.keep(h('b', {}, `The gateway ended the connection: ${status.why}.`), ' Reload the page to try again.');
    }
  }

  private askToken(why: string): void {
    const input = h('input', { type: 'password', autocomplete: 'off', 'aria-label': 'Token', placeholder: 'Token' });
    const form = h('form', {}, h('b', {}, this.gateway.own ? 'This gateway asks for a token' : `Another gateway, ${this.gateway.host}, asks for a token. Enter it only if you trust that one`), ` (${why}). `, input, h('button', { type: 'submit' }, 'Enter'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      // For another gateway it is not kept: this page's own must not get it, nor the other way round.
      if (this.gateway.own) sessionStorage.setItem('auramesh-token', input.value);
      this.connection?.useToken(input.value);
    });
    this.notices.keep(form);
    input.focus();
  }

  // ── what is on the page ────────────────────────────────────────────────────────────────────────────────────────

  private layOut(): void {
    const toggle = (panel: HTMLElement, name: string) => {
      const open = document.body.dataset.sheet === name;
      document.body.dataset.sheet = open ? '' : name;
      if (matchMedia('(min-width: 761px)').matches) panel.hidden = !panel.hidden;
    };
    const views = h(
      'div',
      { class: 'views' },
      tool('servers', 'Servers', '', () => toggle(this.left, 'left')),
      tool('charts', 'Charts', 'G', () => toggle(this.charts.element, 'right')),
      this.cameraTool,
      tool('help', 'Help', 'H', () => this.toggleHelp()),
    );
    this.boundTo.set('KeyG', () => toggle(this.charts.element, 'right'));
    const layers = h('fieldset', { class: 'layers' }, h('legend', {}, 'Show'));
    for (const [layer, [label, key]] of Object.entries(LAYER_NAMES) as [keyof Layers, [string, string]][]) {
      const box = h('input', { type: 'checkbox', checked: true, name: layer });
      box.addEventListener('change', () => this.setLayer(layer, box.checked));
      if (key) this.boundTo.set(`Key${key}`, () => box.click());
      layers.append(h('label', { title: key ? `Key ${key}` : undefined }, box, label));
    }
    this.left.append(h('section', { class: 'panel', 'aria-label': 'Servers' }, h('h2', {}, 'Who owns what'), this.servers.element, layers));
    this.right.append(this.inspector.element, this.editor.element, this.charts.element);
    const header = h('header', { class: 'top' }, this.title, h('span', { class: 'where' }, this.sceneName, this.scenes), this.status, this.numbers, views);
    this.bottom.append(this.popover, this.tools);
    const view = h('div', { class: 'view' }, this.stage.canvas, h('div', { class: 'cross', 'aria-hidden': 'true' }));
    this.root.append(view, header, this.left, this.right, this.bottom, this.notices.banner, this.notices.toasts, this.help);
    this.inspector.close.addEventListener('click', () => this.pick(null));
    this.inspector.follow.addEventListener('click', () => this.follow(!this.following));
    this.inspector.push.addEventListener('click', () => this.withPicked((id) => void this.actions?.push(id)));
    this.inspector.remove.addEventListener('click', () => this.withPicked((id) => void this.actions?.remove(id)));
    this.servers.onKill = (server) => void this.actions?.kill(server);
    this.editor.onClose = () => this.editor.close();
    this.editor.onApply = (rects) => void this.actions?.defineRegions(rects).then((done) => done && this.editor.close());
    this.stage.cameras.onMode = (mode) => {
      setText(this.cameraTool.lastElementChild as HTMLElement, mode === 'orbit' ? 'Orbit' : 'Fly');
      document.body.dataset.camera = mode;
    };
    this.scenes.addEventListener('change', () => {
      // So that Space throws again and does not open the list.
      this.stage.canvas.focus();
      void this.switchScene();
    });
    this.buildTools();
  }

  private setLayer(layer: keyof Layers, on: boolean): void {
    this.layers[layer] = on;
    if (layer !== 'sleep') return;
    this.stage.bodies.shadeSleepers = on;
    for (const body of this.scene?.list ?? []) this.stage.bodies.recolour(body.id, performance.now());
  }

  /** Only what this role may do is there at all. */
  private buildTools(): void {
    const role = this.recorded ? 'view' : (this.connection?.scene.welcome?.role ?? 'view');
    const features = this.scene?.features;
    const plays = role !== 'view';
    const rules = role === 'admin';
    const built = JSON.stringify([role, features?.demo, features?.scenes]);
    if (built === this.built) return;
    this.built = built;
    document.body.dataset.role = role;
    for (const code of ['Space', 'KeyK', 'KeyL', 'KeyB', 'KeyI', 'KeyR', 'KeyN', 'KeyU', 'Delete', 'Digit1', 'Digit2', 'Digit3', 'Digit4', 'Digit5']) this.boundTo.delete(code);
    this.tools.replaceChildren();
    this.popover.hidden = true;
    const add = (button: HTMLButtonElement, code: string, act: () => void) => {
      this.tools.append(button);
      if (code) this.boundTo.set(code, act);
    };
    const make = (name: Parameters<typeof icon>[0], label: string, key: string, code: string, act: () => void) => add(tool(name, label, key, act), code, act);
    if (plays) {
      make('throw', 'Throw', 'Space', 'Space', () => void this.throwBall());
      make('spawn', 'Spawn', '1–5', '', () => this.toggleShapes());
      Object.keys(SHAPES).forEach((name, i) => this.boundTo.set(`Digit${i + 1}`, () => void this.actions?.drop(name)));
      make('stack', 'Stack', 'K', 'KeyK', () => void this.actions?.stack());
      this.boundTo.set('KeyU', () => this.withPicked((id) => void this.actions?.push(id)));
      this.boundTo.set('Delete', () => this.withPicked((id) => void this.actions?.remove(id)));
    }
    if (rules) {
      make('static', 'Scenery', 'L', 'KeyL', () => this.toggleScenery());
      make('inject', 'Rain', 'I', 'KeyI', () => this.toggleRain());
      make('borders', 'Borders', 'B', 'KeyB', () => this.toggleEditor());
      make('reset', 'Reset', 'R', 'KeyR', () => void this.actions?.reset());
      if (features?.demo) make('network', 'Network', 'N', 'KeyN', () => this.toggleNetwork());
    }
    this.inspector.push.hidden = this.inspector.remove.hidden = !plays;
    this.tools.hidden = this.tools.childElementCount === 0;
    this.fillScenes(rules);
  }

  private fillScenes(rules: boolean): void {
    const scenes = this.scene?.features?.scenes ?? [];
    this.scenes.hidden = !rules || scenes.length === 0;
    this.sceneName.hidden = !this.scenes.hidden;
    const names = scenes.map((scene) => scene.name).join();
    if (this.scenes.dataset.names !== names) {
      this.scenes.dataset.names = names;
      const options = scenes.map(({ name, about }) => h('option', { value: name, title: about }, name));
      this.scenes.replaceChildren(h('option', { value: '', disabled: true }, 'another scene'), ...options, h('option', { value: '@file' }, 'a scene file …'));
    }
    this.chooseScene();
  }

  /** The select shows the present scene, which the world calls by its title. */
  private chooseScene(): void {
    const world = this.scene?.world;
    const chosen = this.scene?.features?.scenes.find((scene) => scene.name === world?.name);
    const blank = this.scenes.options[0];
    if (blank) blank.text = world?.name ?? '';
    this.scenes.value = chosen?.name ?? '';
  }

  private async switchScene(): Promise<void> {
    const name = this.scenes.value;
    if (name !== '@file') {
      await this.actions?.switchScene(name);
      return this.chooseScene();
    }
    const input = h('input', { type: 'file', accept: '.toml' });
    input.addEventListener('change', () => void input.files?.[0]?.text().then((text) => this.actions?.loadScene(text)));
    input.click();
    this.chooseScene();
  }

  private pop(name: string, ...content: Node[]): void {
    const same = !this.popover.hidden && this.popover.dataset.name === name;
    this.popover.hidden = same;
    this.popover.dataset.name = name;
    if (same) return;
    this.popover.replaceChildren(...content);
    (this.popover.querySelector('button, input, select') as HTMLElement | null)?.focus({ preventScroll: true });
  }

  private toggleShapes(): void {
    const buttons = Object.keys(SHAPES).map((name, i) => h('button', { type: 'button', title: `Key ${i + 1}`, onclick: () => void this.actions?.drop(name) }, name));
    this.pop('shapes', h('p', {}, 'Falls where you look:'), h('div', { class: 'buttons' }, ...buttons));
  }

  private toggleScenery(): void {
    const buttons = Object.keys(SCENERY).map((name) => h('button', { type: 'button', onclick: () => void this.actions?.putUp(name) }, name));
    this.pop('scenery', h('p', {}, 'Stands where you look, on all servers:'), h('div', { class: 'buttons' }, ...buttons));
  }

  private toggleRain(): void {
    const rate = h('input', { type: 'number', min: 1, max: 200, value: 20, 'aria-label': 'Bodies per second' });
    const seconds = h('input', { type: 'number', min: 1, max: 600, value: 15, 'aria-label': 'Seconds' });
    const start = h('button', { type: 'button', class: 'primary', onclick: () => void this.actions?.rain(Number(rate.value), Number(seconds.value)) }, 'Start');
    const stop = h('button', { type: 'button', onclick: () => void this.actions?.stopRain() }, 'Stop all');
    this.pop('rain', h('p', {}, 'Bodies appear above the place you look at:'), h('div', { class: 'row' }, rate, 'per second for', seconds, 's'), h('div', { class: 'buttons' }, start, stop));
  }

  private toggleNetwork(): void {
    const now = this.scene?.features?.network ?? { latencyMs: 0, jitterMs: 0, loss: 0 };
    const slider = (label: string, max: number, step: number, value: number, unit: string) => {
      const input = h('input', { type: 'range', min: 0, max, step, value, 'aria-label': label });
      const output = h('output', {}, `${value} ${unit}`);
      input.addEventListener('input', () => setText(output, `${input.value} ${unit}`));
      return [input, h('label', { class: 'slider' }, label, input, output)] as const;
    };
    const [latency, a] = slider('Delay', 200, 1, now.latencyMs, 'ms');
    const [jitter, b] = slider('Jitter', 100, 1, now.jitterMs, 'ms');
    const [loss, c] = slider('Loss', 30, 0.5, now.loss * 100, '%');
    const apply = h('button', { type: 'button', class: 'primary', onclick: () => void this.actions?.setNetwork(Number(latency.value), Math.min(Number(latency.value), Number(jitter.value)), Number(loss.value) / 100) }, 'Apply');
    const none = h('button', { type: 'button', onclick: () => void this.actions?.setNetwork(0, 0, 0) }, 'None');
    this.pop('network', h('p', {}, 'Emulated between the servers:'), a, b, c, h('div', { class: 'buttons' }, apply, none));
  }

  private toggleEditor(): void {
    const extent = this.scene?.world?.extent;
    if (this.editor.active) this.editor.close();
    else if (extent) this.editor.open(extent);
  }

  /** To a place on the screen, -1 to 1; its middle unless told. */
  private async throwBall(x = 0, y = 0): Promise<void> {
    const id = await this.actions?.throwBall(x, y);
    if (id !== null && id !== undefined) this.measures.thrown(id);
  }

  private makeHelp(): HTMLDialogElement {
    const rows: [string, string][] = [
      ['Drag, pinch, wheel', 'look around, zoom'],
      ['W A S D, Q E, arrows', 'move, rise and sink, turn'],
      ['C', 'orbit or fly'],
      ['Click, tap, or Enter', 'pick a body (Enter: the one in the middle)'],
      ['F', 'follow the picked body'],
      ['Escape', 'unpick, close'],
      ['Space, double click or tap', 'throw a ball where you look'],
      ['1 to 5', 'drop a ball, box, capsule, gem, dumbbell'],
      ['K', 'a stack of boxes'],
      ['L, I, B, R', 'scenery, rain, borders, reset'],
      ['N', 'emulated network (demo)'],
      ['U, Delete', 'push or remove the picked body'],
      ['Z, X, G', 'auras, clusters, charts'],
      ['P, ← →', 'recording: play or pause, one tick'],
    ];
    const table = h('table', {}, ...rows.map(([key, what]) => h('tr', {}, h('th', { scope: 'row' }, key), h('td', {}, what))));
    const about = h(
      'div',
      {},
      h('p', {}, 'Space is cut into regions, one server each. A body has its owner’s colour. Near a border it projects an aura (the bubbles): whatever touches it is fetched to the same server, with everything it holds on to, before the two can meet.'),
      h('p', {}, 'Rings: a migration, in the new owner’s colour. White stars: a contact of bodies that had different owners a moment ago. White lines: clusters, which migrate together. Hatched ground: a server that is dead or recovering. Yellow wire: where the server had the picked body at the time shown; pink wire: where it has it now.'),
    );
    const close = h('button', { type: 'button', class: 'close', 'aria-label': 'Close' }, '×');
    const dialog = h('dialog', { class: 'panel help', 'aria-label': 'Help' }, h('header', {}, h('h2', {}, 'What you see, what you can do'), close), about, table);
    close.addEventListener('click', () => dialog.close());
    return dialog;
  }

  private toggleHelp(): void {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  // ── what the user does ─────────────────────────────────────────────────────────────────────────────────────────

  private listen(): void {
    const { canvas, cameras } = this.stage;
    addEventListener('resize', () => this.stage.resize());
    addEventListener('keydown', (event) => this.key(event));
    addEventListener('keyup', (event) => cameras.keyUp(event.code));
    addEventListener('blur', () => cameras.releaseKeys());
    document.addEventListener('visibilitychange', () => this.ask());
    let down: { x: number; y: number; at: number } | null = null;
    let tapped = 0;
    canvas.addEventListener('pointerdown', (event) => (down = { x: event.clientX, y: event.clientY, at: performance.now() }));
    canvas.addEventListener('pointerup', (event) => {
      if (!down || this.editor.active || event.button > 0) return;
      const still = Math.hypot(event.clientX - down.x, event.clientY - down.y) < 6 && performance.now() - down.at < 500;
      if (!still) return;
      const twice = performance.now() - tapped < 350;
      tapped = twice ? 0 : performance.now();
      const [x, y] = [(event.offsetX / canvas.clientWidth) * 2 - 1, 1 - (event.offsetY / canvas.clientHeight) * 2];
      if (twice && document.body.dataset.role !== 'view') void this.throwBall(x, y);
      else this.pickAt(x, y);
    });
    canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault();
      this.notices.keep('The graphics card has lost the picture; it comes back by itself, or reload the page.');
    });
    canvas.addEventListener('webglcontextrestored', () => this.notices.keep());
    new ResizeObserver(() => this.stage.resize()).observe(this.root);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const typing = target.matches('input:not([type=checkbox]):not([type=range]), select, textarea');
    if (typing || event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const pressesButton = (event.code === 'Space' || event.code === 'Enter') && target.matches('button, input, summary');
    if (pressesButton) return;
    // A slider moves by these keys; the time-line's by its own steps.
    const slides = target.matches('input[type=range]') && /^(Arrow|Home|End|Page)/.test(event.code);
    const steps = this.recorded?.timeline.element.contains(target) === true && /^Arrow(Left|Right)$/.test(event.code);
    if (slides && !steps) return;
    if (this.handleKey(event)) event.preventDefault();
  }

  private handleKey({ code, repeat }: KeyboardEvent): boolean {
    const timeline = this.recorded?.timeline;
    if (timeline && (code === 'ArrowLeft' || code === 'ArrowRight')) {
      timeline.step(code === 'ArrowLeft' ? -1 : 1);
      return true;
    }
    if (this.stage.cameras.keyDown(code)) return true;
    if (repeat) return false;
    const plain: Record<string, () => void> = {
      KeyC: () => this.switchCamera(),
      KeyF: () => this.follow(!this.following),
      KeyH: () => this.toggleHelp(),
      KeyP: () => timeline?.toggle(),
      Enter: () => this.pickAt(0, 0),
      Escape: () => this.escape(),
    };
    const act = this.boundTo.get(code) ?? plain[code];
    act?.();
    return act !== undefined;
  }

  private escape(): void {
    if (!this.popover.hidden) this.popover.hidden = true;
    else if (this.editor.active) this.editor.close();
    else if (document.body.dataset.sheet) document.body.dataset.sheet = '';
    else this.pick(null);
  }

  private switchCamera(): void {
    const { cameras } = this.stage;
    cameras.mode = cameras.mode === 'orbit' ? 'fly' : 'orbit';
    if (cameras.mode === 'fly') this.follow(false);
  }

  private pickAt(x: number, y: number): void {
    const body = this.stage.pick(x, y);
    this.pick(body?.id ?? null);
  }

  pick(id: bigint | null, why?: string): void {
    if (why) this.notices.say(why);
    if (id === this.picked) return;
    this.picked = id;
    if (id === null) this.follow(false);
    if (!this.recorded) this.insight.truths.clear();
    this.ask();
    this.inspector.update(this.pickedBody, this.scene as Scene, this.insight, this.frame);
  }

  private get pickedBody(): Body | null {
    return this.picked === null ? null : (this.scene?.bodies.get(this.picked) ?? null);
  }

  private withPicked(act: (id: bigint) => void): void {
    if (this.picked !== null) act(this.picked);
    else this.notices.say('Pick a body first');
  }

  follow(on: boolean): void {
    this.following = on && this.picked !== null;
    if (this.following) this.stage.cameras.mode = 'orbit';
    this.inspector.follow.setAttribute('aria-pressed', String(this.following));
  }

  // ── time ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private step(now: number): void {
    requestAnimationFrame((next) => this.step(next));
    const seconds = Math.min(0.25, (now - this.last) / 1000);
    this.last = now;
    const scene = this.scene;
    if (scene?.world || this.recorded) this.show(scene as Scene, seconds);
    this.stage.adapt(seconds);
  }

  private show(scene: Scene, seconds: number): void {
    const begun = performance.now();
    this.playOn(scene, seconds);
    this.frame = this.recorded ? this.recorded.player.frame : scene.steadyFrame(begun);
    this.stage.prepare(scene, this.insight, this.layers, this.picked, this.following ? this.pickedBody : null, this.frame, begun, seconds);
    const prepared = performance.now();
    if (prepared - this.panelsAt > PANELS_MS) {
      this.panelsAt = prepared;
      this.showPanels(scene);
    }
    const shown = performance.now();
    this.stage.draw();
    this.measures.add('prepare', prepared - begun);
    this.measures.add('panels', shown - prepared);
    this.measures.add('draw', performance.now() - shown);
    this.measures.frame(scene.list.length, begun);
  }

  private playOn(scene: Scene, seconds: number): void {
    if (!this.recorded) return;
    try {
      this.recorded.timeline.advance(seconds);
    } catch (error) {
      this.recorded.timeline.playing = false;
      this.notices.keep(`Something in the recording is not understood: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (this.picked !== null && !scene.bodies.has(this.picked)) this.pick(null, `${nameOf(this.picked)} is not there at this time`);
  }

  private nameGround(world: World): void {
    const now = performance.now();
    this.stage.ground.name(world, (region) => this.insight.fares(region, now));
  }

  private showPanels(scene: Scene): void {
    const world = scene.world;
    if (!world) return;
    this.nameGround(world);
    const counts = new Array<number>(world.regions.length).fill(0);
    for (const body of scene.list) counts[body.owner] = (counts[body.owner] ?? 0) + 1;
    const mayKill = document.body.dataset.role === 'admin' && scene.features?.demo === true;
    this.servers.update(world, this.insight, counts, mayKill, performance.now());
    this.inspector.update(this.pickedBody, scene, this.insight, this.frame);
    if (!this.charts.element.hidden) this.charts.draw(this.insight);
    const { fps, bytesPerSecond } = this.measures;
    const traffic = this.recorded ? '' : ` · ${(bytesPerSecond / 1000).toFixed(0)} kB/s`;
    setText(this.numbers, `${scene.list.length} bodies · ${fps.toFixed(0)} fps${traffic}`);
  }
}
