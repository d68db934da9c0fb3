import { cpSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Copies what is loaded at run time and is no TypeScript, as Lua scripts and demo files, to where the compiled files are.
 * The console is not loaded but built, see build-console.mjs.
 */
export function copyUncompiled(from, to) {
  const built = join(from, 'console')
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.ts') && path !== built })
}
