// Pins what is installed: every package by its content, no compiler in production, no more packages than are accounted for
// in docs/security.md, install scripts of nobody new; and containers that may do nothing but their work.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const entry = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().default(false),
  dev: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
  name: z.string().optional(),
})
const { packages } = z
  .object({ packages: z.record(z.string(), entry) })
  .parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)
const inProduction = installed.filter(([, { dev }]) => !dev)

test('every package of the lock is pinned to its content by a strong hash', () => {
  expect(installed.length).toBeGreaterThan(250)
  expect(installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-')).map(([path]) => path)).toEqual(
    [],
  )
})

test('every dependency is named with one exact version', () => {
  const named = z.record(z.string(), z.string())
  const manifest = z
    .object({ dependencies: named, devDependencies: named, overrides: named })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const versions = Object.values(manifest).flatMap((each) => Object.values(each))
  expect(versions.filter((version) => !/^(npm:[@\w/-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([])
})

test('production has no compiler, and no more packages than docs/security.md accounts for', () => {
  const names = inProduction.map(([path, { name }]) => name ?? path.replace(/^.*node_modules\//, ''))
  expect(names.filter((name) => /^(@typescript\/|typescript|@types\/|vite|vitest)/.test(name))).toEqual([])
  // Of each platform's build of one package only one is installed.
  const paths = new Set(names.filter((name) => !/^@msgpackr-extract\/.*-(darwin|win32|linux-arm)/.test(name)))
  expect(paths.size).toBeLessThanOrEqual(170)
})

test('one package alone runs a script when it is installed in production', () => {
  expect(inProduction.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([
    'node_modules/msgpackr-extract',
  ])
})

test('the bill of materials names what production runs', () => {
  const run = spawnSync('npm', ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const bill = z.object({ bomFormat: z.literal('CycloneDX'), components: z.array(z.object({ name: z.string() })) })
  const { components } = bill.parse(JSON.parse(run.stdout))
  const names = components.map(({ name }) => name)
  expect(names).toContain('bullmq')
  expect(names).not.toContain('typescript')
})

const service = z.looseObject({
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
})

test.each(['docker-compose.yml', 'docker-compose.demo.yml'])(
  'a container of %s writes to nothing but volumes, and has no privilege to give away',
  (file) => {
    const text = readFileSync(file, 'utf8')
    const { services } = z.object({ services: z.record(z.string(), service) }).parse(parse(text, { merge: true }))
    // One that only adds to the other file says nothing of itself.
    const whole = Object.entries(services).filter(([, each]) => 'image' in each || 'build' in each)
    expect(whole.length).toBeGreaterThan(0)
    for (const [name, { read_only, cap_drop, security_opt }] of whole) {
      expect({ read_only, cap_drop, security_opt }, name).toEqual({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
    }
  },
)

test('the image does not run as root', () => {
  const file = readFileSync('Dockerfile', 'utf8')
  expect(file.slice(file.indexOf(' AS base'))).toMatch(/^USER node$/m)
  expect(file.match(/npm prune --omit=dev/g)).toHaveLength(2)
})
