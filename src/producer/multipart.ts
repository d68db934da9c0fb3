// Reads a multipart/form-data request with one file. The file streams into a draft; nothing is held in memory.
import busboy from 'busboy'
import { type Draft, receive } from '../files/drafts.ts'
import type { FileStore } from '../files/store.ts'
import { ApiError, fileTooLarge, invalid } from './errors.ts'
import { spendBudget } from './overload/event-loop-budget.ts'
import { watchFlow } from './overload/slow-uploads.ts'
import type { StreamedBody } from './route.ts'

/** A form that was read whole. The draft is on disk and not in place yet. */
export interface Upload {
  draft: Draft
  /** Name of the file as the client gave it, without folders. */
  fileName: string
  /** The other fields of the form. */
  fields: Map<string, string>
}

/** Fields are ids and short options. */
const FIELD_MAX_BYTES = 1_024
const FIELDS_MAX = 20

/**
 * Reads the whole form. Throws an ApiError: 415 for another kind of body, 413 for a file above `maxBytes`, 400 for a
 * broken form and for no file or several. No draft is left behind then; otherwise it is the caller's to keep or discard.
 * What is left of a refused request is read and dropped, so that the client gets to read the answer.
 */
export async function readUpload(request: StreamedBody, files: FileStore, maxBytes: number): Promise<Upload> {
  // The client hung up while the key was checked.
  if (request.destroyed) throw brokenForm(new Error('the client hung up'))
  const form = openForm(request, maxBytes)
  const fields = new Map<string, string>()
  let file: { name: string; draft: Promise<Draft> } | undefined
  const flow = watchFlow(request)
  try {
    await new Promise<void>((resolve, reject) => {
      const refuse = (error: Error) => {
        reject(error)
        request.unpipe(form)
        // Not at once: busboy is in the middle of a chunk and would fail on the state that it has lost.
        setImmediate(() => form.destroy())
      }
      form.on('error', (error) => refuse(brokenForm(error)))
      form.on('close', resolve)
      form.on('field', (name, value) => fields.set(name, value))
      form.on('file', (_field, content, info) => {
        // Its reader gets the error too; without a listener, an error before that would end the process.
        content.on('error', () => {})
        if (file !== undefined) {
          content.resume()
          refuse(invalid([{ path: 'file', message: 'send one file per request, got several' }]))
          return
        }
        content.on('limit', () => refuse(fileTooLarge(maxBytes)))
        file = { name: info.filename ?? '', draft: receive(files, content) }
        // The form would wait for ever for somebody to read on.
        file.draft.catch((error: Error) => refuse(request.destroyed && !request.complete ? brokenForm(error) : error))
      })
      request.on('error', refuse)
      request.on('close', () => {
        if (!request.complete) refuse(brokenForm(new Error('the client hung up')))
      })
      flow.fault.catch(refuse)
      request.on('data', () => spendBudget(request.socket)).pipe(form)
    })
    if (file === undefined) throw invalid([{ path: 'file', message: 'required' }])
    return { draft: await file.draft, fileName: file.name, fields }
  } catch (error) {
    request.resume()
    const draft = await file?.draft.catch(() => undefined)
    await draft?.discard()
    throw error
  } finally {
    flow.stop()
  }
}

function openForm(request: StreamedBody, maxBytes: number): busboy.Busboy {
  if (!/^multipart\/form-data *;/i.test(request.headers['content-type'] ?? '')) {
    throw new ApiError(415, 'unsupported_media_type', 'Send the file as Content-Type: multipart/form-data.')
  }
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      // One byte more than allowed, because busboy reports the limit when it is reached, not when it is passed.
      limits: { fileSize: maxBytes + 1, fieldSize: FIELD_MAX_BYTES, fields: FIELDS_MAX },
    })
  } catch (error) {
    throw brokenForm(error)
  }
}

const brokenForm = (cause: unknown): ApiError =>
  new ApiError(400, 'invalid_body', 'The body is not a complete multipart/form-data form.', { cause })
