// `npm run pin:images`: writes the digest of every base image into Dockerfile and docker-compose.yml, as the registry has
// it now; run again it renews them, which is how security updates of a base come in. `-- --check` only lists which are not
// pinned. Exits with 1 when one is not pinned, and with 2, saying so, when the registry cannot be reached.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, typed } from './prepare.mjs'

const FILES = ['Dockerfile', 'docker-compose.yml']
/** `FROM <image> AS <stage>` or `image: <image>`, with a tag and perhaps a digest. A stage has no tag. */
const IMAGE = /^(\s*(?:FROM|image:) +)([\w./-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?(?=\s|$)/gm
const LIMIT_MS = 60_000

process.exit(typed({ check: { type: 'boolean' } }).check ? check() : pin())

function check() {
  let status = 0
  for (const file of FILES) {
    for (const [, , image, digest] of readFileSync(join(root, file), 'utf8').matchAll(IMAGE)) {
      if (digest !== undefined) continue
      console.log(`${file}: ${image} is not pinned.`)
      status = 1
    }
  }
  return status
}

function pin() {
  const digests = new Map()
  for (const file of FILES) {
    for (const [, , image] of readFileSync(join(root, file), 'utf8').matchAll(IMAGE)) digests.set(image, undefined)
  }
  // All of them before anything is written: half a pinned Dockerfile is none.
  for (const image of digests.keys()) {
    const { digest, why } = look(image)
    if (digest === undefined) {
      console.log(`Not pinned: the digest of ${image} cannot be looked up (${why}).`)
      return 2
    }
    digests.set(image, digest)
  }
  for (const file of FILES) {
    const path = join(root, file)
    const text = readFileSync(path, 'utf8')
    const pinned = text.replace(IMAGE, (_line, before, image) => `${before}${image}@${digests.get(image)}`)
    if (pinned !== text) writeFileSync(path, pinned)
  }
  for (const [image, digest] of digests) console.log(`${image}@${digest}`)
  return 0
}

/** The digest of the image of all platforms, as Docker's own client prints it. */
function look(image) {
  const args = ['buildx', 'imagetools', 'inspect', image, '--format', '{{.Manifest.Digest}}']
  const run = spawnSync('docker', args, { encoding: 'utf8', timeout: LIMIT_MS })
  if (run.error) return { why: run.error.code === 'ENOENT' ? 'docker is not installed' : run.error.message }
  const digest = run.stdout.trim()
  if (run.status === 0 && /^sha256:[0-9a-f]{64}$/.test(digest)) return { digest }
  return { why: run.stderr.trim().split('\n').at(-1) || 'docker told no digest' }
}
