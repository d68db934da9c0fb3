// Stack traces with the names and lines of src/, for programs that run from bundles. Node can do so by itself, but then
// does it for every error whose stack is asked for, and it asks for that of each request that a client breaks off: when
// 1,500 clients hang up at once, a third of a second. So only what is written is looked up.
import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A bundle has this place: import.meta.url there is that of the compiled file, see scripts/bundle.mjs. */
const BUNDLES = new URL('./bundle/', import.meta.url)

const FRAME = /(file:\/\/\/[^\s():]+\.js):(\d+):(\d+)/g

/** `stack` with what it says of files in `folder` turned into places in their sources; the rest stays as it is. */
export function createStackReader(folder: URL = BUNDLES): (stack: string) => string {
  const maps = new Map<string, SourceMap>()

  /** Undefined where there is none. */
  function mapOf(file: string): SourceMap | undefined {
    const known = maps.get(file)
    if (known !== undefined) return known
    try {
      // As the build has written it.
      const payload: SourceMapPayload = JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8'))
      const map = new SourceMap(payload)
      maps.set(file, map)
      return map
    } catch {
      return undefined
    }
  }

  return (stack) =>
    stack.replace(FRAME, (frame, file: string, line: string, column: string) => {
      if (!new URL(file).href.startsWith(folder.href)) return frame
      const found = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (found === undefined || !('originalSource' in found)) return frame
      const source = fileURLToPath(new URL(found.originalSource, file))
      return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`
    })
}

/** Of this program. */
export const sourceStack = createStackReader()
