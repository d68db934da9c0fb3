// A file of this machine as the body of a route that takes one, read as it is sent.
import { constants, openAsBlob } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { ended } from '../kernel/refusal.ts'
import type { ApiError } from '../producer/errors.ts'
import type { Upload } from '../producer/in-process.ts'
import type { BodyRule } from '../producer/route.ts'
import { CliFailure, fileFailure } from './failure.ts'
import { bytesOf, SAVE_AS_CSV } from './files.ts'
import { startBar } from './progress.ts'

type StreamRule = Extract<BodyRule, { as: 'stream' }>

const FORM = 'multipart/form-data'
const NDJSON = 'application/x-ndjson'
const BAR = 'Sending {bar} {percentage} % | {eta_formatted} to go'

/** Whether the body is a form with one file and other fields. */
export const isForm = ({ contentTypes }: StreamRule): boolean => contentTypes.includes(FORM)

/**
 * The file at `path` as the body of the route, `fields` beside it in a form. Its progress is shown on a terminal; `stop` ends that.
 * Throws a CliFailure for a file that cannot be read, or whose name says that it is of another kind.
 */
export async function openUpload(
  rule: StreamRule,
  path: string,
  fields: Readonly<Record<string, unknown>>,
  stderr: Writable,
): Promise<Upload & { stop(): void }> {
  const whole = resolve(path)
  const type = typeOf(rule, whole)
  const size = await sizeOf(whole)
  const { contentType, pieces } = isForm(rule)
    ? await formOf(whole, fields)
    : { contentType: type, pieces: bytesOf(whole) }
  // Last: it would go on drawing after what is thrown above.
  const bar = startBar(stderr, BAR, size, {})
  return { contentType, pieces: shown(pieces, whole, (bytes) => bar.increment(bytes)), stop: () => bar.stop() }
}

async function formOf(path: string, fields: Readonly<Record<string, unknown>>): Promise<Upload> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  form.set('file', await openAsBlob(path), basename(path))
  const { headers, body } = new Response(form)
  if (body === null) throw new CliFailure(`The file ${path} cannot be used.`)
  return { contentType: headers.get('content-type') ?? FORM, pieces: body }
}

async function* shown(pieces: AsyncIterable<Uint8Array>, path: string, show: (bytes: number) => void) {
  try {
    for await (const piece of pieces) {
      show(piece.length)
      yield piece
    }
  } catch (error) {
    throw error instanceof CliFailure ? error : fileFailure(path, error)
  }
}

/** Spreadsheets save CSV with tabs as .tsv or .txt. */
function typeOf({ contentTypes }: StreamRule, path: string): string {
  const [first = ''] = contentTypes
  if (!contentTypes.includes(NDJSON)) return first
  if (/\.ndjson$/i.test(path)) return NDJSON
  if (/\.(csv|tsv|txt)$/i.test(path)) return first
  throw new CliFailure(`<file>: expected a file that ends in .csv, .tsv, .txt or .ndjson (${SAVE_AS_CSV}).`, 2)
}

const WORKBOOK = /\.(xlsx?|xlsm|xlsb|ods|numbers)$/i

/** The refusal of a file, by its name; one of what was typed besides is left as it is. */
export function refusedFile(path: string, refusal: ApiError): Error {
  const { details, message, code } = refusal
  const isOfFile = details.every(({ path: field }) => field === '' || field === 'file')
  if (!isOfFile || code === 'account_required') return refusal
  const sentence = details.length > 0 ? details.map((each) => ended(each.message)).join(' ') : message
  const isWorkbook = WORKBOOK.test(path) && !sentence.includes('save the sheet as CSV')
  const hint = isWorkbook ? ` By its name it may be a workbook: ${SAVE_AS_CSV}.` : ''
  return new CliFailure(`${resolve(path)}: ${sentence}${hint}`)
}

/** Of a pipe, whose size nobody knows, 0. */
async function sizeOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' })
    await access(path, constants.R_OK)
    return found.size
  } catch (error) {
    throw fileFailure(path, error)
  }
}
