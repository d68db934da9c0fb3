// Pins: what a client writes into X-Forwarded-For is believed only where a proxy of ours has put something behind it.
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { insideOf, isWithin, networkSchema } from '../../src/kernel/networks.ts'
import { createClientAddress } from '../../src/producer/gate.ts'

const from = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

test.each([
  ['without a proxy it is the connection', [], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
  ['another host than the proxy is not believed', ['10.0.0.0/8'], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
  ['a proxy names the client', ['10.0.0.0/8'], '10.1.2.3', '198.51.100.1', '198.51.100.1'],
  [
    'what the client wrote before is not believed',
    ['10.0.0.0/8'],
    '10.1.2.3',
    '203.0.113.9, 198.51.100.1',
    '198.51.100.1',
  ],
  ['two proxies in a row', ['10.0.0.0/8'], '10.1.2.3', '198.51.100.1, 10.9.9.9', '198.51.100.1'],
  ['a proxy that names nobody', ['10.0.0.0/8'], '10.1.2.3', undefined, '10.1.2.3'],
  ['IPv4 that is written as IPv6', ['10.0.0.0/8'], '::ffff:10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
] as const)('%s', (_what, proxies, remote, forwarded, expected) => {
  expect(createClientAddress(proxies)(from(remote, forwarded))).toBe(expected)
})

describe('a network', () => {
  test('is an address, optionally with a prefix length, and nothing else', () => {
    for (const text of ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1', '0.0.0.0/0']) {
      expect(networkSchema.safeParse(text).success, text).toBe(true)
    }
    for (const text of [
      '',
      'x',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0/8',
      '::1/129',
      'fe80::1%eth0',
      '1/2/3',
    ]) {
      expect(networkSchema.safeParse(text).success, text).toBe(false)
    }
  })

  test('contains what is inside, of its own family only', () => {
    const isInside = insideOf(['10.0.0.0/8', '2001:db8::/32'])
    for (const address of ['10.255.0.1', '::ffff:10.0.0.1', '2001:db8:1::1'])
      expect(isInside(address), address).toBe(true)
    for (const address of ['11.0.0.1', '2001:db9::1', '', 'x']) expect(isInside(address), address).toBe(false)
  })

  test('is inside another one only as a whole', () => {
    expect(isWithin('10.1.0.0/16', ['10.0.0.0/8'])).toBe(true)
    expect(isWithin('10.0.0.0/7', ['10.0.0.0/8'])).toBe(false)
    expect(isWithin('::/0', ['10.0.0.0/8'])).toBe(false)
  })
})
