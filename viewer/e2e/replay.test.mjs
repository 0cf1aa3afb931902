// A recording plays, pauses, steps and scrubs in the viewer.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { launch, open, PATIENCE, run, screenshot, shows, start, until } from './harness.mjs';

test('a recorded run plays, pauses, single-steps and scrubs', { timeout: 4 * PATIENCE }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'auramesh-recording-'));
  const file = join(directory, 'corner.aurarec');
  await run('record', 'corner-stacks', '--servers', '4', '--seconds', '8', '--pick', '1', '--out', file);
  const replay = await start('replay', file, '--port', '0');
  const browser = await launch();
  try {
    const page = await open(browser.context, replay.url);
    await shows(page, 300);
    await until(page, 'it to play', () => window.auramesh.timeline.playing && parseFloat(document.querySelector('.timeline output').textContent) > 0.3);
    assert.equal(await page.locator('.tools button').count(), 0, 'a recording has nothing to command');
    await page.locator('.stage').focus();
    await page.keyboard.press('KeyP');
    await until(page, 'it to pause', () => !window.auramesh.timeline.playing);
    const at = (ms) =>
      page.evaluate(async (ms) => {
        const app = window.auramesh;
        app.timeline.playing = false;
        app.timeline.seek(ms);
        // Two frames: the seek happens in the first.
        for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
        const poses = app.scene.list.map((body) => [String(body.id), body.owner, ...(app.stage.bodies.drawn(body.id) ?? [])]);
        return { frame: app.shownFrame, bodies: poses.length, poses: poses.sort((a, b) => (a[0] < b[0] ? -1 : 1)) };
      }, ms);
    // There and back again: the same moment is the same picture, whichever way one came.
    const [early, late, back, again] = [await at(1500), await at(7000), await at(1500), await at(7000)];
    assert.ok(late.bodies > early.bodies, `${early.bodies}, later ${late.bodies}: bodies were injected meanwhile`);
    assert.deepEqual(back, early);
    assert.deepEqual(again, late);
    assert.ok(late.poses.every((pose) => pose.length === 5), 'every body is drawn');
    // One tick is half a frame of the stream.
    await page.locator('.stage').focus();
    const frame = await page.evaluate(() => window.auramesh.shownFrame);
    await page.keyboard.press('ArrowRight');
    const stepped = await until(page, 'one step', (frame) => window.auramesh.shownFrame > frame && { frame: window.auramesh.shownFrame }, frame);
    assert.ok(Math.abs(stepped.frame - frame - 0.5) < 0.26, `${frame} → ${stepped.frame}`);
    await page.keyboard.press('ArrowLeft');
    await until(page, 'one step back', (frame) => window.auramesh.shownFrame < frame, stepped.frame);
    // Who follows a body goes on following it when time goes back; one that was not there then is let go.
    const follow = (id) =>
      page.evaluate((id) => {
        window.auramesh.pick(BigInt(id));
        window.auramesh.follow(true);
      }, id);
    const followed = () => page.evaluate(() => [String(window.auramesh.picked), window.auramesh.following]);
    const lasting = early.poses[0][0];
    const newcomer = late.poses.find(([id]) => !early.poses.some(([earlier]) => earlier === id))[0];
    for (const [id, expected] of [[lasting, [lasting, true]], [newcomer, ['null', false]]]) {
      await at(7000);
      await follow(id);
      await at(1500);
      assert.deepEqual(await followed(), expected);
    }
    // Going to and fro leaves nothing behind on the graphics card.
    const held = () => page.evaluate(() => ({ ...window.auramesh.stage.renderer.info.memory }));
    await at(7000);
    const first = await held();
    for (let i = 0; i < 10; i++) await at(i % 2 ? 7000 : 1500);
    const then = await held();
    assert.ok(then.geometries <= first.geometries + 5 && then.textures <= first.textures + 5, `${JSON.stringify(first)} → ${JSON.stringify(then)}`);
    await page.keyboard.press('Escape');
    // The slider scrubs, by mouse.
    const box = await page.locator('.track input').boundingBox();
    await page.mouse.click(box.x + box.width * 0.5, box.y + box.height / 2);
    await until(page, 'the middle', () => Math.abs(parseFloat(document.querySelector('.timeline output').textContent) - 4) < 0.6);
    // And the keys go on working then.
    const middle = await page.evaluate(() => window.auramesh.timeline.now);
    await page.keyboard.press('ArrowRight');
    await until(page, 'a step after scrubbing', (middle) => window.auramesh.timeline.now > middle && window.auramesh.timeline.now < middle + 100, middle);
    await page.keyboard.press('KeyP');
    await until(page, 'it to play', () => window.auramesh.timeline.playing);
    await page.keyboard.press('KeyP');
    await until(page, 'auras, charts and migrations of the recording', () => {
      const { insight, stage } = window.auramesh;
      return stage.overlays.counts.auras > 0 && insight.history.size === 4 && insight.migrations > 0;
    });
    await screenshot(page, '30-recording');
    assert.deepEqual(page.errors, []);
  } finally {
    await browser.close();
    await replay.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});

