// Pins: requests made from the description, in order, changed and hostile, with all kinds of credentials, get no 5xx and
// nothing that is not described. The long form is `npm run fuzz`.
import { expect, test } from 'vitest'
import { createClient, NoAnswer } from '../fuzz/exchange.ts'
import { fuzz } from '../fuzz/run.ts'
import { openTarget } from '../fuzz/target.ts'
import { startTcpServer } from '../support/tcp-server.ts'

test('three hundred generated requests find no fault', async () => {
  const target = await openTarget()
  try {
    const { sent, raw, unsent, seen, findings } = await fuzz(target, { requests: 300, seed: 1 })
    expect(findings.map(({ fault, wire }) => `${wire.method} ${wire.path}: ${fault}`)).toEqual([])
    expect(sent).toBe(300)
    expect(unsent).toBeLessThan(30)
    expect(raw).toBe(7)
    const statuses = new Set([...seen.values()].flatMap((each) => [...each.keys()]))
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]))
  } finally {
    await target.close()
  }
})

test('a producer with a wrong description is detected', async () => {
  const target = await openTarget()
  try {
    // As if every key might do everything.
    const careless = { ...target, keyOf: () => target.keyOf('right', ['admin']) }
    const { findings } = await fuzz(careless, { requests: 300, seed: 1 })
    expect(findings.map(({ fault }) => fault).join()).toContain('though its credential is')
    // As if what is the account's own were another one's.
    const leaking = { ...target, canaries: { ...target.canaries, other: target.canaries.main } }
    const { findings: leaks } = await fuzz(leaking, { requests: 300, seed: 1 })
    expect(leaks.map(({ fault }) => fault)).toContain('it tells what is another account’s')
  } finally {
    await target.close()
  }
})

test('a server that stays silent is distinguished from one that hangs up', async () => {
  const server = await startTcpServer(() => undefined)
  const client = createClient(server.url, 1, 50)
  await expect(client.send({ method: 'GET', path: '/', headers: {}, body: undefined })).rejects.toThrow(NoAnswer)
  client.close()
  await server.close()
})
