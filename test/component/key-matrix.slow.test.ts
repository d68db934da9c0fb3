// Pins: what a key may do by a route it may do by its verb with --url, and what it may not it may not, with the same code. Two services
// that were made alike are asked the same in the same order, one over HTTP and one by the command line, with a marketing key, a key of
// another account, an operator who names this account or another one, and without a good key. Real: Redis, HTTP, the examples of the table.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { routeVerbs } from '../../src/cli/program.ts'
import { BODY_FILE } from '../../src/cli/route-example.ts'
import type { RouteVerb } from '../../src/cli/route-verb.ts'
import { NO_ACCOUNT, OPERATOR, type Permission } from '../../src/model/accounts/permissions.ts'
import type { Example } from '../../src/producer/route.ts'
import { apiClient } from '../support/api.ts'
import { runCli } from '../support/cli.ts'
import { type DemoWorld, startDemoWorld } from '../support/demo-world.ts'

const FILES = { 'people.csv': 'name,phone,email\nAda,+447700900101,ada@shop.example\n', 'spring.png': 'a picture' }

/** Who asks, and the account that an operator names. */
interface Who {
  key: string
  account?: string
}
type Name = 'nobody' | 'another account' | 'marketing' | 'operator for another' | 'operator'
const NAMES: readonly Name[] = ['nobody', 'another account', 'marketing', 'operator for another', 'operator']

interface World {
  demo: DemoWorld
  who: Readonly<Record<Name, Who>>
}

async function startWorld(): Promise<World> {
  const demo = await startDemoWorld({ LANEWAY_BULK_MOVE_WAIT_SECONDS: '1' })
  const { redis } = demo.service
  const made = async (account: number, permissions: readonly Permission[]) =>
    (await createCredential(redis, account, [...permissions], Date.now())).secret
  const operator = await made(NO_ACCOUNT, [OPERATOR])
  return {
    demo,
    who: {
      nobody: { key: 'lw_0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
      'another account': { key: await made(demo.otherAccount, PERMISSIONS) },
      marketing: {
        key: await made(demo.account, ['messages:send', 'messages:read', 'contacts:read', 'contacts:write']),
      },
      'operator for another': { key: operator, account: String(demo.otherAccount) },
      operator: { key: operator, account: String(demo.account) },
    },
  }
}

let http: World
let cli: World
const folder = mkdtempSync(join(tmpdir(), 'laneway-matrix-'))
beforeAll(async () => {
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content)
  ;[http, cli] = await Promise.all([startWorld(), startWorld()])
  await Promise.all([http.demo.service.startWorker(), cli.demo.service.startWorker()])
})
afterAll(async () => {
  await Promise.all([http?.demo.service.close(), cli?.demo.service.close()])
})

const refusal = z.looseObject({ error: z.looseObject({ code: z.string() }) })

/** What came of it over HTTP: `done`, or the code of the refusal. */
async function overHttp({ spec }: RouteVerb, example: Example, { key, account }: Who): Promise<string> {
  const { params = {}, query = {}, headers = {}, body, text } = example
  const path = spec.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const { body: content, ...type } = contentOf(
    spec.body,
    spec.access.in === 'api_key' ? { api_key: key, ...body } : body,
    text,
  )
  const answer = await apiClient(http.demo.service.url, spec.access.in === 'api_key' ? undefined : key).open(
    `${path}?${new URLSearchParams(query)}`,
    {
      method: spec.method.toUpperCase(),
      headers: {
        ...type,
        ...Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Content-Type')),
        ...(account !== undefined && { 'x-laneway-account': account }),
      },
      ...(content !== undefined && { body: content }),
    },
  )
  const came = await answer.text()
  return answer.ok ? 'done' : refusal.parse(JSON.parse(came)).error.code
}

function contentOf(rule: RouteVerb['spec']['body'], body: object | undefined, text: string | undefined) {
  if (rule.as === 'stream' && rule.contentTypes[0] === 'multipart/form-data') {
    const form = new FormData()
    for (const [name, value] of Object.entries(body ?? {})) if (name !== 'file') form.append(name, String(value))
    form.append('file', new Blob([FILES['spring.png']]), 'spring.png')
    return { body: form }
  }
  if (rule.as === 'stream') return { 'content-type': rule.contentTypes[0] ?? '', body: text ?? FILES['people.csv'] }
  return body === undefined ? {} : { 'content-type': 'application/json', body: JSON.stringify(body) }
}

/** The same by its verb, typed as `words`. */
async function byVerb(words: readonly string[], verb: RouteVerb, { key, account }: Who): Promise<string> {
  const own = ['--yes', '--detach'].filter((flag) => verb.options.some(({ flags }) => flags === flag))
  const named =
    account === undefined || verb.account !== undefined || verb.spec.access.in === 'open' ? [] : ['--account', account]
  const run = await runCli([...words, ...named, ...own], { LANEWAY_URL: cli.demo.service.url, LANEWAY_KEY: key })
  // What was sent is answered one by one.
  if (run.code === 0 || run.stderr.includes('Refused of the list')) return 'done'
  return [...run.stderr.matchAll(/\[([a-z_]+)\]/g)].at(-1)?.[1] ?? `${run.code}: ${run.stderr}`
}

/** Where the account is the first word after the verb, that of the key. */
function ofAccount(words: readonly string[], { account }: RouteVerb, who: Name): readonly string[] {
  if (account !== 'first') return words
  const isOther = who === 'another account' || who === 'operator for another'
  return words.map((word) => (word === '1' && isOther ? String(cli.demo.otherAccount) : word))
}

test('by its verb a key may do what it may do by the route, and is refused what it is refused there', async () => {
  const verbs = [...(await routeVerbs())].filter(([, verb]) => verb.exampleWithKey !== undefined)
  const lines = verbs.map(([name, verb]) => `printf '%s\\n' ${name} ${verb.exampleWithKey ?? ''}`)
  const { stdout } = spawnSync('bash', [], { input: lines.join('\necho\n'), encoding: 'utf8' })
  const typed = stdout.trimEnd().split('\n\n')
  const seen = new Set<object>()
  const differences: string[] = []
  let asked = 0
  let refused = 0
  for (const [at, [name, verb]] of verbs.entries()) {
    const [example] = verb.spec.examples
    if (example === undefined || verb.body !== undefined || seen.has(verb.spec)) continue
    seen.add(verb.spec)
    writeFileSync(join(folder, BODY_FILE), JSON.stringify(example.body ?? {}))
    const words = (typed[at] ?? '')
      .split('\n')
      .map((word) => (/^[\w.]+\.(csv|png|json|ndjson)$/.test(word) ? join(folder, word) : word))
    for (const who of NAMES) {
      const wanted = await overHttp(verb, example, http.who[who])
      const came = await byVerb(ofAccount(words, verb, who), verb, cli.who[who])
      asked += 1
      if (wanted !== 'done') refused += 1
      if (came !== wanted) differences.push(`${who}: ${name}: ${wanted} over HTTP, ${came} by the verb`)
    }
  }
  expect(differences).toEqual([])
  expect(asked).toBeGreaterThan(450)
  expect(refused).toBeGreaterThan(200)
})
