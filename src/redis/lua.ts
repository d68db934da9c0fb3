// Loads Lua scripts. A script is one atomic step on Redis; it lives in the folder scripts/ beside the file that runs it,
// with its keys, arguments and output described at its head.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Redis } from './connect.ts'

/** Runs a script. What it returns is whatever the Lua code returns: check it with zod before use. */
export type Script = (
  redis: Redis,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>

/**
 * The caller of scripts/<name>.lua beside `module`, which is the import.meta.url of whoever defines it. Sends the script's SHA-1, and its text only to a server that does not know it yet,
 * as after a restart. Throws at once when the number of keys is not the declared one, which would shift all arguments.
 */
export function defineScript(module: string, name: string, numberOfKeys: number): Script {
  const source = readScript(new URL(`./scripts/${name}.lua`, module))
  const sha = createHash('sha1').update(source).digest('hex')
  return async (redis, keys, args) => {
    if (keys.length !== numberOfKeys) {
      throw new Error(`script ${name} takes ${numberOfKeys} keys, got ${keys.length}`)
    }
    try {
      return await redis.evalsha(sha, numberOfKeys, ...keys, ...args)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return redis.eval(source, numberOfKeys, ...keys, ...args)
    }
  }
}

/** The text of a script, with each line `-- include <path>` replaced by that script; the path is relative to its folder. */
function readScript(url: URL): string {
  return readFileSync(url, 'utf8').replace(/^-- include ([\w./-]+)$/gm, (_line, path: string) =>
    readScript(new URL(`${path}.lua`, url)),
  )
}
