// Pins what is installed: every package by its content, no compiler in production, fewer packages than 150, install scripts of
// nobody new, and licences that allow it; and containers that may do nothing but their work.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const entry = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().default(false),
  dev: z.boolean().default(false),
  optional: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
  license: z.string().optional(),
})
const { packages } = z
  .object({ packages: z.record(z.string(), entry) })
  .parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)
const inProduction = installed.filter(([, { dev }]) => !dev)

test('every package in the lock file is pinned to its content by a strong hash', () => {
  expect(installed.length).toBeGreaterThan(250)
  expect(installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-')).map(([path]) => path)).toEqual(
    [],
  )
})

test('every dependency has one exact version', () => {
  const named = z.record(z.string(), z.string())
  const manifest = z
    .object({ dependencies: named, optionalDependencies: named, devDependencies: named, overrides: named })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const versions = Object.values(manifest).flatMap((each) => Object.values(each))
  expect(versions.filter((version) => !/^(npm:[@\w/-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([])
})

test('production installs fewer than 150 packages, none of them a compiler or a tool, and one that runs a script', () => {
  const names = inProduction
    .filter(([, { optional }]) => !optional)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  expect(names.length, names.join('\n')).toBeLessThan(150)
  expect(names).toEqual(expect.arrayContaining(['bullmq', 'express']))
  expect(names.filter((name) => /^(@typescript\/|typescript|@types\/|vite|vitest|rolldown|preact)/.test(name))).toEqual(
    [],
  )
  expect(inProduction.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([
    'node_modules/msgpackr-extract',
  ])
})

test('the S3 client and the pages of the raw queues, with all that only they need, can be left out', () => {
  const names = inProduction
    .filter(([, { optional }]) => optional)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  expect(names).toEqual(expect.arrayContaining(['@aws-sdk/client-s3', '@bull-board/ui', '@smithy/types', 'ejs']))
})

test('every production package has a licence that allows redistribution', () => {
  const free = /^(MIT|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|Unlicense|\(MIT OR \S+\)|\(MIT AND \S+\))$/
  // They name theirs, MIT, in a form that npm no longer reads.
  const olderForm = ['node_modules/busboy', 'node_modules/streamsearch']
  expect(inProduction.filter(([, { license = '' }]) => !free.test(license)).map(([path]) => path)).toEqual(olderForm)
})

const service = z.looseObject({
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
})

test.each(['docker-compose.yml', 'docker-compose.demo.yml'])(
  'a container of %s writes only to volumes, and cannot gain privileges',
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
})

test('the image contains the build and the production packages', () => {
  const file = readFileSync('Dockerfile', 'utf8')
  expect(file).toContain('RUN npm ci --omit=dev')
  const copied = [...file.slice(file.indexOf(' AS base')).matchAll(/^COPY --from=\S+ (\S+)/gm)].map(([, from]) => from)
  expect(new Set(copied)).toEqual(new Set(['/app/package.json', '/app/node_modules', '/app/dist']))
})
