// Pins: the tabs of docs/reference/http make the request that the table has as the example of the route, whether by curl, the client for
// TypeScript, the client for Python or the command line. Real: the pages, curl, Python, HTTP. Stood in for: the service, by a server that
// keeps what it is asked and gives the answers of the table. That the service takes these requests, examples.slow.test.ts holds.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { connectLaneway } from '../../packages/client/src/connect.ts'
import { routeVerbs } from '../../src/cli/program.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import { ApiError, errorBody } from '../../src/producer/errors.ts'
import { shownAnswer } from '../../src/producer/openapi/sample.ts'
import type { Example, RouteSpec } from '../../src/producer/route.ts'
import { runCli } from '../support/cli.ts'
import { readHttpPages } from '../support/pages.ts'

const KEY = 'lw_0f1e2d3c4b5a'
const FILES = { 'people.csv': 'name,phone,email\nAda,+447700900101,ada@shop.example\n', 'spring.png': 'a picture' }

interface Request {
  method: string
  path: string
  query: string
  body: unknown
  /** Those of the example that are not of its content. */
  headers: Readonly<Record<string, string>>
}

/** An address of the pages, with its tabs by their titles. */
interface Section {
  address: string
  spec: RouteSpec
  example: Example
  tabs: ReadonlyMap<string, string>
}

const documented = ({ method, path }: RouteSpec): string =>
  `${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`

