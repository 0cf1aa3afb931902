// 5,000 moving bodies: the script's share of a frame stays below 8 ms; drawing by software is reported and not counted.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { launch, open, PATIENCE, screenshot, shows, start } from './harness.mjs';
import { streamFile } from './stream.mjs';

const BODIES = 5000;
const SECONDS = 8;
const BAR_MS = 8;
const FRAME_MS = 1000 / 30;

/** A gateway that sends a file's messages in real time; the world's time began when the socket was opened. */
function gateway(context, messages) {
  return context.routeWebSocket(/\/ws$/, (socket) => {
    const opened = performance.now();
    const now = () => 10n ** 18n + BigInt(Math.round((performance.now() - opened) * 1e6));
    const [opening, updates] = [messages.filter((m) => m[0] !== 0x85), messages.filter((m) => m[0] === 0x85)];
    let [next, timer] = [0, null];
    const tick = () => {
      while (next < updates.length && performance.now() - opened >= next * FRAME_MS) socket.send(updates[next++]);
    };
    socket.onMessage((message) => {
      const bytes = Buffer.from(message);
      if (bytes[0] === 0x01) {
        for (const first of opening) socket.send(first);
        timer = setInterval(tick, 5);
      } else if (bytes[0] === 0x03) {
        const pong = Buffer.alloc(25);
        pong[0] = 0x86;
        bytes.copy(pong, 1, 1, 9);
        pong.writeBigUInt64LE(now(), 9);
        pong.writeBigUInt64LE(now(), 17);
        socket.send(pong);
      }
    });
    socket.onClose(() => clearInterval(timer));
  });
}

test('5,000 moving bodies cost the main thread less than 8 ms of script per frame', { timeout: 4 * PATIENCE }, async () => {
  const bytes = readFileSync(streamFile(BODIES, SECONDS));
  const messages = [];
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32LE(at)) messages.push(bytes.subarray(at + 4, at + 4 + bytes.readUInt32LE(at)));
  const browser = await launch();
  try {
    await gateway(browser.context, messages);
    // The page comes from a program that ends then: nothing else is to run while this is measured.
    const demo = await start('demo', 'head-on', '--servers', '2', '--port', '0');
    const page = await open(browser.context, demo.url, { width: 480, height: 300 });
    await demo.stop();
    await shows(page, BODIES);
    const measured = await page.evaluate(async (need) => {
      const app = window.auramesh;
      app.stage.setQuality('low');
      app.stage.renderer.setPixelRatio(0.2);
      // Frames while updates come, as many as a processor draws meanwhile.
      const { frames } = app.measures;
      const from = frames.length;
      const updated = () => app.measures.messages.get('update') ?? 0;
      const [first, end] = [updated(), 8 * 30];
      while (frames.length - from < need && updated() < end - 1) await new Promise(requestAnimationFrame);
      const seen = frames.slice(from);
      const of = (pick) => seen.map(pick).sort((a, b) => a - b);
      const at = (list, share) => list[Math.min(list.length - 1, Math.floor(list.length * share))];
      // When a processor draws, several updates come per frame; a frame that keeps up takes one at most, 30 times a second.
      const script = of((f) => f.handle / Math.max(1, f.updates) + f.prepare + f.panels);
      const median = (phase) => at(of((f) => f[phase]), 0.5);
      const moved = app.scene.list.filter((body) => Math.hypot(body.pose.px, body.pose.pz) > 0).length;
      return { frames: seen.length, updates: updated() - first, script: at(script, 0.5), worst: at(script, 0.95), handle: at(of((f) => f.handle / Math.max(1, f.updates)), 0.5), prepare: median('prepare'), panels: median('panels'), draw: median('draw'), moved };
    }, 120);
    console.log(
      `${BODIES} moving bodies, ${measured.frames} frames: script ${measured.script.toFixed(2)} ms per frame (median; 95 %: ${measured.worst.toFixed(2)} ms) ` +
        `= one update ${measured.handle.toFixed(2)} + poses and matrices ${measured.prepare.toFixed(2)} + panels ${measured.panels.toFixed(2)}; ` +
        `software GL, not counted: ${measured.draw.toFixed(1)} ms`,
    );
    await screenshot(page, 'performance');
    assert.deepEqual(page.errors, []);
    assert.equal(measured.moved, BODIES);
    assert.ok(measured.frames >= 5, `only ${measured.frames} frames`);
    assert.ok(measured.script < BAR_MS, `${measured.script} ms`);
  } finally {
    await browser.close();
  }
});
