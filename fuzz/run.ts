// Throws generated requests at a producer and judges each answer: no 5xx, nothing that the description does not have, and
// the fast path answers like Express.
import fc from 'fast-check'
import { ROUTES } from '../src/producer/routes/table.ts'
import { type Description, type Operation, readDescription } from './description.ts'
import { createClient, type Wire } from './exchange.ts'
import { createKnown, type Known } from './known.ts'
import { type CredentialKind, type FuzzRequest, requestsFor } from './requests.ts'
import { type Answer, createJudge } from './verdict.ts'

export interface Target {
  url: string
  /** A key of each kind; of `lacking` for a permission that it does not have. */
  keyOf: (kind: CredentialKind, permission: string) => string | undefined
  signatureOf: (body: string) => string
}

export interface Finding {
  fault: string
  wire: Wire
  answer: string
}

export interface FuzzReport {
  sent: number
  /** Requests that were sent both ways. */
  compared: number
  /** Could not be put on the wire, or were cut off. */
  unsent: number
  /** Operation → status → how often. */
  seen: Map<string, Map<number, number>>
  findings: Finding[]
}

const AT_ONCE = 16
/** Requests of one operation that are made at a time. */
const ROUND = 8
/** More than that nobody reads. */
const FINDINGS_MAX = 50

/** Sends `requests` requests, the same for the same seed. */
export async function fuzz(target: Target, options: { requests: number; seed: number }): Promise<FuzzReport> {
  const description = await readDescription(target.url)
  const judge = createJudge(description)
  const client = createClient(target.url, AT_ONCE)
  const known = createKnown()
  const report: FuzzReport = { sent: 0, compared: 0, unsent: 0, seen: new Map(), findings: [] }

  async function attempt(request: FuzzRequest, turn: number): Promise<void> {
    const wire = wireOf(request, target, known, turn)
    const answer = await client.send(wire)
    report.sent += 1
    if (answer === undefined) {
      report.unsent += 1
      return
    }
    // What another account makes is its own.
    if (request.credential === 'right') known.learn(answer.text)
    count(report, request.operation, answer.status)
    const fault = judge(request, wire.path, answer)
    if (fault !== undefined) note(report, { fault, wire, answer: answer.text })
    if (!isFast(request.operation) || request.method !== 'POST' || request.query !== '') return
    // A question mark with nothing behind it is the same address, and none for the fast path.
    const other = await client.send({ ...wire, path: `${wire.path}?` })
    if (other === undefined) return
    report.compared += 1
    if (shape(answer) !== shape(other)) {
      note(report, { fault: `the two ways answer differently: ${shape(answer)} and ${shape(other)}`, wire, answer: '' })
    }
  }

  const requests = generate(description, options)
  let turn = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = requests.next(); !next.done; next = requests.next()) {
        turn += 1
        await attempt(next.value, turn)
      }
    }),
  )
  client.close()
  return report
}

/** Round by round over all operations, so that what one makes the next may use. */
function* generate(description: Description, options: { requests: number; seed: number }): Generator<FuzzRequest> {
  const sources = description.operations.map((operation) => requestsFor(operation, description))
  const perRound = Math.min(ROUND, Math.ceil(options.requests / sources.length))
  let left = options.requests
  for (let round = 0; left > 0; round += 1) {
    const made = sources.map((source, place) =>
      fc.sample(source, { seed: options.seed * 1_000_003 + round * 1_009 + place, numRuns: perRound }),
    )
    for (let place = 0; place < perRound; place += 1) {
      for (const each of made) {
        const request = each[place]
        if (request === undefined || left === 0) continue
        left -= 1
        yield request
      }
    }
  }
}

function wireOf(request: FuzzRequest, target: Target, known: Known, turn: number): Wire {
  const { operation, credential, body, params } = request
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? ''
    return value === 'KNOWN' ? known.param(operation, name, turn) : pathSegment(value)
  })
  const key = target.keyOf(credential, operation.permission ?? 'admin')
  // First, so that it is there also where headers are too many and the last of them are not read.
  const headers: Record<string, string> = { 'x-request-id': `fuzz-${turn}`, ...request.headers }
  headers['x-request-id'] = `fuzz-${turn}`
  if (operation.key === 'bearer' && key !== undefined) headers.authorization = `Bearer ${key}`
  if (operation.key === 'basic' && key !== undefined) {
    headers.authorization = `Basic ${Buffer.from(`fuzz:${key}`).toString('base64')}`
  }
  let text: string | undefined
  if (body && 'json' in body) {
    const keyed = operation.key === 'api_key' ? withKey(body.json, key) : body.json
    text = (JSON.stringify(keyed) ?? '').replaceAll('KNOWN:message', known.take('message', turn))
    headers['content-type'] = 'application/json'
  } else if (body) {
    text = body.text
    if (body.type !== undefined) headers['content-type'] = body.type
  }
  // Two of three webhooks are signed: behind a wrong signature there is nothing to find.
  if (text !== undefined && operation.path.startsWith('/webhooks') && Math.floor(turn / 7) % 3 > 0) {
    headers['X-Hub-Signature-256'] = target.signatureOf(text)
  }
  return { method: request.method, path: path + request.query, headers, body: text }
}

function withKey(value: unknown, key: string | undefined): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !('api_key' in value)) return value
  const { api_key: _shown, ...rest } = value
  return key === undefined ? rest : { api_key: key, ...rest }
}

/** As most clients write it; now and then as it is, which may be no path at all. */
function pathSegment(value: string): string {
  const short = value.slice(0, 2_000)
  return short.startsWith('%') || short.includes('..') ? short : encodeURIComponent(Buffer.from(short).toString())
}

const FAST: ReadonlySet<string> = new Set(ROUTES.filter(({ isFast }) => isFast).map(({ path }) => path))
const isFast = ({ path }: Operation): boolean => FAST.has(path)

/** What two answers to the same request have in common: all but ids, and how far a message is by now. */
function shape({ status, headers, text }: Answer): string {
  const kept = ['content-type', 'x-laneway-ignored', 'www-authenticate', 'retry-after'].map((name) => headers[name])
  return JSON.stringify([status, ...kept, status < 400 ? outline(JSON.parse(text)) : text])
}

/** The names of fields without what is in them. */
function outline(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(outline)
  if (typeof value !== 'object' || value === null) return '_'
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, outline(each)]))
}

function count({ seen }: FuzzReport, { id }: Operation, status: number): void {
  const statuses = seen.get(id) ?? new Map<number, number>()
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
  seen.set(id, statuses)
}

function note({ findings }: FuzzReport, finding: Finding): void {
  if (findings.length < FINDINGS_MAX) findings.push(finding)
}
