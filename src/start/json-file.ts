// Small JSON files in the data folder: read through a schema, written whole or not at all.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { z } from 'zod'
import { StartError, systemCode } from './start-error.ts'

/** What the file holds; undefined when there is none. Throws a StartError that names a file nobody can read. */
export function readJsonFile<S extends z.ZodType>(path: string, schema: S): z.output<S> | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
  const parsed = schema.safeParse(jsonOrUndefined(text))
  if (parsed.success) return parsed.data
  throw new StartError(`The file ${path} is corrupt; remove it and start again.`)
}

/** Written aside and put in place by rename, mode 0600: a reader sees the old file or the new one, never half of it. */
export function writeJsonFile(path: string, content: unknown): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
