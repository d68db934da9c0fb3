// Compiles what is no part of dist/ (the proof, the bench) into a folder of a run. Compiling takes ten seconds of CPU
// time, so what came of it is kept in node_modules/.cache until the sources change.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { copyUncompiled } from './copy-uncompiled.mjs'
import { cacheFolder, fingerprintOf, root } from './prepare.mjs'

const DAY_MS = 86_400_000

/**
 * Compiles tsconfig.<name>.json: the folder of that name, and what it takes from src, simulator and the tests, to the
 * folder `to`, with what the compiled src/ loads beside it. Returns whether it compiles; the compiler has said why not.
 */
export function compileAside(name, to) {
  const fingerprint = fingerprintOf(
    ['src', 'simulator', 'testbed', 'test/support', 'packages/client/src', name],
    [`tsconfig.${name}.json`],
  )
  const kept = join(cacheFolder, name, fingerprint.slice(0, 32))
  if (!existsSync(kept)) {
    if (!compile(name, `${kept}.${process.pid}`)) return false
    removeOld(dirname(kept))
    try {
      renameSync(`${kept}.${process.pid}`, kept)
    } catch (error) {
      // Another run was faster, with the same sources.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
      rmSync(`${kept}.${process.pid}`, { recursive: true, force: true })
    }
  }
  cpSync(kept, to, { recursive: true })
  return true
}

function compile(name, draft) {
  mkdirSync(draft, { recursive: true })
  const compiler = join(root, 'node_modules/typescript-compiler/bin/tsc')
  const project = join(root, `tsconfig.${name}.json`)
  const tsc = spawnSync(process.execPath, [compiler, '-p', project, '--noCheck', '--outDir', draft], {
    stdio: ['ignore', process.stderr, process.stderr],
  })
  if (tsc.status === 0) copyUncompiled(join(root, 'src'), join(draft, 'src'))
  else rmSync(draft, { recursive: true, force: true })
  return tsc.status === 0
}

/** Those of today may still be copied by a run that began before the sources changed. */
function removeOld(folder) {
  for (const entry of readdirSync(folder)) {
    const path = join(folder, entry)
    if (statSync(path).mtimeMs < Date.now() - DAY_MS) rmSync(path, { recursive: true, force: true })
  }
}
