// `messages send`: a text, or a message of any kind, as POST /messages takes it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { runCli } from '../support/cli.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'laneway-send-'))
let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await service?.close()
})

const cli = (...words: string[]) =>
  runCli(['messages', 'send', '--account', String(tenant.account), ...words], service.settings)

async function sent(...words: string[]): Promise<string> {
  const run = await cli(...words, '--json')
  expect(run.code, run.stderr).toBe(0)
  return z.object({ data: z.object({ id: z.string() }) }).parse(JSON.parse(run.stdout)).data.id
}

const shown = async (id: string) => (await tenant.api.get(`/messages/${id}`)).json

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

test('a text is queued for the sender that is named, not before its time, and is in the activity', async () => {
  const words = ['--to', '+49 170 0000001', '--text', 'Hi', '--sender', tenant.cloudNumber]
  const id = await sent(...words, '--send-at', 'tomorrow', '--zone', 'UTC')
  expect(await shown(id)).toMatchObject({
    data: {
      state: 'queued',
      to: '491700000001',
      text: 'Hi',
      sender: tenant.cloudNumber,
      send_at: expect.stringContaining('T00:00:00'),
    },
  })
  const activity = (await (await tenant.apiWith('admin')).get('/admin/activity?limit=1')).json
  expect(activity).toMatchObject({ data: [{ action: 'message.send', target: id }] })
})

test('a message of any kind comes from a file, and what is typed counts before it', async () => {
  const image = { to: '+491700000002', type: 'image', image: { link: 'https://shop.example/a.png', caption: 'A cat' } }
  const id = await sent('--body', file('image.json', image), '--to', '+491700000003')
  expect(await shown(id)).toMatchObject({ data: { kind: 'image', to: '491700000003' } })
})

test('a repeat with the same key sends nothing twice', async () => {
  const words = ['--to', '+491700000004', '--text', 'Hi', '--idempotency-key', 'order 7']
  expect(await sent(...words)).toBe(await sent(...words))
  const other = await cli('--to', '+491700000005', '--text', 'Hi', '--idempotency-key', 'order 7')
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('Idempotency-Key')])
})

test.each([
  [['--text', 'Hi'], 1, 'to: required'],
  [['--to', '12', '--text', 'Hi'], 1, 'to:'],
  [['--to', '+491700000006', '--text', 'Hi', '--sender', 'nobody'], 1, 'sender:'],
  [['--to', '+491700000006'], 2, 'give either a text or a body'],
  [['--to', '+491700000006', '--text', 'Hi', '--body', file('one.json', {})], 2, 'give either a text or a body'],
  [['--to', '+491700000006', '--body', file('list.json', [1])], 1, 'expected a JSON object'],
  [['--to', '+491700000006', '--body', file('odd.json', { type: 'text', text: { body: 'Hi' }, note: 1 })], 1, 'note:'],
])('%j is refused', async (words, code, sentence) => {
  const run = await cli(...words)
  expect(run.code, run.stderr).toBe(code)
  expect(run.stderr).toContain(sentence)
})
