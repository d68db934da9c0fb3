// The least of HTTP/1.1 that the sink and the load generator need: cutting a byte stream into messages by their
// Content-Length. Written for speed, because both run on the cores that are being measured; it reads nothing but what
// the contenders are known to send.

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** Returns a reader for one connection: give it chunks, it calls back for each whole message. */
export function messageReader(onMessage: (head: string, body: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined
  return (chunk) => {
    let bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    rest = undefined
    while (bytes.length > 0) {
      const headEnd = bytes.indexOf(HEAD_END)
      if (headEnd < 0) break
      const head = bytes.toString('latin1', 0, headEnd)
      const bodyStart = headEnd + HEAD_END.length
      const bodyEnd = bodyStart + Number(LENGTH.exec(head)?.[1] ?? 0)
      if (bytes.length < bodyEnd) break
      onMessage(head, bytes.subarray(bodyStart, bodyEnd))
      bytes = bytes.subarray(bodyEnd)
    }
    if (bytes.length > 0) rest = bytes
  }
}
