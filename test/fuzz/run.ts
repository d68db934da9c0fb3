// Throws generated requests at a producer and judges each answer: no 5xx and nothing that the description does not have;
// and at the producer: no long turn, no memory that stays, nothing of another account.
import fc from 'fast-check'
import type { ProducerState } from './apart.ts'
import { type Description, type Operation, readDescription } from './description.ts'
import { createClient, NoAnswer, type Wire } from './exchange.ts'
import { createKnown, type Known } from './known.ts'
import { faultOfRaw, RAW_KINDS, sendRaw } from './raw.ts'
import { type CredentialKind, type FuzzRequest, requestsFor } from './requests.ts'
import { createJudge } from './verdict.ts'

export interface Target {
  url: string
  /** A key of each kind; of `lacking` one that has none of the permissions. */
  keyOf: (kind: CredentialKind, permissions: readonly string[]) => string | undefined
  signatureOf: (body: string) => string
  /** A word that stands in everything of the main account, and one in everything of the other one. */
  canaries: { main: string; other: string }
  /** How a producer in a process of its own is; not there where it is not alone in its process. */
  look?: () => Promise<ProducerState>
}

export interface Finding {
  fault: string
  wire: Wire
  answer: string
}

export interface FuzzReport {
  sent: number
  /** Of them those that no HTTP client sends, see raw.ts. */
  raw: number
  /** The longest turn of the producer's event loop, in ms of CPU time, and what its memory grew by after the first fifth. */
  longestMs: number
  grownMb: number
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
/** One in so many is a raw one. */
const RAW_EVERY = 40
/** Nobody is answered while a turn lasts. */
const TURN_MS = 100
/** The producer is asked how it is after so many. */
const LOOK_EVERY = 200
/** What caches and compiled code take after the first fifth of a long run. */
const GROWN_MB = 64

/** Sends `requests` requests, the same for the same seed. */
export async function fuzz(target: Target, options: { requests: number; seed: number }): Promise<FuzzReport> {
  const description = await readDescription(target.url)
  const judge = createJudge(description)
  const client = createClient(target.url, AT_ONCE)
  const known = createKnown()
  const report: FuzzReport = {
    sent: 0,
    raw: 0,
    longestMs: 0,
    grownMb: 0,
    unsent: 0,
    seen: new Map(),
    findings: [],
  }

  /** A server that keeps silent is a finding, which says to what; the run goes on. */
  const silence =
    (wire: Wire) =>
    (error: unknown): undefined => {
      if (!(error instanceof NoAnswer)) throw error
      note(report, { fault: error.message, wire, answer: '' })
    }

  async function attempt(request: FuzzRequest, turn: number): Promise<void> {
    const wire = wireOf(request, target, known, turn)
    const answer = await client.send(wire).catch(silence(wire))
    report.sent += 1
    if (answer === undefined) {
      report.unsent += 1
      return
    }
    // What another account makes is its own.
    if (request.credential === 'right') known.learn(answer.text)
    count(report, request.operation, answer.status)
    const foreign = request.credential === 'other' ? target.canaries.main : target.canaries.other
    const isLeak = answer.text.includes(foreign)
    const fault = isLeak ? 'it tells what is another account’s' : judge(request, wire.path, answer)
    if (fault !== undefined) note(report, { fault, wire, answer: answer.text })
  }

  /** One of raw.ts, with the key of an account or none. */
  async function attemptRaw(turn: number): Promise<void> {
    const place = Math.floor(turn / RAW_EVERY)
    const operation = description.operations[(place * 7) % description.operations.length]
    const kind = RAW_KINDS[place % RAW_KINDS.length]
    if (operation === undefined || kind === undefined) return
    const key = place % 3 === 0 ? undefined : target.keyOf('right', operation.permissions)
    const asked = { kind, operation, key, turn: place + options.seed }
    const answer = await sendRaw(target.url, asked)
    report.raw += 1
    const isLeak = answer.text.includes(target.canaries.other)
    const fault = isLeak ? 'it tells what is another account’s' : faultOfRaw(asked, answer)
    const wire = { method: operation.method, path: operation.path, headers: {}, body: kind }
    if (fault !== undefined) note(report, { fault, wire, answer: answer.text })
  }

  let firstBytes: number | undefined
  /** How the producer is. */
  async function look(turn: number): Promise<void> {
    const state = await target.look?.()
    if (state === undefined) return
    report.longestMs = Math.max(report.longestMs, state.longestMs)
    if (state.longestMs > TURN_MS) {
      const wire = { method: '', path: `the ${LOOK_EVERY} requests before ${turn}`, headers: {}, body: undefined }
      note(report, { fault: `a turn of ${state.longestMs.toFixed(0)} ms`, wire, answer: '' })
    }
    if (turn < options.requests / 5) return
    firstBytes ??= state.heldBytes
    report.grownMb = (state.heldBytes - firstBytes) / 1024 ** 2
  }

  const requests = generate(description, options)
  let turn = 0
  // What starting has cost.
  await target.look?.()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = requests.next(); !next.done; next = requests.next()) {
        turn += 1
        const mine = turn
        await attempt(next.value, mine)
        if (mine % RAW_EVERY === 0) await attemptRaw(mine)
        if (mine % LOOK_EVERY === 0) await look(mine)
      }
    }),
  )
  client.close()
  await look(turn)
  if (report.grownMb > GROWN_MB) {
    const wire = { method: '', path: 'the whole run', headers: {}, body: undefined }
    note(report, { fault: `memory grew by ${report.grownMb.toFixed(0)} MB`, wire, answer: '' })
  }
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
  const key = target.keyOf(credential, operation.permissions)
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

function count({ seen }: FuzzReport, { id }: Operation, status: number): void {
  const statuses = seen.get(id) ?? new Map<number, number>()
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
  seen.set(id, statuses)
}

function note({ findings }: FuzzReport, finding: Finding): void {
  if (findings.length < FINDINGS_MAX) findings.push(finding)
}