const sections: readonly Section[] = readHttpPages()
  .flatMap(({ text }) => text.split(/^(?=## )/m))
  .flatMap((section): Section[] => {
    const [, address = ''] = /^## (.*)\n/.exec(section) ?? []
    const spec = ROUTES.find((each) => documented(each) === address)
    const blocks = [...section.matchAll(/^```\w+ \[(.*)\]\n([\s\S]*?)^```$/gm)]
    const [example] = spec?.examples ?? []
    if (spec === undefined || example === undefined || blocks.length === 0) return []
    return [{ address, spec, example, tabs: new Map(blocks.map(([, title = '', code = '']) => [title, code])) }]
  })

let url = ''
let folder = ''
/** The section whose request is waited for, and the requests that were made, by their sections. */
let turn: Section | undefined
const made = new Map<string, unknown>()
/** A program says by this address whose turn it is. */
const TURN = '/whose-turn/'
const server = createServer(async (request, response) => {
  const { pathname, search } = new URL(request.url ?? '', 'http://service')
  const content = await text(request)
  const path = decodeURIComponent(pathname)
  if (path.startsWith(TURN)) {
    const number = path.slice(TURN.length)
    turnTo(number === '' ? undefined : Number(number))
    response.end()
    return
  }
  // What is asked after it would follow something to an end that never comes.
  const isAfter = turn !== undefined && made.has(turn.address)
  if (!isAfter && turn !== undefined)
    keepIfWanted(turn, {
      ...{ method: request.method ?? '', path },
      query: [...new URLSearchParams(search)]
        .map((pair) => pair.join('='))
        .sort()
        .join('&'),
      body: bodyOf(request, content),
      headers: headersOf(request.headers, turn.example),
    })
  if (isAfter) {
    response.writeHead(403, { 'content-type': 'application/json' })
    response.end(JSON.stringify(errorBody(new ApiError(403, 'forbidden', 'It is over.'), 'r1')))
    return
  }
  const spec = ROUTES.find((each) => each.method === request.method?.toLowerCase() && patternOf(each).test(path))
  const [example = { status: 200 }] = spec?.examples ?? []
  const answer = spec?.answers[example.status]
  if (answer !== undefined && 'contentTypes' in answer) {
    const [type = 'text/plain'] = answer.contentTypes
    response.writeHead(example.status, { 'content-type': type === '*' ? 'text/plain' : type })
    response.end(type === 'application/json' ? '{"status":true,"data":[],"next":null}' : 'a,b\n')
    return
  }
  response.writeHead(example.status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(spec === undefined ? {} : shownAnswer(spec, example)))
})

/** Of the headers of the example what the request has in them. */
const headersOf = (given: Readonly<Record<string, unknown>>, { headers = {} }: Example): Record<string, string> =>
  Object.fromEntries(
    Object.keys(headers)
      .filter((name) => name !== 'Content-Type')
      .map((name) => [name, String(given[name.toLowerCase()] ?? '')]),
  )

/** Keeps the request if it is at the address of the section; a body may be left out where it may be empty. */
function keepIfWanted(section: Section, request: Request): void {
  const wish = wanted(section)
  if (request.method !== wish.method || request.path !== wish.path) return
  const isEmpty = request.body === '' && JSON.stringify(wish.body) === '{}'
  made.set(section.address, sameTimes(isEmpty ? { ...request, body: {} } : request))
}

const patternOf = ({ path }: RouteSpec): RegExp => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`)

function bodyOf({ headers }: IncomingMessage, content: string): unknown {
  const type = headers['content-type'] ?? ''
  if (type.startsWith('multipart/form-data')) {
    const fields = [...content.matchAll(/ name="(\w+)"(?:; filename="(.*)")?\r\n(?:.*\r\n)*?\r\n([\s\S]*?)\r\n--/g)]
    return Object.fromEntries(fields.map(([, name, file, value]) => [name, file ?? value]))
  }
  if (!type.startsWith('application/json')) return content
  const { api_key: _key, ...body } = z.record(z.string(), z.unknown()).parse(JSON.parse(content || '{}'))
  return body
}

beforeAll(async () => {
  const client = spawnSync(process.execPath, ['scripts/python-client.mjs'], { encoding: 'utf8' })
  expect(client.status, client.stderr).toBe(0)
  folder = mkdtempSync(join(tmpdir(), 'laneway-tabs-'))
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // A server that listens on a port has such an address.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** The request of the example. */
function wanted({ spec, example }: Section): Request {
  const { params = {}, query = {}, body, headers = {} } = example
  const isForm = spec.body.as === 'stream' && spec.body.contentTypes[0] === 'multipart/form-data'
  const texts = Object.entries(body ?? {}).map(([name, value]) => [name, String(value)])
  const [file = ''] = Object.keys(FILES).filter((name) => name.endsWith(isForm ? '.png' : '.csv'))
  return {
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Content-Type')),
    method: spec.method.toUpperCase(),
    path: spec.path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? ''),
    query: Object.entries(query)
      .map((pair) => pair.join('='))
      .sort()
      .join('&'),
    body: isForm
      ? Object.fromEntries(texts)
      : spec.body.as === 'stream'
        ? readFileSync(join(folder, file), 'utf8')
        : spec.method === 'get' || spec.method === 'delete'
          ? ''
          : (body ?? {}),
  }
}

/** With times as one of them writes them. */
const sameTimes = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll('.000Z', 'Z'))

/** From now on the request of this section is waited for. */
function turnTo(i: number | undefined): void {
  turn = i === undefined ? undefined : sections[i]
}

async function shell(command: string, words: readonly string[], input = '') {
  const child = spawn(command, words, {
    cwd: folder,
    env: { PATH: process.env.PATH, LANEWAY_URL: url, LANEWAY_KEY: KEY, PYTHONDONTWRITEBYTECODE: '1' },
  })
  child.stdin.end(input)
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((ended) => child.once('close', ended)),
  ])
  return { stdout, stderr, code }
}

test('most operations have all four tabs, and each has those that there are', () => {
  expect(sections.length).toBeGreaterThan(110)
  const without = (title: string) => sections.filter(({ tabs }) => !tabs.has(title)).map(({ address }) => address)
  expect(['curl', 'TypeScript'].map(without)).toEqual([[], []])
  // A stream without an end is nothing for a call.
  expect(without('Python')).toEqual(['GET /console/stream'])
})

describe('the request of the example is made', () => {
  const of = (title: string) => sections.filter(({ tabs }) => tabs.has(title))
  /** The code of a tab, to be run after the server was told whose turn it is. */
  const codes = (title: string) =>
    of(title).map((section) => [sections.indexOf(section), section.tabs.get(title) ?? ''] as const)

  test('by curl', async () => {
    const lines = codes('curl').map(
      ([i, code]) =>
        `curl --silent "$LANEWAY_URL${TURN}${i}"\n${code.replace('curl ', 'curl --silent --show-error --max-time 20 ')}\n`,
    )
    const { stderr } = await shell('bash', [], `${lines.join('\n')}curl --silent "$LANEWAY_URL${TURN}"\n`)
    expectAll('curl', stderr)
  })

  test('by the client for TypeScript', async () => {
    const laneway = await connectLaneway({ url, apiKey: KEY })
    const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor
    for (const [i, code] of codes('TypeScript')) {
      turnTo(i)
      await new AsyncFunction('laneway', 'readFile', code)(laneway, (name: string) => readFile(join(folder, name)))
    }
    await laneway.close()
    expectAll('TypeScript', '')
  })

  test('by the client for Python', async () => {
    const lines = codes('Python').flatMap(([i, code]) => [`turn("${i}")`, code])
    const program = [
      'import os, sys, urllib.request',
      `sys.path.insert(0, ${JSON.stringify(resolve('packages/client-python'))})`,
      'from laneway import *',
      'url = os.environ["LANEWAY_URL"]',
      `turn = lambda i: urllib.request.urlopen(f"{url}${TURN}{i}").read()`,
      'laneway = Laneway(url, os.environ["LANEWAY_KEY"])',
      ...[...lines, 'turn("")'],
    ].join('\n')
    const { stderr } = await shell('python3', ['-'], program)
    expectAll('Python', stderr)
  })

  test('on the command line', async () => {
    const all = codes('Command line')
    const lines = all.map(([, code]) => code.trim().split('\n').at(-1)?.replace('npm run cli --', "printf '%s\\n'"))
    const { stdout } = await shell('bash', [], lines.join('\necho\n'))
    const verbs = await routeVerbs()
    const typed = stdout.trimEnd().split('\n\n')
    let complaints = ''
    for (const [at, [i, code]] of all.entries()) {
      turnTo(i)
      const [, file, content = ''] = /^cat > (\S+) <<'EOF'\n([\s\S]*)\nEOF\n/.exec(code) ?? []
      if (file !== undefined) writeFileSync(join(folder, file), content)
      const words = (typed[at] ?? '')
        .split('\n')
        .map((word) => (/^[\w.]+\.(csv|png|json)$/.test(word) ? join(folder, word) : word))
      words.push(...unasked(verbs, words))
      complaints += `${words.join(' ')}: ${(await runCli(words, { LANEWAY_URL: url, LANEWAY_KEY: KEY })).stderr}\n`
    }
    expectAll('Command line', complaints)
  })

  /** The options with which a verb asks nobody and follows nothing. */
  function unasked(verbs: Awaited<ReturnType<typeof routeVerbs>>, words: readonly string[]): string[] {
    const line = words.join(' ')
    const [verb] = [...verbs]
      .filter(([name]) => line === name || line.startsWith(`${name} `))
      .sort(([a], [b]) => b.length - a.length)
      .map(([, each]) => each)
    return ['--yes', '--detach'].filter((flag) => verb?.options.some(({ flags }) => flags === flag))
  }

  /** Every tab of that title has made its request. */
  function expectAll(title: string, complaints: string): void {
    turnTo(undefined)
    const missing = of(title).filter((section) => !made.has(section.address))
    expect(
      missing.map(({ address }) => address),
      complaints,
    ).toEqual([])
    for (const section of of(title))
      expect.soft(made.get(section.address), section.address).toEqual(sameTimes(wanted(section)))
    made.clear()
  }
})
