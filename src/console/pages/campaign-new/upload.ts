// Uploading a file with its progress, which fetch cannot tell.
import { actingHeaders, Refused, refusalOf } from '../../state/http.ts'

/** Sends the file and resolves with how many rows the server has counted. Throws Refused. */
export function uploadRows(
  address: string,
  file: File,
  format: 'csv' | 'ndjson',
  onProgress: (share: number) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', address)
    request.setRequestHeader('content-type', format === 'csv' ? 'text/csv' : 'application/x-ndjson')
    for (const [name, value] of Object.entries(actingHeaders())) request.setRequestHeader(name, value)
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(new Refused(0, 'unreachable', 'The upload broke off. Try again.'))
    request.onload = () => {
      if (request.status === 200) resolve(Number(request.response?.data?.rows ?? 0))
      else reject(refusalOf(request.status, request.response ?? {}))
    }
    request.send(file)
  })
}
