// Uploading a file with its progress, which fetch cannot tell.
import type { CsvSaid } from '../../files/csv-head.ts'
import { actingHeaders, Refused, refusalOf } from './http.ts'

/**
 * Sends the file, with what is `said` of it in the query, and resolves with `data` of the answer; `onProgress` gets a
 * share from 0 to 1. Throws Refused.
 */
export function uploadFile<T>(
  address: string,
  file: File,
  contentType: string,
  onProgress: (share: number) => void,
  said: CsvSaid,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const query = new URLSearchParams(address.split('?')[1])
    for (const [name, value] of Object.entries(said)) if (value !== undefined) query.set(name, value)
    request.open('POST', `${address.split('?')[0]}?${query}`)
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
