// Who may only look can change nothing: the page has no controls, and the server refuses whatever a page might send.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { launch, open, PATIENCE, screenshot, shows, start, until } from './harness.mjs';

test('a viewer with the role view changes nothing', { timeout: 4 * PATIENCE }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'auramesh-tokens-'));
  const tokens = join(directory, 'tokens');
  writeFileSync(tokens, 'only-looking view\nallowed-to-play play\nmay-do-anything admin\n');
  const demo = await start('demo', 'islands', '--servers', '4', '--port', '0', '--tokens-file', tokens);
  const browser = await launch();
  try {
    // Without a token there is a question, not a world; a wrong one does not help.
    const stranger = await open(browser.context, demo.url);
    await until(stranger, 'the question for a token', () => document.querySelector('.banner input[type=password]'));
    assert.equal(await stranger.evaluate(() => window.auramesh.scene.list.length), 0);
    await screenshot(stranger, '20-token');
    await stranger.getByPlaceholder('Token').fill('only-looking');
    await stranger.keyboard.press('Enter');
    await shows(stranger);
    await stranger.close();

    const page = await open(browser.context, `${demo.url}#token=only-looking`);
    await shows(page);
    assert.equal(await page.evaluate(() => location.hash), '', 'the token does not stay in the address');
    const controls = await page.evaluate(() => ({
      role: document.body.dataset.role,
      tools: document.querySelectorAll('.tools button').length,
      kill: [...document.querySelectorAll('.kill')].filter((button) => !button.hidden).length,
      scenes: !document.querySelector('.scenes').hidden,
      push: [...document.querySelectorAll('.inspector .buttons button')].filter((button) => !button.hidden).map((button) => button.textContent),
    }));
    assert.deepEqual(controls, { role: 'view', tools: 0, kill: 0, scenes: false, push: ['Follow'] });
    const state = () => page.evaluate(() => ({ generation: window.auramesh.scene.world.generation, spawned: window.auramesh.scene.list.filter((body) => body.id >> 63n).length, pieces: window.auramesh.stage.ground.pieceCount, regions: window.auramesh.scene.world.regions.length }));
    const before = await state();
    // Every key that does something elsewhere, and double clicks.
    await page.locator('.stage').focus();
    const sent = await page.evaluate(() => {
      window.sent = 0;
      const connection = window.auramesh.live;
      const command = connection.command.bind(connection);
      connection.command = (c) => {
        window.sent++;
        return command(c);
      };
      return window.sent;
    });
    assert.equal(sent, 0);
    for (const key of ['Space', 'Digit1', 'Digit5', 'KeyK', 'KeyL', 'KeyI', 'KeyB', 'KeyR', 'KeyN', 'KeyU', 'Delete']) await page.keyboard.press(key);
    await page.locator('.stage').dblclick({ position: { x: 480, y: 300 } });
    assert.equal(await page.evaluate(() => window.sent), 0, 'the page asks for nothing');
    // And if a page did ask: refused by the server, all of it.
    const answers = await page.evaluate(async () => {
      const material = { density: 1000, friction: 0.5, restitution: 0 };
      const [position, rotation, still] = [[0, 5, 0], [0, 0, 0, 1], [0, 0, 0]];
      const shape = { type: 'sphere', radius: 0.5 };
      const body = window.auramesh.scene.list[0].id;
      const commands = [
        { type: 'spawn', position, rotation, velocity: still, spin: still, material, swept: false, shape },
        { type: 'impulse', body, impulse: [0, 99, 0] },
        { type: 'velocity', body, velocity: [0, 9, 0] },
        { type: 'remove', body },
        { type: 'reset' },
        { type: 'switch-scene', name: 'orbit' },
        { type: 'define-regions', layout: 'columns', count: 2 },
        { type: 'inject', min: [0, 5, 0], max: [1, 6, 1], rate: 5, seconds: 5, velocityMin: still, velocityMax: still, shapes: [shape] },
        { type: 'put-up', position, rotation, material, shape },
        { type: 'kill-server', server: window.auramesh.scene.world.regions[0].server },
        { type: 'set-network', latencyMs: 50, jitterMs: 0, loss: 0 },
        { type: 'stop-injections' },
      ];
      return Promise.all(commands.map(async (command) => [command.type, (await window.auramesh.live.command(command)).type]));
    });
    for (const [command, answer] of answers) assert.equal(answer, 'forbidden', command);
    assert.deepEqual(await state(), before);
    await screenshot(page, '21-view-role');
    assert.deepEqual(page.errors, []);

    // Who may play has some tools and no others.
    const player = await open(browser.context, `${demo.url}#token=allowed-to-play`);
    await shows(player);
    await until(player, 'three tools', () => document.querySelectorAll('.tools button').length === 3 && document.body.dataset.role === 'play');
    await player.close();
  } finally {
    await browser.close();
    await demo.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
