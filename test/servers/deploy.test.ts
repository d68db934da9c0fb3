// Pins: what deploy/ holds is what Kubernetes, KEDA, systemd and Laneway's own checks of Redis take. Manifests are judged by the published schemas, which
// say nothing of fields that they do not know; those are found by watching which fields the schemas look at.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { settings } from '../../src/kernel/config.ts'
import { UPDATE_SECONDS } from '../prove/scenarios/rolling-update.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

const FOLDER = 'deploy/kubernetes'
/** What a part takes at most to end in order (docs/guides/operating/upgrade.md). */
const STOP_SECONDS = 20

const installed = join(process.cwd(), 'test/servers/kubernetes-schemas/node_modules')
const load = createRequire(join(installed, 'here.js'))
const validator = z.custom<(data: unknown) => boolean>((value) => typeof value === 'function')
const SCHEMAS: Readonly<Record<string, string>> = {
  Namespace: 'kubernetes-models/_schemas/IoK8sApiCoreV1Namespace',
  ServiceAccount: 'kubernetes-models/_schemas/IoK8sApiCoreV1ServiceAccount',
  ConfigMap: 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap',
  Service: 'kubernetes-models/_schemas/IoK8sApiCoreV1Service',
  Deployment: 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment',
  PersistentVolumeClaim: 'kubernetes-models/_schemas/IoK8sApiCoreV1PersistentVolumeClaim',
  PodDisruptionBudget: 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget',
  NetworkPolicy: 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy',
  ScaledObject: '@kubernetes-models/keda/_schemas/KedaShV1alpha1ScaledObject',
}

const manifestSchema = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) })
const manifests = readdirSync(FOLDER)
  .filter((file) => file !== 'kustomization.yaml')
  .flatMap((file) =>
    parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => ({
      file,
      manifest: manifestSchema.parse(document.toJS()),
    })),
  )
const ofKind = (kind: string) => manifests.map(({ manifest }) => manifest).filter((manifest) => manifest.kind === kind)

/** What the schema of its kind says against a manifest, unknown fields included. */
function faults(kind: string, manifest: unknown): string[] {
  const path = SCHEMAS[kind]
  if (path === undefined) return [`no schema for ${kind}`]
  const module = z.object({ validate: validator }).parse(load(join(installed, `${path}.js`)))
  const unknown = new Set<string>()
  const isValid = module.validate(watched(manifest, '', unknown))
  const said = z.custom<{ errors?: unknown }>().parse(module.validate)
  return [...(isValid ? [] : [JSON.stringify(said.errors)]), ...[...unknown].map((field) => `unknown ${field}`)]
}

/** The same data; a field that nobody reads stays in `unread`. A map that is listed as a whole has free names. */
function watched(data: unknown, path: string, unread: Set<string>): unknown {
  if (typeof data !== 'object' || data === null) return data
  const inner = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, watched(value, `${path}/${name}`, unread)]),
  )
  const names = new Set(Object.keys(data).map((name) => `${path}/${name}`))
  if (Array.isArray(data)) return Object.values(inner)
  for (const name of names) unread.add(name)
  return new Proxy(inner, {
    get(target, name) {
      if (typeof name === 'string') unread.delete(`${path}/${name}`)
      return Reflect.get(target, name)
    },
    ownKeys(target) {
      for (const name of names) unread.delete(name)
      return Reflect.ownKeys(target)
    },
  })
}

test('every manifest is valid under the published schema of its kind, without an unknown field', () => {
  expect(manifests.length).toBeGreaterThan(8)
  const found = manifests.map(({ file, manifest }) => ({ file, faults: faults(manifest.kind, manifest) }))
  expect(found.filter((each) => each.faults.length > 0)).toEqual([])
})

test('a misspelt field at any depth and a missing one are detected', () => {
  const [deployment] = ofKind('Deployment')
  const { spec } = z.object({ spec: z.looseObject({ template: z.looseObject({}) }) }).parse(deployment)
  expect(faults('Deployment', { ...deployment, specs: {} })).toEqual(['unknown /specs'])
  const template = { ...spec.template, specification: {} }
  expect(faults('Deployment', { ...deployment, spec: { ...spec, template } })).toEqual([
    'unknown /spec/template/specification',
  ])
  expect(faults('Deployment', { ...deployment, spec: {} }).join()).toContain('"missingProperty":"selector"')
})

test('the kustomization includes every manifest of the folder', () => {
  const { resources } = z
    .object({ resources: z.array(z.string()) })
    .parse(parse(readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8')))
  expect([...resources].sort()).toEqual([...new Set(manifests.map(({ file }) => file))].sort())
})

test('every setting of the manifests and units exists, and every command is produced by the build', () => {
  const [given] = ofKind('ConfigMap').map((manifest) => z.record(z.string(), z.string()).parse(manifest.data))
  const units = readdirSync('deploy/systemd').map((file) => readFileSync(join('deploy/systemd', file), 'utf8'))
  const inUnits = units.flatMap((unit) =>
    [...unit.matchAll(/\b((?:LANEWAY_\w+)|REDIS_URL)=/g)].map((match) => match[1]),
  )
  for (const name of [...Object.keys(given ?? {}), ...inUnits]) expect(Object.keys(settings)).toContain(name)
  const commands = [...units, ...ofKind('Deployment').map((each) => JSON.stringify(each))].flatMap((text) => [
    ...text.matchAll(/dist\/start\/\w+\.js/g),
  ])
  expect(commands.length).toBe(4)
  for (const [command] of commands) expect(existsSync(command)).toBe(true)
})

test('no settings file overrides what a unit fixes', () => {
  const inExample = [...readFileSync('.env.example', 'utf8').matchAll(/^(\w+)=/gm)].map((match) => match[1])
  for (const file of readdirSync('deploy/systemd')) {
    const unit = readFileSync(join('deploy/systemd', file), 'utf8').replaceAll('\\\n', '')
    // systemd.exec(5): what EnvironmentFile= says wins over Environment=.
    const overridden = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) =>
      line.split(' ').map((setting) => setting.split('=')[0]),
    )
    expect(overridden.filter((name) => inExample.includes(name))).toEqual([])
    expect(/^ExecStart=(.*)$/m.exec(unit)?.[1]).toContain('LANEWAY_ENV=production')
  }
})

