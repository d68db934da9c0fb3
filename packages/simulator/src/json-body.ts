// Reads the body of a request as a JSON object.

import type { IncomingMessage } from 'node:http'

/** Larger bodies are refused; the largest message of WhatsApp is far smaller. */
const BODY_LIMIT = 1024 * 1024

/** The object, or why there is none, in a sentence for a person. */
export type JsonBody = { body: Record<string, unknown> } | { unreadable: string }

/**
 * Reads the body; an empty one is an empty object. Rejects when the connection breaks off.
 * @param type whether the content type must be JSON, as on the wires, or may be anything, as people with curl send it
 */
export async function readJsonBody(request: IncomingMessage, type: 'json' | 'any'): Promise<JsonBody> {
  const bytes = await readBytes(request)
  if (type === 'json' && !/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    return { unreadable: 'The Content-Type must be application/json.' }
  }
  if (bytes === null) return { unreadable: `The body is larger than ${BODY_LIMIT} bytes.` }
  if (bytes.length === 0) return { body: {} }
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(value) ? { body: value } : { unreadable: 'The body is not a JSON object.' }
  } catch {
    return { unreadable: 'The body is not valid JSON.' }
  }
}

/** Null when there are too many; the rest is then read and thrown away, so that the client still gets the answer. */
function readBytes(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= BODY_LIMIT) chunks.push(chunk)
    })
    request.on('end', () => resolve(size > BODY_LIMIT ? null : Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
