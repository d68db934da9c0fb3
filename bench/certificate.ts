// A certificate for `localhost` that signs itself, made by OpenSSL and good for a day.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificate {
  key: string
  cert: string
  /** The file of `cert`. */
  path: string
}

/** Throws with what OpenSSL says. */
export function makeCertificate(dir: string): Certificate {
  mkdirSync(dir, { recursive: true })
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const made = spawnSync('openssl', ['req', ...kind, ...names, '-keyout', 'key.pem', '-out', 'cert.pem'], {
    cwd: dir,
    encoding: 'utf8',
  })
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr}`)
  const path = join(dir, 'cert.pem')
  return { key: readFileSync(join(dir, 'key.pem'), 'utf8'), cert: readFileSync(path, 'utf8'), path }
}
