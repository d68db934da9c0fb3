// Pins: a client with a network of IPv6 addresses is one client, however its addresses are spelled, for the rate of an
// address, for wrong keys and at the sign-in; and a port that a proxy writes behind an address makes no other client of it.
import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { clientOf } from '../../src/kernel/networks.ts'
import { createSignInAttempts } from '../../src/producer/api/console/handlers.ts'
import { createClientAddress } from '../../src/producer/gate.ts'
import { createWrongKeys } from '../../src/producer/wrong-keys.ts'

const SAME = [
  // Its network has zeros, which are left out in the short spelling: the same first half looks like another one.
  ['2001:db8::a:b:c:d', '2001:db8::1', '2001:db8:0:0:ffff::', '2001:DB8::', '2001:db8:0:0:1:2:3:4', '2001:db8::1%eth0'],
  ['2001:db8:0:7::1', '2001:db8:0:7:a:b:c:d', '2001:0db8:0000:0007::2'],
  ['2001:db8:7::1', '2001:db8:7:0:1:2:3:4', '2001:db8:7::a:b:c:d'],
  ['192.0.2.7', '::ffff:192.0.2.7'],
  ['2001::db8:1:2:3:192.0.2.7', '2001:0:db8:1:2:3:c000:207'],
  ['fe80::1:2:3:4%eth0.1', 'fe80::9'],
] as const

test('all addresses of one IPv6 network count as one client, and those of another network as another', () => {
  expect(SAME.map((addresses) => new Set(addresses.map(clientOf)).size)).toEqual(SAME.map(() => 1))
  expect(new Set(SAME.map(([first]) => clientOf(first))).size).toBe(SAME.length)
})

test('a client that tries wrong keys from changing addresses of a network is limited like one address', async () => {
  const wrongKeys = createWrongKeys()
  for (let i = 0; i < 400; i += 1) await wrongKeys.delayOf(`2001:db8::${i.toString(16)}:0:0:1`)
  expect(await wrongKeys.delayOf('2001:db8::ffff:0:0:1')).toBeGreaterThan(0)
  expect(await wrongKeys.delayOf('2001:db8:0:1::1')).toBe(0)
})

test('the sign-in counts wrong keys of a network together', () => {
  const attempts = createSignInAttempts()
  for (let i = 0; i < 10; i += 1) attempts.failed(`2001:db8::${i}:0:0:1`)
  expect(attempts.waitSeconds('2001:db8::9999:0:0:1')).toBeGreaterThan(0)
  expect(attempts.waitSeconds('2001:db8:0:1::1')).toBe(0)
})

test.each([
  ['198.51.100.7:50123', '198.51.100.7'],
  ['[2001:db8::7]:50123', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
])('a proxy that writes %s into X-Forwarded-For makes the client %s', (written, address) => {
  const addressOf = createClientAddress(['127.0.0.0/8'])
  const request = { socket: { remoteAddress: '127.0.0.1' }, headers: { 'x-forwarded-for': `203.0.113.9, ${written}` } }
  expect(addressOf(request as unknown as IncomingMessage)).toBe(address)
})
