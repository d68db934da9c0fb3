// Certificates made by OpenSSL and good for a day: one that signs itself, and those of an authority of their own.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificate {
  key: string
  cert: string
  /** The file of `cert`. */
  path: string
}

export interface Authority {
  /** The file of its own certificate: whoever trusts that trusts all that it issues. */
  path: string
  /** One for `host`; `name` is that of its files. */
  issue(name: string, how?: { host?: string; isExpired?: true }): Certificate
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** One for `localhost` that signs itself. Throws with what OpenSSL says. */
export function makeCertificate(dir: string): Certificate {
  const names = ['-subj', '/CN=localhost', '-addext', namesOf('localhost')]
  openssl(dir, ['req', '-x509', ...KEY, '-days', '1', ...names, '-keyout', 'key.pem', '-out', 'cert.pem'])
  return read(dir, 'key.pem', 'cert.pem')
}

/** An authority that nobody trusts unasked. Throws with what OpenSSL says. */
export function makeAuthority(dir: string): Authority {
  const own = ['-subj', '/CN=An authority of its own', '-keyout', 'authority-key.pem', '-out', 'authority.pem']
  openssl(dir, ['req', '-x509', ...KEY, '-days', '1', ...own])
  return {
    path: join(dir, 'authority.pem'),
    issue(name, { host = 'localhost', isExpired = false } = {}) {
      const [key, request, cert] = [`${name}-key.pem`, `${name}-request.pem`, `${name}.pem`]
      const names = ['-subj', `/CN=${host}`, '-addext', namesOf(host)]
      openssl(dir, ['req', ...KEY, ...names, '-keyout', key, '-out', request])
      const signer = ['-CA', 'authority.pem', '-CAkey', 'authority-key.pem', '-CAcreateserial']
      const days = isExpired ? '-1' : '1'
      openssl(dir, ['x509', '-req', '-in', request, ...signer, '-copy_extensions', 'copy', '-days', days, '-out', cert])
      return read(dir, key, cert)
    },
  }
}

const namesOf = (host: string): string =>
  host === 'localhost' ? 'subjectAltName=DNS:localhost,IP:127.0.0.1' : `subjectAltName=DNS:${host}`

function openssl(dir: string, args: readonly string[]): void {
  mkdirSync(dir, { recursive: true })
  const made = spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`openssl: ${made.error?.message ?? made.stderr}`)
}

function read(dir: string, key: string, cert: string): Certificate {
  const path = join(dir, cert)
  return { key: readFileSync(join(dir, key), 'utf8'), cert: readFileSync(path, 'utf8'), path }
}
