// Pins small things that a reviewer found: headers of answers, cells of CSV, what a terminal is sent, ids in log lines, and
// pages that talk to the simulator. Real: Redis, HTTP, producer, simulator.
import { expect } from 'vitest'
import { startSimulator } from '../../packages/simulator/src/simulator.ts'
import { printableJson } from '../../src/cli/print.ts'
import { csvLine } from '../../src/files/csv.ts'
import { withoutNumbers } from '../../src/kernel/masked.ts'
import { serviceTest } from '../support/fixtures.ts'

const test = serviceTest({ worker: false })

test.for([
  ['POST', '/chatappbusiness/fetchmessageinfo', 404],
  ['POST', '/sendservicemessages/sendmessages', 400],
  ['GET', '/messages', 200],
  ['GET', '/admin/people/447700900123', 403],
  ['GET', '/nowhere', 404],
  ['DELETE', '/messages', 405],
] as const)(
  'the answer of %s %s is not cached, not sniffed by browsers and leaks no address',
  async ([method, path, status], { tenant }) => {
    const body = method === 'POST' ? { api_key: tenant.apiKey, message_id: 'x' } : undefined
    const answer = await tenant.api.request(method, path, body)
    expect(answer.status).toBe(status)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(answer.headers.get('x-powered-by')).toBeNull()
  },
)

test('an answer that is not JSON is not sniffed either', async ({ service }) => {
  const shake = await fetch(
    `${service.url}/webhooks/cloud-api?hub.mode=subscribe&hub.verify_token=verify-token&hub.challenge=%3Cscript%3E`,
  )
  expect([await shake.text(), shake.headers.get('x-content-type-options')]).toEqual(['<script>', 'nosniff'])
})

test('a CSV cell stays one cell where others separate by semicolons or tabs', () => {
  expect(csvLine(['x;=1+1', 'a\tb', 'plain'])).toBe('"x;=1+1","a\tb",plain\n')
})

test('a JSON document sends no control character to a terminal and keeps its meaning', () => {
  const document = { name: 'a\u009b31m\u202eb\u007f\u001b[2J', list: ['é', '\n'] }
  const text = printableJson(document)
  expect([...text].filter((one) => one !== '\n' && /[\p{Cc}\u202e]/u.test(one))).toEqual([])
  expect(JSON.parse(text)).toEqual(document)
})

test.each([
  ['order-447700900123', 'order-…'],
  ['+44 (7700) 900-123', '+…'],
  ['order-17', 'order-17'],
])('for the job id %j the log has %j', (id, shown) => {
  expect(withoutNumbers(id)).toBe(shown)
})

test('a web page cannot control the simulator, and a person with curl can', async () => {
  const simulator = await startSimulator({ port: 0 })
  const control = (headers: Record<string, string>) =>
    fetch(`${simulator.url}/_control`, { method: 'POST', body: '{}', headers })
  expect((await control({ origin: 'https://evil.example', 'content-type': 'text/plain' })).status).toBe(403)
  expect((await control({ 'content-type': 'text/plain' })).status).not.toBe(403)
  await simulator.close()
})