test('nothing is killed before it has had time to end in order', () => {
  const grace = z.object({
    spec: z.object({ template: z.object({ spec: z.object({ terminationGracePeriodSeconds: z.number() }) }) }),
  })
  for (const deployment of ofKind('Deployment')) {
    const seconds = grace.parse(deployment).spec.template.spec.terminationGracePeriodSeconds
    expect(seconds).toBeGreaterThan(STOP_SECONDS)
  }
  for (const file of readdirSync('deploy/systemd')) {
    const seconds = /TimeoutStopSec=(\d+)/.exec(readFileSync(join('deploy/systemd', file), 'utf8'))?.[1]
    expect(Number(seconds)).toBeGreaterThan(STOP_SECONDS)
  }
})

test('a rolling update uses the times and the strategy that the proof plays', () => {
  const deployment = z.object({
    metadata: z.object({ name: z.string() }),
    spec: z.object({
      strategy: z.object({ rollingUpdate: z.object({ maxUnavailable: z.number(), maxSurge: z.number() }) }),
      template: z.object({ spec: z.object({ terminationGracePeriodSeconds: z.number() }) }),
    }),
  })
  const found = ofKind('Deployment').map((each) => {
    const { metadata, spec } = deployment.parse(each)
    return [metadata.name, spec.strategy.rollingUpdate, spec.template.spec.terminationGracePeriodSeconds]
  })
  expect(found).toEqual([
    ['laneway-producer', { maxUnavailable: 0, maxSurge: 1 }, UPDATE_SECONDS.grace],
    ['laneway-worker', { maxUnavailable: 1, maxSurge: 1 }, UPDATE_SECONDS.grace],
  ])
  const map = z.object({ data: z.record(z.string(), z.string()) }).parse(ofKind('ConfigMap')[0])
  expect(map.data.LANEWAY_STOP_DELAY_SECONDS).toBe(String(UPDATE_SECONDS.stopDelay))
})

test('systemd accepts the units', (context) => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return context.skip('no systemd here')
  const units = readdirSync('deploy/systemd').map((file) => join('deploy/systemd', file))
  for (const unit of [...units, 'deploy/redis/laneway-redis.service']) {
    const done = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
    // It looks at other units of the machine too; only what it says of ours counts.
    expect(
      done.stderr.split('\n').filter((line) => line.includes('laneway') && !line.includes('not executable')),
    ).toEqual([])
  }
})

describe('deploy/redis/redis.conf', () => {
  let folder: string
  let server: TestProcess | undefined
  let producer: TestProcess | undefined

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'laneway-deploy-'))
  })

  afterEach(async () => {
    for (const each of [producer, server]) {
      each?.kill('SIGTERM')
      await each?.ended
    }
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** A producer in production on this Redis, and what it said once it serves or has ended. */
  async function startProducer(changed: (config: string) => string): Promise<string> {
    const data = mkdtempSync(join(folder, 'redis-'))
    const config = readFileSync('deploy/redis/redis.conf', 'utf8')
      .replaceAll('/run/laneway-redis', data)
      .replaceAll('/var/lib/laneway-redis', data)
    writeFileSync(join(data, 'redis.conf'), changed(config))
    server = startProcess('redis-server', [join(data, 'redis.conf')], {})
    await eventually(async () => existsSync(join(data, 'redis.sock')), 'a Redis that listens')
    producer = startProcess(process.execPath, ['dist/start/producer.js'], {
      LANEWAY_ENV: 'production',
      LANEWAY_DATA_DIR: data,
      LANEWAY_PUBLIC_URL: 'https://laneway.example.com',
      LANEWAY_SECRET_KEYS: 'a key of a test that nobody else may ever use',
      PORT: '0',
      REDIS_URL: `unix://${data}/redis.sock`,
    })
    const { ended } = producer
    const hasEnded = ended.then(() => true)
    await eventually(
      async () =>
        producer?.stdout().includes('producer.started') || (await Promise.race([hasEnded, Promise.resolve(false)])),
      'a producer that started or refused to',
    )
    return producer.stdout() + producer.stderr()
  }

  test('is accepted by a producer in production', async () => {
    const said = await startProducer((config) => config)
    expect(said).toContain('producer.started')
    expect(said).not.toContain('redis.unsafe')
  })

  test.each([
    ['appendonly', 'appendonly yes', 'appendonly no'],
    ['appendfsync', 'appendfsync always', 'appendfsync everysec'],
    ['maxmemory-policy', 'maxmemory-policy noeviction', 'maxmemory-policy allkeys-lru'],
  ])('is refused without its %s', async (name, line, other) => {
    const said = await startProducer((config) => config.replace(line, other))
    expect(said).not.toContain('producer.started')
    expect(said).toContain(name)
  })
})
