// The files that people name on the command line. A `-` is standard input for a command that reads JSON, as of a pipe from
// another program. Where rows are read or written it is refused, and not taken for a file of that name.
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import { CliFailure, fileFailure, reasonOf } from './failure.ts'
import { parser } from './values.ts'

const STANDARD_INPUT = '-'

/** A path, read as the whole of it. */
export const filePath = parser('the path of a file, which standard input and output are not', (text) =>
  text === STANDARD_INPUT ? undefined : resolve(text),
)

/** A path, or `-`: for `readJson`. */
export const jsonPath = z.string().transform((text) => (text === STANDARD_INPUT ? text : resolve(text)))

/** How a failure names the file. */
export const shownFile = (path: string): string => (path === STANDARD_INPUT ? 'standard input' : path)

/** The JSON of a file, or of `stdin`. Throws a CliFailure when it cannot be read or is none. */
export async function readJson(path: string, stdin: Readable): Promise<unknown> {
  const bytes = await (path === STANDARD_INPUT ? readAll(stdin) : readFile(path)).catch((error: unknown) => {
    throw fileFailure(path, error)
  })
  if (!isUtf8(bytes)) throw new CliFailure(`${shownFile(path)}: expected JSON in UTF-8, got another encoding.`)
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new CliFailure(`${shownFile(path)}: expected JSON, got something else (${reasonOf(error)}).`)
  }
}
