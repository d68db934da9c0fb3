// What kind of file it really is, from its bytes: neither the name nor what the client declares is trusted.

import { open } from 'node:fs/promises'

/** What a file is, found from its bytes. */
export interface MediaType {
  /** MIME type without parameters. */
  mimeType: string
  /** Without dot, lower case. */
  extension: string
}

/** Bytes of a file without a signature that are examined to decide whether it is text. */
const TEXT_PROBE_BYTES = 64 * 1024

/** Old Office documents share one signature; only the name distinguishes them. */
const OLD_OFFICE = new Map([
  ['doc', 'application/msword'],
  ['xls', 'application/vnd.ms-excel'],
  ['ppt', 'application/vnd.ms-powerpoint'],
])
/** Names that the detection uses for types that WhatsApp calls otherwise. */
const SAME_AS = new Map([['audio/x-m4a', 'audio/mp4']])

/** The type of a file on disk. `name` gives the extension where the bytes do not, as for all kinds of text. */
export async function mediaTypeOf(path: string, name: string): Promise<MediaType> {
  const named = /\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase()
  // Loaded with the first file: most processes never see one.
  const { fileTypeFromFile } = await import('file-type')
  const found = await fileTypeFromFile(path)
  if (found === undefined) {
    return (await isText(path))
      ? { mimeType: 'text/plain', extension: named ?? 'txt' }
      : { mimeType: 'application/octet-stream', extension: named ?? 'bin' }
  }
  const mimeType = found.mime.replace(/;.*$/, '')
  const office = mimeType === 'application/x-cfb' && named !== undefined ? OLD_OFFICE.get(named) : undefined
  if (office !== undefined && named !== undefined) return { mimeType: office, extension: named }
  return { mimeType: SAME_AS.get(mimeType) ?? mimeType, extension: found.ext.toLowerCase() }
}

/** Whether the beginning is UTF-8 without control characters but tab, line feed, form feed and carriage return. */
async function isText(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TEXT_PROBE_BYTES), 0, TEXT_PROBE_BYTES, 0)
    // `stream`: the last character may be cut in two by the end of the probe.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead), { stream: true })
    return !/[\p{Cc}]/u.test(text.replace(/[\t\n\f\r]/g, ''))
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  } finally {
    await file.close()
  }
}
