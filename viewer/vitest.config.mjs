import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  cacheDir: here('node_modules/.vite'),
  resolve: { alias: { '@auramesh/client': here('client/src/index.ts') } },
  test: { include: ['client/test/**/*.test.ts', 'test/**/*.test.ts'], testTimeout: 30_000 },
});
