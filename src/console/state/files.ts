// Uploads with progress, which fetch does not report, and downloads whose refusal the page can show.
import type { CsvOptions } from '../../files/csv-head.ts'
import { actingHeaders, addressOf, Refused, refusalOf } from './http.ts'

/**
 * Uploads a file; the query says how to read it. Resolves with `data` of the answer; `onProgress` gets a share from 0 to 1.
 * Throws Refused.
 */
export function uploadFile<T>(
  path: string,
  file: File,
  contentType: string,
  onProgress: (share: number) => void,
  options: CsvOptions & { tag?: number },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', addressOf(path, { ...options }))
    request.setRequestHeader('content-type', contentType)
    for (const [name, value] of Object.entries(actingHeaders())) request.setRequestHeader(name, value)
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(new Refused(0, 'unreachable', 'The upload broke off. Try again.'))
    request.onload = () => {
      const isGood = request.status >= 200 && request.status < 300
      if (isGood) resolve(request.response?.data as T)
      else reject(refusalOf(request.status, request.response ?? {}))
    }
    request.send(file)
  })
}

/** How long the bytes are kept for the browser to begin saving them. */
const KEPT_MS = 60_000

/** Fetches an address and saves the answer under this name. Throws Refused; a plain link could not show a refusal. */
export async function download(address: string, name: string): Promise<void> {
  let bytes: Blob
  try {
    const answer = await fetch(address, { headers: actingHeaders(), credentials: 'same-origin' })
    if (!answer.ok) throw refusalOf(answer.status, await answer.json().catch(() => ({})))
    // With its own content type some browsers would open it instead.
    bytes = new Blob([await answer.arrayBuffer()], { type: 'application/octet-stream' })
  } catch (error) {
    if (error instanceof Refused) throw error
    throw new Refused(0, 'unreachable', 'The download broke off. Try again.')
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(bytes)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
}
