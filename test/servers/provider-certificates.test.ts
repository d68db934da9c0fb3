// Pins: a provider gets a request only with a certificate that is trusted, in time and for its name; with any other the
// request never left, by HTTP/1.1 and by HTTP/2. Real: TLS, an authority and its certificates, HTTP/2.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TlsOptions } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { startProcess } from '../support/processes.ts'
import { httpAnswer } from '../support/tcp-server.ts'
import { startTlsProvider, type TlsProvider } from '../support/tls-provider.ts'
import { type Authority, type Certificate, makeAuthority, makeCertificate } from '../testbed/certificate.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-provider-certificates-'))
let trusted: Authority
let other: Authority
beforeAll(() => {
  trusted = makeAuthority(join(dir, 'trusted'))
  other = makeAuthority(join(dir, 'other'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Node reads the authorities that it trusts when it starts. */
const CALL = `
const { createHttpAgent } = await import('./dist/providers/http-agent.js')
const { postJson } = await import('./dist/providers/http-call.js')
const agent = createHttpAgent()
const url = new URL(process.argv[1])
const ends = []
for (const n of [1, 2]) ends.push(await postJson(agent, url, {}, { n }, 5000))
console.log(JSON.stringify(ends))
agent.destroy()`
const ends = z.array(z.object({ kind: z.string(), cause: z.string().optional() }))

/** How two calls in a row ended. */
async function callsTo({ url }: TlsProvider): Promise<z.output<typeof ends>> {
  const child = startProcess(process.execPath, ['--input-type=module', '-e', CALL, url.href], {
    NODE_EXTRA_CA_CERTS: trusted.path,
  })
  await child.ended
  return ends.parse(JSON.parse(child.stdout()))
}

const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const

function start(protocol: (typeof PROTOCOLS)[number], certificate: Certificate, tls?: TlsOptions): Promise<TlsProvider> {
  const how = tls ? { tls } : {}
  if (protocol === 'HTTP/1.1') {
    return startTlsProvider(certificate, { ...how, http1: ({ socket }) => socket.write(httpAnswer(200, '{}')) })
  }
  return startTlsProvider(certificate, {
    ...how,
    http2({ stream }) {
      stream.respond({ ':status': 200 })
      stream.end('{}')
    },
  })
}

const FAULTS: readonly [string, () => Certificate, string][] = [
  ['is over', () => trusted.issue('expired', { isExpired: true }), 'cert_has_expired'],
  ['is for another name', () => trusted.issue('other', { host: 'provider.example' }), 'err_tls_cert_altname_invalid'],
  ['nobody vouches for', () => other.issue('unknown'), 'unable_to_verify_leaf_signature'],
  ['signs itself', () => makeCertificate(join(dir, 'itself')), 'depth_zero_self_signed_cert'],
]

for (const protocol of PROTOCOLS) {
  test(`a trusted certificate gets requests, by ${protocol}`, async () => {
    const provider = await start(protocol, trusted.issue('good'))
    expect(await callsTo(provider)).toEqual(Array(2).fill(expect.objectContaining({ kind: 'answer' })))
    expect(provider.bodies).toEqual(['{"n":1}', '{"n":2}'])
    await provider.close()
  })

  test.each(FAULTS)(`a certificate that %s gets no requests, by ${protocol}`, async (_what, certificate, cause) => {
    const provider = await start(protocol, certificate())
    expect(await callsTo(provider)).toEqual(Array(2).fill({ kind: 'never_left', cause }))
    expect(provider.bodies).toEqual([])
    await provider.close()
  })

  test(`a provider that wants a certificate of ours gets no requests by TLS 1.2, and ${protocol}`, async () => {
    const wanted = { requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' } as const
    const provider = await start(protocol, trusted.issue('wants'), wanted)
    expect(await callsTo(provider)).toEqual(Array(2).fill(expect.objectContaining({ kind: 'never_left' })))
    expect(provider.bodies).toEqual([])
    await provider.close()
  })

  test(`by TLS 1.3 it reports that after the handshake, and a request is in doubt, by ${protocol}`, async () => {
    const wanted = { requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const
    const provider = await start(protocol, trusted.issue('wants'), wanted)
    expect(await callsTo(provider)).toEqual(Array(2).fill(expect.objectContaining({ kind: 'unanswered' })))
    expect(provider.bodies).toEqual([])
    await provider.close()
  })
}
