// The README's picture: `npm run picture`. A recorded run of a built-in scene with a fixed seed at a fixed time, so that the same picture comes again.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open, run, shows, start } from './harness.mjs';
import { repository } from './stream.mjs';

const AT_MS = Number(process.argv[2] ?? 13_000);
const PICKED = Array.from({ length: 16 }, (_, i) => i * 5 + 1).join();
const directory = mkdtempSync(join(tmpdir(), 'auramesh-picture-'));
const file = join(directory, 'playground.aurarec');
mkdirSync(`${repository}docs/pictures`, { recursive: true });
await run('record', 'playground', '--servers', '4', '--seed', '31', '--seconds', '14', '--out', file, '--pick', PICKED);
const replay = await start('replay', file, '--port', '0');
const browser = await launch();
try {
  const page = await open(browser.context, replay.url, { quality: 'high', width: 1280, height: 720 });
  await shows(page, 80);
  await page.evaluate(async (at) => {
    const app = window.auramesh;
    const { camera, orbit } = app.stage.cameras;
    camera.position.set(10, 13, 19);
    orbit.target.set(0, 0, 0.5);
    orbit.update();
    app.timeline.playing = false;
    const to = (time) => {
      app.timeline.seek(time);
      app.timeline.advance(0);
    };
    // Told without being drawn up to a second before; that second in its own time, so that pulses are of their age.
    const draw = app.stage.draw;
    app.stage.draw = () => {};
    for (let time = 0; time <= at - 1000; time += 100) to(time);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    for (let time = at - 1000; time <= at; time += 50) {
      to(time);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // One whose exact state was recorded, in the middle of the picture.
    const near = [...app.insight.truths.keys()].map((id) => app.scene.bodies.get(id)).filter(Boolean);
    near.sort((a, b) => Math.hypot(a.pose.px - 2, a.pose.pz - 4) - Math.hypot(b.pose.px - 2, b.pose.pz - 4));
    if (near[0]) app.pick(near[0].id);
    app.stage.draw = draw;
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
  }, AT_MS);
  await page.screenshot({ path: `${repository}docs/pictures/viewer.png`, timeout: 120_000 });
  console.log('docs/pictures/viewer.png');
} finally {
  await browser.close();
  await replay.stop();
  rmSync(directory, { recursive: true, force: true });
}
