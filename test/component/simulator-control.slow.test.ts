// Pins: what steers the simulator while it runs, and the ledger as a reader of its endpoint sees it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { StartError } from '../../packages/simulator/src/config.ts'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import {
  cloudText,
  codeOf,
  idOf,
  lookUp,
  partnerImage,
  partnerTemplate,
  post,
  postCloud,
  postPartner,
  readLedger,
  startWebhookReceiver,
} from '../support/simulator-wires.ts'

const TO = '+491701234567'

let simulator: Simulator
beforeEach(async () => {
  simulator = await startSimulator({ port: 0, sentMs: 0, deliveredMs: 0, readMs: 0 })
})
afterEach(() => simulator.close())

const control = (body: unknown) => post(`${simulator.url}/_control`, body)
const sendCode = async (body = cloudText(TO), sender = '1') => {
  const answer = await postCloud(simulator.url, body, sender)
  return answer.status === 200 ? 200 : codeOf(answer)
}

describe('a rule', () => {
  test('applies to matching messages, as often as it states', async () => {
    await control({ match: { to: TO, sender: '1', wire: 'cloud' }, behaviour: 'rate-limited', count: 1 })
    expect(await sendCode(cloudText('+491709999999'))).toBe(200)
    expect(await sendCode(cloudText(TO), '2')).toBe(200)
    idOf(await postPartner(simulator.url, partnerImage(TO)))
    expect(await sendCode()).toBe(130429)
    expect(await sendCode()).toBe(200)
  })

  test('combines with another that changes another part', async () => {
    const receiver = await startWebhookReceiver()
    await control({ webhook_url: receiver.url })
    await control({ behaviour: 'garbage' })
    await control({ behaviour: 'undeliverable' })
    await expect(postCloud(simulator.url, cloudText(TO))).rejects.toThrow(SyntaxError)
    await receiver.until(() => receiver.statuses().length === 1)
    const [line] = await readLedger(simulator.url)
    expect(receiver.statuses()).toMatchObject([{ id: line?.id, status: 'failed' }])
    await receiver.close()
  })

  test('is listed with its remaining count, and gone after clear', async () => {
    const set = await control({ match: { every: 2 }, behaviour: 'slow', count: 3 })
    expect(set.body).toEqual({
      rules: [{ match: { every: 2 }, behaviour: 'slow', left: 3 }],
      lookup_delay_ms: 0,
      answer_delay_ms: 0,
      webhook_url: null,
      honours_idempotency: false,
      pair_limit: false,
      window_24h: false,
      physics: [],
      account: { waba_id: null, templates: 1, page: 1_000, refuse: null, paging: 'good', asked: 0 },
      throughput: null,
      links_refused: false,
      uploads_refused_with: null,
      upload_delay_ms: 0,
      media_lasts_ms: 30 * 86_400_000,
    })
    expect((await control({ clear: true })).body).toMatchObject({ rules: [] })
  })

  test('may replace all others in one request', async () => {
    await control({ behaviour: 'rate-limited' })
    const set = await control({ clear: true, behaviour: 'pair-limited' })
    expect(set.body).toMatchObject({ rules: [{ behaviour: 'pair-limited' }] })
    expect(await sendCode()).toBe(131056)
  })
})

describe('a limit', () => {
  // The simulator is in this process: no second passes between requests, however slow the machine is.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  test('of throughput refuses the message above it with 130429 and Retry-After, for each sender', async () => {
    await control({ throughput: 5 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => postCloud(simulator.url, cloudText(TO), '1')))
    const refused = answers.filter((answer) => answer.status === 429)
    expect(refused).toHaveLength(5)
    expect(refused[0]?.headers.get('retry-after')).toBe('1')
    expect(await sendCode(cloudText(TO), '2')).toBe(200)
    await control({ throughput: null })
    expect(await sendCode()).toBe(200)
  })

  test('of one recipient refuses the 46th message with 131056', async () => {
    await control({ pair_limit: true })
    for (let sent = 0; sent < 45; sent += 1) expect(await sendCode()).toBe(200)
    expect(await sendCode()).toBe(131056)
    expect(await readLedger(simulator.url)).toHaveLength(45)
    await control({ pair_limit: false })
    expect(await sendCode()).toBe(200)
  })

  test('of 24 hours fails a message with 131047 until the person writes, and never a template', async () => {
    await control({ window_24h: true })
    const send = async (body: Record<string, unknown>) =>
      lookUp(simulator.url, idOf(await postPartner(simulator.url, body)))
    expect(await send(partnerImage(TO))).toMatchObject({ status: 'failed', error_message: /131047/ })
    expect(await send(partnerTemplate(TO))).toMatchObject({ status: 'read' })
    await post(`${simulator.url}/_inbound`, { sender: '1', from: TO })
    expect(await send(partnerImage(TO))).toMatchObject({ status: 'read' })
  })
})

