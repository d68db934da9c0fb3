// A copy of the build in which pieces of text were replaced: how a safeguard is taken away, or a bug put in, without
// an option in the product that could be left on.
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Alteration {
  /** Path within the build. */
  file: string
  find: string
  replace: string
}

/** Copies `build` to `to`, alters it and returns `to`. Throws unless each alteration replaced exactly one match. */
export function alteredBuild(build: string, to: string, ...alterations: readonly Alteration[]): string {
  cpSync(build, to, { recursive: true })
  // A build reads its version from beside it.
  const manifest = join(build, '../package.json')
  if (existsSync(manifest)) cpSync(manifest, join(to, '../package.json'))
  for (const { file, find, replace } of alterations) {
    const path = join(to, file)
    const parts = readFileSync(path, 'utf8').split(find)
    if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} matches, not one, of: ${find}`)
    writeFileSync(path, parts.join(replace))
  }
  return to
}
