// Pins: the made parts of docs are those of the product; and on the ways of accepting a message, of sending it and of taking a webhook
// no file calls back into one that has called it, handed-down functions included. Real: the built service in one process, Redis, HTTP.
// Stood in for: WhatsApp.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

test('settings, command line, addresses, the simulator’s numbers and the ways in docs match the product', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/docs.mjs', '--check'], { encoding: 'utf8' })
  expect(stderr.replaceAll(/^.*Building.*\n/gm, '')).toBe('')
  expect(status).toBe(0)
})

const part = z.object({
  name: z.string(),
  files: z.array(z.string()).min(10),
  callsBack: z.array(z.string()),
})
const parts = z.array(part).min(1)
const schema = z.strictObject({ accept: parts, send: parts, webhook: parts, campaign: parts })

test('the code that accepts and sends a message or takes a webhook is called from file to file in one direction', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/ways.mjs'], { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const ways = schema.parse(JSON.parse(stdout))
  const back = (each: z.infer<typeof parts>) => each.flatMap(({ callsBack }) => callsBack)
  const { accept, send, webhook } = ways
  const calls = { accept: back(accept), send: back(send), webhook: back(webhook) }
  expect(calls).toEqual({ accept: [], send: [], webhook: [] })
  // The next ones to be put straight.
  console.log(`calls back: ${JSON.stringify({ campaign: back(ways.campaign) }, null, 2)}`)
})

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'laneway-ways-page-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** What is wrong with the ways on the page of the project after this change. */
function faultsAfter(from: string, to: string) {
  const text = readFileSync('docs/how-it-works/architecture.md', 'utf8')
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  const page = join(dir, 'page.md')
  writeFileSync(page, changed)
  const { status, stdout } = spawnSync(process.execPath, ['scripts/ways.mjs', '--page', page], { encoding: 'utf8' })
  return { status, faults: stdout.split('\n').filter((line) => line !== '') }
}

const BUDGET = 'overload/event-loop-budget.ts'

test('a way that lacks a file is reported as out of date', () => {
  expect(faultsAfter(`http-server.ts, ${BUDGET}`, 'http-server.ts')).toEqual({
    status: 1,
    faults: [`A message is accepted: producer/${BUDGET} is entered and not listed`],
  })
})

test('a way with two files exchanged is reported as out of date', () => {
  expect(faultsAfter(`http-server.ts, ${BUDGET}`, `${BUDGET}, http-server.ts`)).toEqual({
    status: 1,
    faults: [`A message is accepted: producer/${BUDGET} is listed before producer/http-server.ts and entered after it`],
  })
})

test('a way with a file that is never called is reported as out of date', () => {
  expect(faultsAfter(`http-server.ts, ${BUDGET}`, `http-server.ts, wrong-keys.ts, ${BUDGET}`)).toEqual({
    status: 1,
    faults: ['A message is accepted: producer/wrong-keys.ts is listed and not entered'],
  })
})
