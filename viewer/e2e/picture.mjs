// The README's picture: `npm run picture`. A recorded run of a built-in scene with a fixed seed at a fixed time, so that the same picture comes again.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open, run, shows, start, until } from './harness.mjs';
import { repository } from './stream.mjs';

const AT_MS = 6400;
const directory = mkdtempSync(join(tmpdir(), 'auramesh-picture-'));
const file = join(directory, 'corner-stacks.aurarec');
mkdirSync(`${repository}docs/pictures`, { recursive: true });
await run('record', 'corner-stacks', '--servers', '4', '--seed', '7', '--seconds', '8', '--out', file);
const replay = await start('replay', file, '--port', '0');
const browser = await launch();
try {
  const page = await open(browser.context, replay.url, { quality: 'high', width: 1280, height: 720 });
  await shows(page, 300);
  await page.evaluate(
    (at) => {
      const app = window.auramesh;
      const { cameras } = app.stage;
      cameras.camera.position.set(21, 17, 30);
      cameras.orbit.target.set(0, 2.5, 1);
      cameras.orbit.update();
      // Played up to the moment, so that charts and pulses are those of the seconds before.
      app.timeline.playing = false;
      let time = 0;
      window.ready = false;
      const step = () => {
        time = Math.min(at, time + 50);
        app.timeline.seek(time);
        if (time < at) setTimeout(step, 30);
        else window.ready = true;
      };
      step();
    },
    AT_MS,
  );
  await until(page, 'the moment', () => window.ready);
  await page.evaluate(async () => {
    const app = window.auramesh;
    // Something to look at closely: a body near the corner that is about to be shared.
    const near = [...app.insight.clusterOf.keys()].map((id) => app.scene.bodies.get(id)).filter(Boolean);
    near.sort((a, b) => Math.hypot(a.pose.px - 6, a.pose.pz - 8) - Math.hypot(b.pose.px - 6, b.pose.pz - 8));
    if (near[0]) app.pick(near[0].id);
    for (let i = 0; i < 6; i++) await new Promise(requestAnimationFrame);
  });
  await page.screenshot({ path: `${repository}docs/pictures/viewer.png`, timeout: 120_000 });
  console.log('docs/pictures/viewer.png');
} finally {
  await browser.close();
  await replay.stop();
  rmSync(directory, { recursive: true, force: true });
}
