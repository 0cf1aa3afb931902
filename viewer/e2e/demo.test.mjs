// A live demo of four server processes, seen and commanded in a real browser. AP-37 to AP-47 as a user meets them.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { artefacts, cuttable, launch, open, PATIENCE, screenshot, shows, start, until } from './harness.mjs';

let demo, browser, page;
const timeout = 3 * PATIENCE;

before(async () => {
  demo = await start('demo', 'corner-stacks', '--servers', '4', '--port', '0');
  browser = await launch();
  page = await open(browser.context, demo.url);
  // The most of each kind that was ever drawn.
  await page.evaluate(() => {
    window.drawn = {};
    const look = () => {
      const counts = window.auramesh?.stage.overlays.counts ?? {};
      for (const [what, count] of Object.entries(counts)) window.drawn[what] = Math.max(window.drawn[what] ?? 0, count);
      requestAnimationFrame(look);
    };
    look();
  });
}, { timeout });

after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** Nothing may go wrong unnoticed. */
function noErrors() {
  assert.deepEqual(page.errors, []);
}

/** The region whose part of the ground has a place; outer regions reach to infinity. */
const regionOf = `(world, [x, , z]) => {
  const { extent } = world;
  const cx = Math.min(extent.maxX - 1e-6, Math.max(extent.minX, x));
  const cz = Math.min(extent.maxZ - 1e-6, Math.max(extent.minZ, z));
  return world.regions.findIndex(({ rect }) => cx >= rect.minX && cx < rect.maxX && cz >= rect.minZ && cz < rect.maxZ);
}`;

