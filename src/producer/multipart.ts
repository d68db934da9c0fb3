// Reads a multipart/form-data request with one file. The file streams into a draft; nothing is held in memory.
import busboy from 'busboy'
import type { Request } from 'express'
import { counted } from '../messages/fault.ts'
import { type Draft, receiveContent } from '../store/gallery-content.ts'
import { ApiError, invalid } from './errors.ts'

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
 */
export async function readUpload(request: Request, dataDir: string, maxBytes: number): Promise<Upload> {
  if (!/^multipart\/form-data *;/i.test(request.get('content-type') ?? '')) {
    throw new ApiError(415, 'unsupported_media_type', 'Send the file as Content-Type: multipart/form-data.')
  }
  const fields = new Map<string, string>()
  let name = ''
  let receiving: Promise<Draft> | undefined
  try {
    const form = openForm(request, maxBytes)
    form.on('field', (field, value) => fields.set(field, value))
    form.on('file', (_field, content, info) => {
      if (receiving !== undefined) {
        content.resume()
        form.destroy(invalid([{ path: 'file', message: 'send one file per request, got several' }]))
        return
      }
      name = info.filename ?? ''
      content.once('limit', () => form.destroy(tooLarge(maxBytes)))
      receiving = receiveContent(dataDir, content)
      // A form whose file cannot be stored would wait for ever for somebody to read on.
      receiving.catch((error) => form.destroy(error))
    })
    await readForm(request, form)
    const draft = await receiving
    if (draft === undefined) throw invalid([{ path: 'file', message: 'required' }])
    return { draft, fileName: name, fields }
  } catch (error) {
    const draft = await receiving?.catch(() => undefined)
    await draft?.discard()
    throw error
  }
}

function openForm(request: Request, maxBytes: number): busboy.Busboy {
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

/** Feeds the request to the form until it is read. What is left of a refused request is read and dropped by Node. */
function readForm(request: Request, form: busboy.Busboy): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    form.once('close', resolve)
    form.once('error', (error) => reject(error instanceof ApiError || isSystemError(error) ? error : brokenForm(error)))
    request.once('close', () => {
      if (!request.complete) form.destroy(brokenForm(new Error('the client hung up')))
    })
    request.pipe(form)
  }).finally(() => {
    request.unpipe(form)
    request.resume()
  })
}

/** Trouble with the disk is ours, not the form's. */
const isSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error

const brokenForm = (cause: unknown): ApiError =>
  new ApiError(400, 'invalid_body', 'The body is not a complete multipart/form-data form.', { cause })

const tooLarge = (maxBytes: number): ApiError =>
  new ApiError(413, 'too_large', `The file is too large: at most ${counted(maxBytes, 'byte')}.`)
