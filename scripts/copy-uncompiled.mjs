import { cpSync } from 'node:fs'

/** Copies what is loaded at run time and is no TypeScript, as Lua scripts and demo files, to where the compiled files are. */
export function copyUncompiled(from, to) {
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.ts') })
}