test('what is no recording is told', { timeout: 2 * PATIENCE }, async () => {
  const demo = await start('demo', 'head-on', '--servers', '2', '--port', '0');
  const browser = await launch();
  try {
    const page = await open(browser.context, `${demo.url}?recording=/index.html`);
    await until(page, 'the message', () => /no Auramesh recording/.test(document.querySelector('.banner').textContent));
  } finally {
    await browser.close();
    await demo.stop();
  }
});

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

/** The same recording twice in one file: two tracks, as two places would see it. Its end is missing, as if the recorder had been killed. */
function twice(bytes) {
  const crc = (...parts) => ~parts.reduce((crc, part) => part.reduce((c, byte) => CRC[(c ^ byte) & 255] ^ (c >>> 8), crc), ~0) >>> 0;
  let at = 14 + bytes.readUInt32LE(10);
  const out = [bytes.subarray(0, at)];
  while (at + 19 <= bytes.length && bytes[at] !== 4) {
    const length = bytes.readUInt32LE(at + 11);
    const content = bytes.subarray(at + 19, at + 19 + length);
    for (const track of [0, 1]) {
      const head = Buffer.from(bytes.subarray(at, at + 19));
      head.writeUInt16LE(track, 1);
      head.writeUInt32LE(crc(head.subarray(0, 15), content), 15);
      out.push(head, content);
    }
    at += 19 + length;
  }
  return Buffer.concat(out);
}

test('several tracks stand next to each other and share the time; a file that was cut off plays', { timeout: 4 * PATIENCE }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'auramesh-recording-'));
  const [one, two] = [join(directory, 'one.aurarec'), join(directory, 'two.aurarec')];
  await run('record', 'head-on', '--servers', '2', '--seconds', '3', '--out', one);
  writeFileSync(two, twice(readFileSync(one)));
  const replay = await start('replay', two, '--port', '0');
  const browser = await launch();
  try {
    const page = await open(browser.context, replay.url);
    await until(page, 'two frames with bodies', () => {
      const frames = [...document.querySelectorAll('.side-by-side iframe')];
      return frames.length === 2 && frames.every((frame) => frame.contentWindow.auramesh?.scene?.list.length >= 2);
    });
    await page.evaluate(() => {
      window.auramesh.timeline.playing = false;
      window.auramesh.timeline.seek(1000);
    });
    await until(page, 'the same time everywhere', () => {
      const frames = [...document.querySelectorAll('.side-by-side iframe')].map((frame) => frame.contentWindow.auramesh);
      return frames.every((app) => Math.abs(app.timeline.now - 1000) < 1 && Math.abs(app.shownFrame - window.auramesh.shownFrame) < 0.01);
    });
    await until(page, 'the note about the missing end', () => /missing/.test(document.querySelector('.timeline .note').textContent));
    await screenshot(page, '31-side-by-side');
    assert.deepEqual(page.errors, []);
  } finally {
    await browser.close();
    await replay.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});

test('both sides of a duel stand next to each other, with a note at every hit', { timeout: 4 * PATIENCE }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'auramesh-recording-'));
  const file = join(directory, 'duel.aurarec');
  const told = JSON.parse(await run('duel', '--seconds', '6', '--net', 'latency_ms=80,jitter_ms=8,loss=0.1', '--json', '--record', file));
  assert.ok(told.sides[0].hits > 0, JSON.stringify(told));
  const replay = await start('replay', file, '--port', '0');
  const browser = await launch();
  try {
    const page = await open(browser.context, replay.url);
    await until(page, 'two frames with two avatars each', () => {
      const frames = [...document.querySelectorAll('.side-by-side iframe')];
      return frames.length === 2 && frames.every((frame) => frame.contentWindow.auramesh?.scene?.list.length === 2);
    });
    await page.evaluate(() => {
      window.auramesh.timeline.playing = false;
      window.auramesh.timeline.seek(2000);
    });
    await until(page, 'the same time everywhere', () => {
      const frames = [...document.querySelectorAll('.side-by-side iframe')].map((frame) => frame.contentWindow.auramesh);
      return frames.every((app) => Math.abs(app.timeline.now - 2000) < 1);
    });
    await screenshot(page, '32-duel');
    assert.deepEqual(page.errors, []);
  } finally {
    await browser.close();
    await replay.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
