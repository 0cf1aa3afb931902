// What every end-to-end test needs: the built program's processes, a real Chromium, pages that tell of errors.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { program } from './stream.mjs';

/** Generous: machines that run tests are busy. */
export const PATIENCE = Number(process.env.AURAMESH_PATIENCE_MS ?? 90_000);
export const artefacts = fileURLToPath(new URL('./artefacts/', import.meta.url));
mkdirSync(artefacts, { recursive: true });

/** Starts `auramesh …` and waits until it prints an address alone on a line. */
export async function start(...args) {
  const child = spawn(program(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stderr.on('data', (data) => (err += data));
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no address after ${PATIENCE} ms: ${out}${err}`)), PATIENCE);
    child.stdout.on('data', (data) => {
      out += data;
      const found = /^(http:\S+)\s*$/m.exec(out);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[1]);
    });
    void ended.then(() => reject(new Error(`auramesh ${args.join(' ')} ended: ${out}${err}`)));
  });
  const stop = async () => {
    child.kill('SIGINT');
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(timer);
  };
  return { url, stop, child, output: () => out + err };
}

/** Runs `auramesh …` to its end. */
export async function run(...args) {
  const child = spawn(program(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (out += data));
  const code = await new Promise((resolve) => child.on('exit', resolve));
  assert.equal(code, 0, out);
  return out;
}

/** Debian's Chromium (or $CHROMIUM) with software GL and an empty profile of its own; `options` as of Playwright's contexts. */
export async function launch(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'auramesh-e2e-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    viewport: { width: 960, height: 600 },
    ...options,
    args: [
      '--no-sandbox',
      '--use-gl=angle',
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
    ],
  });
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  return { context, close };
}

/** A page that remembers what went wrong in it. */
export async function open(context, url, { quality = 'low', ...viewport } = {}) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  if (viewport.width) await page.setViewportSize(viewport);
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error.stack ?? error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || (message.type() === 'warning' && !/GPU stall|GL Driver|swiftshader/i.test(message.text()))) errors.push(message.text());
  });
  page.errors = errors;
  const address = new URL(url);
  address.searchParams.set('quality', quality);
  await page.goto(address.href);
  return page;
}

/** Waits until a function in the page returns something true, and returns it. */
export async function until(page, what, test, argument, timeout = PATIENCE) {
  try {
    const handle = await page.waitForFunction(test, argument, { timeout, polling: 100 });
    return await handle.jsonValue();
  } catch (error) {
    await screenshot(page, `failed-${what}`).catch(() => {});
    throw new Error(`waited in vain: ${what} (${String(error.message ?? error).split('\n')[0]})`);
  }
}

export async function screenshot(page, name) {
  await page.screenshot({ path: `${artefacts}${name.replace(/[^\w-]+/g, '-')}.png`, timeout: PATIENCE });
}

/** The page shows a world with bodies that have places. */
export function shows(page, least = 1) {
  return until(page, `a world with ${least} bodies`, (least) => {
    const app = window.auramesh;
    const list = app?.scene?.list ?? [];
    return list.length >= least && list.filter((body) => app.stage.bodies.drawn(body.id)).length >= least;
  }, least);
}

/** A wire that can be cut: forwards to a port, drops everything on demand. */
export async function cuttable(url) {
  const target = new URL(url);
  const sockets = new Set();
  let cut = false;
  const server = createServer((here) => {
    if (cut) return here.destroy();
    const there = connect(Number(target.port), target.hostname);
    sockets.add(here);
    for (const [a, b] of [
      [here, there],
      [there, here],
    ]) {
      a.pipe(b);
      a.on('error', () => b.destroy());
      a.on('close', () => {
        b.destroy();
        sockets.delete(here);
      });
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    cut: () => {
      cut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => (cut = false),
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
