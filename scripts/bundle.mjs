// Puts each program of dist/ with all that it loads into a few files: Node takes more than two seconds of CPU time to
// find, read and link the thousand modules of a producer, and a third of that for the same code in few files, see
// docs/adr/0065-bundled-programs.md. The compiled files stay as they are, for whoever wants to read, load or change one.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { modulesOf } from './carried.mjs'
import { leaveOut } from './left-out.mjs'

/** What people start. */
const PROGRAMS = ['demo/start.js', 'cli.js', 'start/producer.js', 'start/worker.js', 'simulator/main.js']

/** They run for long and look up their stacks themselves, when one is written: src/log-stack.ts says why. */
const SERVICES = ['demo/start.js', 'start/producer.js', 'start/worker.js']

/** Stays beside a program: it as it was compiled, which loads the compiled files. */
const PLAIN = '.plain.js'

/** Not in a bundle, as it finds its machine code beside its own files. Without it msgpackr does its work in JavaScript. */
const EXTERNAL = [/^node:/, 'msgpackr-extract']

/**
 * Bundles the programs of the compiled folder `dist` into dist/bundle, and makes each program load its bundle. Returns the
 * modules that are in them, by path.
 */
export async function bundlePrograms(dist) {
  const programs = PROGRAMS.filter((program) => existsSync(join(dist, program)))
  const folder = join(dist, 'bundle')
  const build = await rolldown({
    input: Object.fromEntries(programs.map((program) => [nameOf(program), join(dist, program)])),
    platform: 'node',
    external: EXTERNAL,
    plugins: [leaveOut, asCompiled(dist, folder)],
    // Nobody imports a program.
    preserveEntrySignatures: false,
    logLevel: 'warn',
    // bull-board has one that is not reached, see src/producer/dashboard.ts.
    checks: { eval: false },
  })
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
  })
  await build.close()
  for (const program of programs) {
    const path = join(dist, program)
    renameSync(path, path.replace(/\.js$/, PLAIN))
    const toDist = relative(dirname(path), dist) || '.'
    const maps = SERVICES.includes(program) ? '' : 'process.setSourceMapsEnabled(true)\n'
    writeFileSync(path, `${maps}await import('${toDist}/bundle/${nameOf(program)}.js')\n`)
  }
  return modulesOf(output)
}

/** `start/worker.js` is `start-worker` in the flat folder of bundles. */
const nameOf = (program) => program.replace(/\.js$/, '').replace('/', '-')

/**
 * Compiled files find what lies beside them by their own address, so each keeps the one it had before. Their source
 * maps make stack traces name src/.
 */
const asCompiled = (dist, folder) => ({
  name: 'as compiled',
  load(id) {
    if (!id.startsWith(dist)) return null
    const address = JSON.stringify(relative(folder, id))
    const code = readFileSync(id, 'utf8').replaceAll('import.meta.url', `new URL(${address}, import.meta.url).href`)
    return { code, map: readFileSync(`${id}.map`, 'utf8') }
  },
  // Frames in a library keep the place in the bundle, and the name of the function. A map of all libraries is three times
  // as large, and is read at every start.
  transform: {
    filter: { id: /\/node_modules\// },
    handler: (code) => ({ code, map: { mappings: '' } }),
  },
})