test.each([
  [
    'an unknown behaviour',
    { behaviour: 'dance' },
    'behaviour: no behaviour has this name; GET /_behaviours lists them.',
  ],
  ['a match without a behaviour', { match: { to: TO } }, 'behaviour: is required with match, count or seed.'],
  ['a count without a behaviour', { count: 1 }, 'behaviour: is required with match, count or seed.'],
  ['a count of zero', { behaviour: 'slow', count: 0 }, 'count: '],
  ['a probability above one', { behaviour: 'slow', match: { probability: 2 } }, 'match.probability: '],
  ['an unknown condition', { behaviour: 'slow', match: { colour: 'red' } }, 'colour'],
  ['an unknown field', { behavior: 'slow' }, 'behavior'],
  ['an address that is none', { webhook_url: 'x' }, 'webhook_url: must be an absolute http or https address.'],
  ['a throughput of zero', { throughput: 0 }, 'throughput: '],
  ['clear: false', { clear: false }, 'clear: '],
  ['no JSON', '{', 'The body is not valid JSON.'],
])('%s is refused with 400 and a sentence, and changes nothing', async (_, body, sentence) => {
  const answer = await control(body)
  expect(answer.status).toBe(400)
  expect(answer.body).toEqual({ message: expect.stringContaining(sentence) })
  expect((await control({})).body).toMatchObject({ rules: [], throughput: null, webhook_url: null })
})

test('an underscore path that does not exist is 404', async () => {
  expect((await post(`${simulator.url}/_nothing`, {})).status).toBe(404)
  expect((await post(`${simulator.url}/_ledger`, {})).status).toBe(404)
})

describe('the ledger', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'simulator-ledger-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const countOf = async (base: string) => (await fetch(`${base}/_ledger?count=1`)).json()

  async function inMemoryAndInFile(check: (one: Simulator, file: string | null) => Promise<void>): Promise<void> {
    for (const ledgerFile of [null, join(folder, 'ledger.ndjson')]) {
      const one = await startSimulator({ port: 0, ledgerFile })
      await check(one, ledgerFile)
      await one.close()
    }
  }

  test('has a line for each accepted request in the order of acceptance, never merged, and counts them', async () => {
    await inMemoryAndInFile(async (one, file) => {
      // Memory keeps them in pieces of a thousand; a file waits for the disk before each answer.
      const count = file === null ? 1_050 : 150
      const ids: string[] = []
      for (let sent = 0; sent < count; sent += 50) {
        const batch = Array.from({ length: 50 }, () =>
          postCloud(one.url, cloudText(TO, { biz_opaque_callback_data: 'same' })),
        )
        ids.push(...(await Promise.all(batch)).map(idOf))
      }
      const lines = await readLedger(one.url)
      expect(lines.map((line) => line.id).sort()).toEqual(ids.sort())
      expect(lines.map((line) => line.at_ms)).toEqual(lines.map((line) => line.at_ms).sort((a, b) => a - b))
      expect(await countOf(one.url)).toEqual({ count })
    })
  })

  test('is empty at first and after DELETE, and goes on from there', async () => {
    await inMemoryAndInFile(async (one) => {
      expect(await readLedger(one.url)).toEqual([])
      idOf(await postCloud(one.url, cloudText(TO)))
      await fetch(`${one.url}/_ledger`, { method: 'DELETE' })
      expect(await readLedger(one.url)).toEqual([])
      expect(await countOf(one.url)).toEqual({ count: 0 })
      const id = idOf(await postCloud(one.url, cloudText(TO)))
      expect((await readLedger(one.url)).map((line) => line.id)).toEqual([id])
    })
  })

  test('in a file has its line on disk before the answer, and is continued by the next run', async () => {
    const ledgerFile = join(folder, 'ledger.ndjson')
    const first = await startSimulator({ port: 0, ledgerFile })
    const id = idOf(await postCloud(first.url, cloudText(TO)))
    expect(readFileSync(ledgerFile, 'utf8')).toContain(id)
    await first.close()
    const second = await startSimulator({ port: 0, ledgerFile })
    expect(await countOf(second.url)).toEqual({ count: 1 })
    const other = idOf(await postCloud(second.url, cloudText(TO)))
    expect((await readLedger(second.url)).map((line) => line.id)).toEqual([id, other])
    await second.close()
  })

  test('that cannot be opened keeps the simulator from starting', async () => {
    writeFileSync(join(folder, 'file'), '')
    const start = startSimulator({ port: 0, ledgerFile: join(folder, 'file', 'ledger.ndjson') })
    await expect(start).rejects.toThrow(StartError)
    await expect(start).rejects.toThrow(/^SIMULATOR_LEDGER_FILE cannot be opened for appending: /)
  })
})