test('AP-37, AP-40: the demo loads; bodies of four owners are to be seen in their owners’ colours', { timeout }, async () => {
  await shows(page, 350);
  const seen = await until(page, 'bodies of four owners', () => {
    const app = window.auramesh;
    const owners = new Set(app.scene.list.filter((body) => app.stage.bodies.drawn(body.id)).map((body) => body.owner));
    return owners.size === 4 && [...owners].sort();
  });
  assert.deepEqual(seen, [0, 1, 2, 3]);
  // Not only known but on the screen: for each owner there is a pixel of its hue where one of its bodies is.
  const hues = await until(page, 'pixels of four owners', () => {
    const app = window.auramesh;
    const { canvas, renderer } = app.stage;
    app.stage.draw();
    const gl = renderer.getContext();
    const ratio = gl.drawingBufferWidth / canvas.clientWidth;
    const hue = (r, g, b) => {
      const [max, min] = [Math.max(r, g, b), Math.min(r, g, b)];
      if (max - min < 25) return null;
      const h = max === r ? (g - b) / (max - min) : max === g ? 2 + (b - r) / (max - min) : 4 + (r - g) / (max - min);
      return ((h * 60) + 360) % 360;
    };
    const found = {};
    const pixel = new Uint8Array(4);
    for (const body of app.scene.list) {
      const at = app.stage.project([body.pose.px, body.pose.py, body.pose.pz]);
      if (!at || at.x < 0 || at.y < 0 || at.x >= canvas.clientWidth || at.y >= canvas.clientHeight || found[body.owner]) continue;
      gl.readPixels(Math.round(at.x * ratio), Math.round((canvas.clientHeight - at.y) * ratio), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
      const css = app.stage.bodies.colourOf(body.id);
      const want = hue(...[1, 3, 5].map((i) => parseInt(css.slice(i, i + 2), 16)));
      const have = hue(...pixel);
      if (have === null || want === null) continue;
      const apart = Math.abs(((have - want + 540) % 360) - 180);
      if (apart < 25) found[body.owner] = Math.round(have);
    }
    return Object.keys(found).length === 4 && found;
  });
  assert.equal(Object.keys(hues).length, 4);
  assert.equal(await page.locator('.servers li').count(), 4);
  await until(page, 'the legend to count bodies', () => [...document.querySelectorAll('.servers .bodies')].reduce((sum, e) => sum + parseInt(e.textContent), 0) >= 350);
  await screenshot(page, '1-demo');
  noErrors();
});

test('AP-43: a ball thrown by key appears and belongs to the server of the place where it was thrown', { timeout }, async () => {
  const count = await page.evaluate(() => {
    window.auramesh.measures.lastThrown = null;
    return window.auramesh.scene.list.length;
  });
  await page.locator('.stage').focus();
  await page.keyboard.press('Space');
  const thrown = await until(page, 'the ball', () => {
    const app = window.auramesh;
    const body = app.measures.lastThrown !== null && app.scene.bodies.get(app.measures.lastThrown);
    return body && body.placed && app.stage.bodies.drawn(body.id) && { id: String(body.id), count: app.scene.list.length };
  });
  assert.ok(BigInt(thrown.id) >> 63n, 'a body that a client has spawned');
  assert.ok(thrown.count > count);
  // Thrown at a place that is known, far from borders, four times: each time by the one responsible.
  const owners = await page.evaluate(async (regionOf) => {
    const app = window.auramesh;
    const find = eval(regionOf);
    const results = [];
    for (const [x, z] of [[-30, -30], [30, -30], [-30, 30], [30, 30]]) {
      const answer = await app.live.command({ type: 'spawn', position: [x, 3, z], rotation: [0, 0, 0, 1], velocity: [0, 0, 0], spin: [0, 0, 0], material: { density: 1000, friction: 0.5, restitution: 0 }, swept: false, shape: { type: 'sphere', radius: 0.4 } });
      results.push([answer.type, String(answer.about), find(app.scene.world, [x, 3, z])]);
    }
    return results;
  }, regionOf);
  for (const [type, id, region] of owners) {
    assert.equal(type, 'done');
    const owner = await until(page, `ball ${id}`, (id) => {
      const body = window.auramesh.scene.bodies.get(BigInt(id));
      return body && window.auramesh.stage.bodies.drawn(body.id) && { owner: body.owner };
    }, id);
    assert.equal(owner.owner, region);
  }
  noErrors();
});

test('AP-40: a body that crosses a border changes colour once, without flicker, and is never missing for a frame', { timeout }, async () => {
  // Samples every frame from now on, of this body and of all others. Drawn coarsely, so that a processor draws many frames.
  await page.evaluate(() => {
    const app = window.auramesh;
    app.layers.auras = app.layers.clusters = false;
    app.stage.renderer.setPixelRatio(0.15);
    const sampler = { id: null, samples: [], missing: [], frames: 0, done: false };
    window.sampler = sampler;
    const known = new Set();
    const look = () => {
      if (sampler.done) return;
      sampler.frames++;
      for (const id of known) if (!app.stage.bodies.drawn(id)) sampler.missing.push(String(id));
      for (const other of app.scene.list) if (app.stage.bodies.drawn(other.id)) known.add(other.id);
      const place = sampler.id !== null && app.stage.bodies.drawn(sampler.id);
      if (place || sampler.samples.length) {
        const colour = app.stage.bodies.colourOf(sampler.id);
        sampler.samples.push({ place, owner: app.scene.bodies.get(sampler.id)?.owner, colour, at: performance.now(), frame: app.shownFrame, known: app.shownFrame <= app.scene.frame });
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.evaluate(async () => {
    const app = window.auramesh;
    const answer = await app.live.command({ type: 'spawn', position: [-9, 0.5, 25], rotation: [0, 0, 0, 1], velocity: [4, 0, 0], spin: [0, 0, -8], material: { density: 500, friction: 0.3, restitution: 0 }, swept: false, shape: { type: 'sphere', radius: 0.5 } });
    if (answer.type !== 'done') throw new Error(JSON.stringify(answer));
    window.sampler.id = answer.about;
  });
  await until(page, 'the ball to be owned by the other side', () => {
    const owners = new Set(window.sampler.samples.map((sample) => sample.owner));
    const enough = window.sampler.samples.length >= 30;
    return enough && owners.size > 1 && performance.now() - window.sampler.samples.find((s) => s.owner !== window.sampler.samples[0].owner).at > 1500;
  });
  const { samples, missing, frames } = await page.evaluate(() => {
    window.sampler.done = true;
    window.auramesh.layers.auras = window.auramesh.layers.clusters = true;
    window.auramesh.stage.resize();
    return { ...window.sampler, id: null };
  });
  assert.deepEqual(missing, [], 'of all bodies none was missing in a frame');
  assert.ok(frames >= 30, `${frames} frames`);
  assert.ok(samples.every((sample) => sample.place !== null && sample.colour !== null), 'the ball was there in every frame');
  assert.ok(samples[0].place[0] < 0 && samples.at(-1).place[0] > 0, `from ${samples[0].place} to ${samples.at(-1).place}: over the border`);
  const changes = samples.filter((sample, i) => i > 0 && sample.owner !== samples[i - 1].owner).length;
  assert.ok(changes >= 1 && changes <= 3, `${changes} changes of owner`);
  // Between two frames it goes no farther than a body can: 25 m/s for the time between the two moments shown, and what the stream may be off. (On a
  // machine so busy that updates stay away for longer than ever before, what is shown is a guess until they come.)
  samples.slice(1).forEach((sample, i) => {
    assert.ok(sample.frame >= samples[i].frame, 'time does not go back');
    if (!sample.known || !samples[i].known) return;
    const way = Math.hypot(...sample.place.map((v, axis) => v - samples[i].place[axis]));
    const seconds = (sample.frame - samples[i].frame) / 30;
    assert.ok(way <= 25 * seconds + 0.1, `a jump of ${way} m in ${seconds} s`);
  });
  if (changes === 1) {
    // From the old colour to the new one, never back.
    const parts = (css) => [1, 3, 5].map((i) => parseInt(css.slice(i, i + 2), 16));
    const last = parts(samples.at(-1).colour);
    const apart = samples.map((sample) => Math.hypot(...parts(sample.colour).map((v, i) => v - last[i])));
    assert.ok(apart[0] > 40, 'the colours differ');
    apart.slice(1).forEach((distance, i) => assert.ok(distance <= apart[i] + 3, `flicker: ${apart}`));
  }
  writeFileSync(`${artefacts}crossing.json`, JSON.stringify(samples, null, 1));
  await screenshot(page, '2-crossing');
  noErrors();
});

test('a picked body tells its id, owner, epoch, speed, cluster, sleep and migrations; the camera follows it', { timeout }, async () => {
  // A tall thing in plain view, picked with the mouse where it is on the screen.
  const target = await until(page, 'something to click', () => {
    const app = window.auramesh;
    const { canvas } = app.stage;
    for (const body of app.scene.list) {
      const at = app.stage.project([body.pose.px, body.pose.py, body.pose.pz]);
      if (!at || at.x < 300 || at.y < 80 || at.x > canvas.clientWidth - 320 || at.y > canvas.clientHeight - 120) continue;
      const there = app.stage.pick((at.x / canvas.clientWidth) * 2 - 1, 1 - (at.y / canvas.clientHeight) * 2);
      if (there?.id === body.id) return { id: String(body.id), x: Math.round(at.x), y: Math.round(at.y) };
    }
    return null;
  });
  await page.mouse.click(target.x, target.y);
  await until(page, 'the inspector', () => window.auramesh.picked !== null && !document.querySelector('.inspector').hidden);
  await until(page, 'the exact state', () => {
    const field = (name) => document.querySelector(`[data-field="${name}"]`).textContent;
    return /^region \d, server-\d/.test(field('Owner')) && /^\d+$/.test(field('Epoch')) && /m\/s$/.test(field('Speed')) && field('Cluster') && /awake|asleep|in flight/.test(field('Sleep')) && / mm, /.test(field('Shown vs true'));
  });
  // What is shown is within the stream's tolerance of what is simulated: 1 cm. (Late frames of a busy machine may exceed it for a moment.)
  const off = await until(page, 'a shown pose within tolerance', () => {
    const millimetres = parseFloat(document.querySelector('[data-field="Shown vs true"]').textContent);
    return millimetres <= 11 && { millimetres };
  });
  assert.ok(off.millimetres <= 11);
  await page.keyboard.press('KeyF');
  await until(page, 'the camera to follow', () => {
    const app = window.auramesh;
    const body = app.scene.bodies.get(app.picked);
    const target = app.stage.cameras.orbit.target;
    return body && Math.hypot(target.x - body.pose.px, target.y - body.pose.py, target.z - body.pose.pz) < 0.5;
  });
  await screenshot(page, '3-picked');
  await page.keyboard.press('Escape');
  await until(page, 'nothing picked', () => document.querySelector('.inspector').hidden);
  await page.evaluate(() => window.auramesh.stage.cameras.overview(window.auramesh.scene.world.extent));
  noErrors();
});

test('auras, clusters, pulses and figures come from the servers; charts have numbers where the pointer is', { timeout }, async () => {
  // Whatever has been drawn since the page was opened: things fall asleep after a while, and then there is less to see.
  for (const what of ['auras', 'pulses', 'links']) await until(page, what, (what) => window.drawn[what] > 0, what);
  await until(page, 'four lines of figures', () => {
    const { history } = window.auramesh.insight;
    return history.size === 4 && [...history.values()].every((points) => points.length > 20 && points.at(-1).tickMs > 0);
  });
  for (const i of [0, 1, 2, 3]) {
    const canvas = page.locator('.chart canvas').nth(i);
    await canvas.hover({ position: { x: 250, y: 30 } });
    await until(page, `numbers in chart ${i}`, (i) => {
      const tip = document.querySelectorAll('.chart .tip')[i];
      return !tip.hidden && tip.querySelectorAll('span').length === 4 && /\d/.test(tip.textContent);
    }, i);
  }
  await screenshot(page, '4-charts');
  noErrors();
});

test('AP-41, AP-42, AP-46: shapes are spawned, a stack dropped, scenery placed, rain started and stopped', { timeout }, async () => {
  await page.locator('.stage').focus();
  const count = () => page.evaluate(() => window.auramesh.scene.list.filter((body) => body.id >> 63n).length);
  let bodies = await count();
  for (const key of ['Digit1', 'Digit2', 'Digit3', 'Digit4', 'Digit5']) {
    await page.keyboard.press(key);
    bodies++;
    await until(page, `the body of ${key}`, (n) => window.auramesh.scene.list.filter((body) => body.id >> 63n).length >= n, bodies);
  }
  await page.keyboard.press('KeyK');
  await until(page, 'a stack of 27', (n) => window.auramesh.scene.list.filter((body) => body.id >> 63n).length >= n, bodies + 27);
  const pieces = await page.evaluate(() => window.auramesh.stage.ground.pieceCount);
  await page.getByRole('button', { name: 'Scenery' }).click();
  await page.getByRole('button', { name: 'ramp' }).click();
  await until(page, 'the ramp', (n) => window.auramesh.stage.ground.pieceCount > n, pieces);
  const before = await page.evaluate(() => window.auramesh.scene.list.length);
  await page.getByRole('button', { name: 'Rain' }).click();
  await page.getByRole('spinbutton', { name: 'Seconds' }).fill('120');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await until(page, 'rain', (n) => window.auramesh.scene.list.length > n + 20, before);
  await page.getByRole('button', { name: 'Stop all' }).click();
  // It ends: no more than what was announced already still falls.
  await until(page, 'the rain to end', () => {
    const app = window.auramesh;
    const now = performance.now();
    if (window.rained !== app.scene.list.length) [window.rained, window.rainedAt] = [app.scene.list.length, now];
    return now - window.rainedAt > 2500;
  });
  await page.keyboard.press('Escape');
  await screenshot(page, '5-things');
  noErrors();
});

test('the emulated network is set and every viewer hears of it', { timeout }, async () => {
  await page.getByRole('button', { name: 'Network' }).click();
  await page.getByRole('slider', { name: 'Delay' }).fill('5');
  await page.getByRole('slider', { name: 'Loss' }).fill('2');
  await page.getByRole('button', { name: 'Apply' }).click();
  await until(page, 'the network to be worse', () => window.auramesh.scene.features.network.latencyMs === 5 && window.auramesh.scene.features.network.loss > 0.019);
  await page.getByRole('button', { name: 'None' }).click();
  await until(page, 'the network to be good again', () => window.auramesh.scene.features.network.latencyMs === 0);
  await page.keyboard.press('Escape');
  noErrors();
});

test('AP-45: borders are drawn with the mouse and applied', { timeout }, async () => {
  await page.keyboard.press('KeyB');
  await until(page, 'the editor', () => !document.querySelector('.borders').hidden);
  // Across the middle from top to bottom, then the right half from left to right.
  const point = (x, z) => page.evaluate(([x, z]) => window.auramesh.stage.project([x, 0, z]), [x, z]);
  const drag = async (from, to) => {
    const [a, b] = [await point(...from), await point(...to)];
    await page.mouse.move(a.x, a.y);
    await page.mouse.down();
    await page.mouse.move((a.x + b.x) / 2, (a.y + b.y) / 2, { steps: 3 });
    await page.mouse.move(b.x, b.y, { steps: 3 });
    await page.mouse.up();
  };
  await until(page, 'a view from above', () => window.auramesh.stage.cameras.camera.position.y > 60);
  await drag([-6, -30], [-6, 30]);
  await until(page, 'two regions drawn', () => document.querySelectorAll('.plan li').length === 2);
  await drag([0, 10], [20, 10]);
  await until(page, 'three regions drawn', () => document.querySelectorAll('.plan li').length === 3);
  await screenshot(page, '8-borders');
  const generation = await page.evaluate(() => window.auramesh.scene.world.generation);
  await page.getByRole('button', { name: 'Apply' }).click();
  const world = await until(page, 'the new regions', (generation) => {
    const { world } = window.auramesh.scene;
    return world.generation > generation && world.start > 0n && world.regions.map((region) => region.rect);
  }, generation);
  assert.equal(world.length, 3);
  assert.ok(world.some((rect) => Math.abs(rect.maxX + 6) <= 1), JSON.stringify(world));
  await shows(page, 300);
  noErrors();
});

test('AP-44: reset and scene switch keep the connection', { timeout }, async () => {
  const session = await page.evaluate(() => String(window.auramesh.scene.welcome.session));
  const generation = await page.evaluate(() => window.auramesh.scene.world.generation);
  await page.locator('.stage').focus();
  await page.keyboard.press('KeyR');
  await until(page, 'a reset world', (generation) => window.auramesh.scene.world.generation > generation && window.auramesh.scene.list.length >= 300, generation);
  assert.equal(await page.evaluate(() => window.auramesh.scene.list.some((body) => body.id >> 63n)), false, 'what players have spawned is gone');
  await page.locator('.scenes').selectOption('playground');
  await until(page, 'the other scene', () => window.auramesh.scene.world.name === 'playground' && window.auramesh.scene.list.length > 0 && window.auramesh.scene.world.start > 0n);
  await shows(page, 80);
  assert.equal(await page.evaluate(() => String(window.auramesh.scene.welcome.session)), session);
  await screenshot(page, '9-playground');
  noErrors();
});

test('a dropped connection is told, and comes back by itself', { timeout }, async () => {
  const wire = await cuttable(demo.url);
  const other = await open(browser.context, wire.url);
  try {
    await shows(other);
    wire.cut();
    await until(other, 'the banner', () => !document.querySelector('.banner').hidden && /lost|does not answer/.test(document.querySelector('.banner').textContent));
    await screenshot(other, '10-dropped');
    const frame = await other.evaluate(() => window.auramesh.scene.frame);
    wire.mend();
    await until(other, 'the world again', (frame) => document.querySelector('.banner').hidden && window.auramesh.scene.frame > frame && document.querySelector('.status').dataset.state === 'open', frame);
    await shows(other);
    // Chromium itself writes a line for each connection that fails; there is nothing else.
    assert.deepEqual(other.errors.filter((text) => !/WebSocket connection to .* failed|ERR_/.test(text)), []);
  } finally {
    await other.close();
    await wire.close();
  }
});

test('on a phone: everything fits, a ball is thrown by touch, panels open as sheets', { timeout }, async () => {
  const pocket = await launch({ viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
  try {
    const phone = await open(pocket.context, demo.url);
    await shows(phone);
    assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing sticks out');
    const button = phone.getByRole('button', { name: 'Throw' });
    const { width, height } = await button.boundingBox();
    assert.ok(width >= 40 && height >= 40, 'large enough for a finger');
    await button.tap();
    await until(phone, 'the ball', () => {
      const app = window.auramesh;
      return app.measures.lastThrown !== null && app.stage.bodies.drawn(app.measures.lastThrown) !== null;
    });
    await screenshot(phone, '11-phone');
    await phone.getByRole('button', { name: 'Servers' }).tap();
    await until(phone, 'the sheet', () => document.querySelector('.left').getBoundingClientRect().height > 100);
    await screenshot(phone, '12-phone-servers');
    assert.deepEqual(phone.errors, []);
  } finally {
    await pocket.close();
  }
});

test('by keyboard alone: every tool can be reached and seen to have the focus', { timeout }, async () => {
  const other = await open(browser.context, demo.url);
  try {
    await shows(other);
    const reached = new Set();
    for (let i = 0; i < 60; i++) {
      await other.keyboard.press('Tab');
      const focus = await other.evaluate(() => {
        const element = document.activeElement;
        // Between the last and the first there is the page itself.
        if (element === document.body) return null;
        const style = getComputedStyle(element);
        const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
        return { name: element.textContent.trim() || element.getAttribute('aria-label') || element.name || element.tagName, seen };
      });
      if (!focus) continue;
      assert.ok(focus.seen, `${focus.name} has no visible focus`);
      reached.add(focus.name);
    }
    for (const name of ['Throw', 'Spawn', 'Stack', 'Scenery', 'Rain', 'Borders', 'Reset', 'Network', 'Help', 'auras']) assert.ok(reached.has(name), `${name} is not reached: ${[...reached]}`);
    await other.keyboard.press('Escape');
    await other.locator('.stage').focus();
    await other.keyboard.press('KeyC');
    assert.equal(await other.evaluate(() => window.auramesh.stage.cameras.mode), 'fly');
    const height = () => other.evaluate(() => window.auramesh.stage.cameras.camera.position.y);
    const from = await height();
    await other.keyboard.down('KeyE');
    await until(other, 'to rise', (from) => window.auramesh.stage.cameras.camera.position.y > from + 0.5, from);
    await other.keyboard.up('KeyE');
    await other.keyboard.press('KeyH');
    await until(other, 'help', () => document.querySelector('dialog.help').open);
    await screenshot(other, '13-help');
    assert.deepEqual(other.errors, []);
  } finally {
    await other.close();
  }
});

test('a killed server shows as dead, then recovering or replaced, then all bodies are there again', { timeout }, async () => {
  await until(page, 'all regions to run', () => {
    const rows = [...document.querySelectorAll('.servers li')];
    return rows.length > 1 && window.auramesh.insight.health.size === rows.length && rows.every((row) => row.dataset.state === 'running');
  });
  const before = await page.evaluate(() => {
    const app = window.auramesh;
    window.states = [];
    const look = () => {
      const row = document.querySelector('.servers li[data-region="1"]');
      if (row && window.states.at(-1) !== row.dataset.state) window.states.push(row.dataset.state);
      window.watching = requestAnimationFrame(look);
    };
    look();
    return { bodies: app.scene.list.length, term: app.insight.health.get(1).term, session: String(app.scene.welcome.session) };
  });
  await page.locator('.servers li[data-region="1"] .kill').click();
  await until(page, 'the dead server to show', () => window.states.some((state) => ['silent', 'abandoned', 'recovering', 'moving'].includes(state)));
  await screenshot(page, '6-killed');
  await until(page, 'the region to run again', (term) => {
    const health = window.auramesh.insight.health.get(1);
    return health.term > term && health.state === 'running' && document.querySelector('.servers li[data-region="1"]').dataset.state === 'running';
  }, before.term);
  await until(page, 'all bodies', (bodies) => window.auramesh.scene.list.length >= bodies, before.bodies);
  const now = await page.evaluate(() => {
    cancelAnimationFrame(window.watching);
    return { states: window.states, session: String(window.auramesh.scene.welcome.session), toasts: document.querySelector('.toasts').textContent };
  });
  assert.equal(now.session, before.session, 'the connection stayed');
  console.log(`states of the killed server's region: ${now.states.join(' → ')}`);
  await screenshot(page, '7-recovered');
  noErrors();
});
