// The script that pins base images, in a folder with the Dockerfile and the compose file of the project and a `docker` of
// its own on the path, since there is no registry here.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const A = `sha256:${'a'.repeat(64)}`
const B = `sha256:${'b'.repeat(64)}`

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'laneway-pin-'))
  for (const file of ['Dockerfile', 'docker-compose.yml', 'package.json']) cpSync(join(ROOT, file), join(dir, file))
  cpSync(join(ROOT, 'scripts'), join(dir, 'scripts'), { recursive: true })
  mkdirSync(join(dir, 'bin'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** Runs the script; `docker` is the shell script that stands in for Docker's client, none when it is left out. */
function pin(args: string[], docker?: string) {
  const path = join(dir, 'bin/docker')
  rmSync(path, { force: true })
  if (docker !== undefined) {
    writeFileSync(path, `#!/bin/sh\n${docker}\n`)
    chmodSync(path, 0o755)
  }
  const env = { ...process.env, PATH: docker === undefined ? dirname(path) : `${dirname(path)}:${process.env.PATH}` }
  const run = spawnSync(process.execPath, [join(dir, 'scripts/pin-images.mjs'), ...args], { encoding: 'utf8', env })
  return { status: run.status, out: run.stdout }
}
const text = (file: string): string => readFileSync(join(dir, file), 'utf8')
const imagesOf = (file: string): string[] =>
  [...text(file).matchAll(/^\s*(?:FROM|image:) +(\S+:\S+)/gm)].map(([, image = '']) => image)

test('every base image gets the digest that the registry returns, and again the next time', () => {
  const before = [...imagesOf('Dockerfile'), ...imagesOf('docker-compose.yml')]
  expect(before.length).toBeGreaterThan(2)
  expect(pin([], `echo ${A}`).status).toBe(0)
  const pinned = [...imagesOf('Dockerfile'), ...imagesOf('docker-compose.yml')]
  expect(pinned).toEqual(before.map((image) => `${image.split('@')[0]}@${A}`))
  // Stages that are built on others stay as they are.
  expect(text('Dockerfile')).toMatch(/^FROM sources AS build$/m)
  expect(pin(['--check']).status).toBe(0)
  expect(pin([], `echo ${B}`).status).toBe(0)
  expect(text('Dockerfile')).not.toContain(A)
})

test('an image that is not pinned is named', () => {
  const { status, out } = pin(['--check'])
  expect(status).toBe(1)
  expect(out).toContain('docker-compose.yml: redis:')
})

test.each([
  { what: 'without Docker', docker: undefined, why: 'docker is not installed' },
  {
    what: 'without the registry',
    docker: 'echo "no route to the registry" >&2; exit 1',
    why: 'no route to the registry',
  },
  { what: 'with an answer that is no digest', docker: 'echo latest', why: 'docker told no digest' },
])('$what it reports that, and writes nothing', ({ docker, why }) => {
  const before = text('Dockerfile')
  const { status, out } = pin([], docker)
  expect(status).toBe(2)
  expect(out).toContain(why)
  expect(text('Dockerfile')).toBe(before)
})

test('an unknown argument is refused', () => {
  expect(pin(['--help'])).toEqual({ status: 2, out: '' })
})
