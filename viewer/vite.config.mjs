import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const gateway = process.env.AURAMESH_GATEWAY ?? 'http://127.0.0.1:8080';
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// The build of crates/viewer-page says where to write; `npm run dev` talks to a gateway of `auramesh demo`.
export default defineConfig({
  root: here('.'),
  base: './',
  cacheDir: here('node_modules/.vite'),
  resolve: { alias: { '@auramesh/client': here('client/src/index.ts') } },
  build: {
    outDir: process.env.AURAMESH_VIEWER_OUT ?? here('dist'),
    emptyOutDir: true,
    target: 'es2022',
    chunkSizeWarningLimit: 1200,
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      // A gateway lets in its own pages only, so this says that we are one.
      '/ws': { target: gateway, ws: true, changeOrigin: true, configure: (proxy) => proxy.on('proxyReqWs', (request) => request.setHeader('origin', gateway)) },
      '/recordings': { target: gateway },
    },
  },
});
