// Pins what is installed and what a build carries: every package by its content, no compiler in production, fewer packages
// than 110, install scripts of nobody new, licences and a bill of materials; and containers that may do nothing but their work.
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
  optional: z.boolean().default(false),
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
    .object({ devDependencies: named, overrides: named })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const versions = Object.values(manifest).flatMap((each) => Object.values(each))
  expect(versions.filter((version) => !/^(npm:[@\w/-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([])
})

const { dependencies: installedInProduction } = z
  .object({ dependencies: z.record(z.string(), z.string()).default({}) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')))
const carried = z
  .array(
    z.object({
      name: z.string(),
      version: z.string(),
      license: z.string().optional(),
      integrity: z.string().optional(),
    }),
  )
  .parse(JSON.parse(readFileSync('dist/packages.json', 'utf8')))
/** What an expression comes to that uses the scripts of this repository, which have no types. */
const inScripts = (imports: string, expression: string): unknown =>
  JSON.parse(
    spawnSync(
      process.execPath,
      ['--input-type=module', '-e', `${imports}; process.stdout.write(JSON.stringify(${expression}))`],
      { encoding: 'utf8' },
    ).stdout,
  )
const leftOut = z
  .array(z.string())
  .nonempty()
  .parse(inScripts("import { LEFT_OUT } from './scripts/left-out.mjs'", 'LEFT_OUT'))
const carriedNames = carried.map(({ name }) => name)

test('a build carries fewer than 110 packages, and production installs none beside it', () => {
  expect(carried.length, carriedNames.join('\n')).toBeLessThan(110)
  expect(installedInProduction).toEqual({})
  expect(carriedNames).toEqual(expect.arrayContaining(['bullmq', 'express', 'preact', '@bull-board/ui']))
})

test('neither a compiler nor a package that is left out is in a build', () => {
  const foreign = /^(@typescript\/|typescript|@types\/|vite|vitest|rolldown)/
  expect(carriedNames.filter((name) => foreign.test(name) || leftOut.includes(name))).toEqual([])
})

test('what is left out is still loaded by somebody, or it should no longer be in the list', () => {
  expect(leftOut.filter((name) => !Object.hasOwn(packages, `node_modules/${name}`))).toEqual([])
})

test('production and the client install fewer than 30 packages, one of which runs a script', () => {
  // `npm ci --omit=dev` in this repository: all of it is the client's.
  expect(inProduction.filter(([, { optional }]) => !optional).length).toBeLessThan(30)
  expect(inProduction.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([
    'node_modules/msgpackr-extract',
  ])
})

test('the licence of each package goes with its code', () => {
  const licences = readFileSync('dist/LICENSES.txt', 'utf8')
  expect(carried.filter(({ name, version }) => !licences.includes(`${name} ${version}, `))).toEqual([])
})

test('the bill of materials names what a build carries, by content', () => {
  const component = z.object({
    name: z.string(),
    purl: z.string().startsWith('pkg:npm/'),
    hashes: z.tuple([z.object({ alg: z.literal('SHA-512'), content: z.string().regex(/^[0-9a-f]{128}$/) })]),
  })
  const bill = z.object({
    bomFormat: z.literal('CycloneDX'),
    specVersion: z.literal('1.5'),
    serialNumber: z.string().regex(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    components: z.array(component),
  })
  const { components } = bill.parse(
    inScripts(
      "import { billOf } from './scripts/bill.mjs'; import { carriedBy } from './scripts/carried.mjs'",
      "billOf('0.2.0', carriedBy('dist'))",
    ),
  )
  expect(components.map(({ name }) => name)).toEqual(carriedNames)
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
})

test('the image installs nothing beside the build', () => {
  const file = readFileSync('Dockerfile', 'utf8')
  const copied = [...file.slice(file.indexOf(' AS base')).matchAll(/^COPY --from=\S+ (\S+)/gm)].map(([, from]) => from)
  expect(new Set(copied)).toEqual(new Set(['/app/package.json', '/app/dist']))
})
