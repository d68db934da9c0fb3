// Builds the console (src/console) into a folder of dist/. Its types are checked by `npm run check`, not here: a start
// must not wait for it.
import { join } from 'node:path'
import { build } from 'vite'
import { modulesOf } from './carried.mjs'

/** Puts index.html and its hashed scripts and styles into `outDir`; returns the modules that are in them. */
export async function buildConsole(root, outDir) {
  const { output } = await build({
    root: join(root, 'src/console'),
    base: '/console/',
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'warn',
    // Said here, or a build that a test starts (NODE_ENV=test) is one for development, half as large again.
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      // The Content-Security-Policy takes no data: address for a script, a style or a picture of ours.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  })
  return modulesOf(output)
}
