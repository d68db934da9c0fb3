// Pins: what events are made of: their stored lines, their signature, the times of retries, safe targets, cursors.
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { readCursor, writeCursor } from '../../src/events/store/pull-cursor.ts'
import { acceptedAtMs, newUlid } from '../../src/kernel/message-id.ts'
import { isCidr } from '../../src/kernel/networks.ts'
import { eventId, readEntry } from '../../src/model/events/outbox-entry.ts'
import { probeWaitMs, retryWaitMs } from '../../src/model/events/retry-times.ts'
import { readRetryAfter } from '../../src/outbound/answers.ts'
import { newSecret, signatures } from '../../src/outbound/signatures.ts'
import { createTargetRule, literalHost } from '../../src/outbound/target-rule.ts'

describe('an entry of an outbox', () => {
  const ulid = newUlid(1_800_000_000_000)
  test('has each change of a message with its state, its position in the life, its time and its problem', () => {
    const [sent, failed] = readEntry(7, '5-1', `${ulid}s3,rs,\n${ulid}f!12,-a,131026|No | way`)
    expect(sent).toEqual({
      ...{ source: 7, entry: '5-1', line: 0 },
      occurrence: {
        ...{ about: 'message', ulid, state: 'sent', possibleDuplicate: false, seq: 3 },
        ...{ at: acceptedAtMs(ulid) + 1_000, problem: undefined, isFirstProofOfDelivery: false },
      },
    })
    // Repeated in doubt: that the repeat failed proves nothing about the attempt before.
    expect(failed?.occurrence).toMatchObject({
      state: 'unknown',
      possibleDuplicate: true,
      seq: 12,
      at: acceptedAtMs(ulid) - 10,
    })
    expect(failed?.occurrence).toMatchObject({ problem: { code: '131026', sentence: 'No | way' } })
    expect(failed && eventId(failed)).toBe('evt_7_5_1_1')
  })

  test('marks a reading that is the first proof of delivery', () => {
    const told = readEntry(7, '5-1', `${ulid}r4,1,+\n${ulid}r5,1,\n${ulid}f3,1,+`)
    expect(
      told.map(({ occurrence }) => 'isFirstProofOfDelivery' in occurrence && occurrence.isFirstProofOfDelivery),
    ).toEqual([true, false, false])
  })

  test('is parsed without unreadable lines, and each line keeps its number', () => {
    const text = ['', '{"about":"later"}', '{"about":', 'nonsense', `${ulid}d4,1,`].join('\n')
    expect(readEntry(1, '1-0', text).map(({ line }) => line)).toEqual([4])
  })
})

describe('a signature', () => {
  test('is one that consumers of Standard Webhooks accept, by the new secret and by the old one', () => {
    const [secret, old] = [newSecret(), newSecret()]
    const seconds = Math.floor(Date.now() / 1_000)
    const body = '{"type":"message.read"}'
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signatures([secret, old], { id: 'evt_1', seconds, body }),
    }
    for (const known of [secret, old])
      expect(new Webhook(known).verify(body, headers)).toEqual({ type: 'message.read' })
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow()
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow()
  })
})

describe('retries', () => {
  const schedule = [5_000, 300_000]
  test('follow the schedule, a fifth earlier or later, until they are used up', () => {
    expect([0, 0.5, 1].map((random) => retryWaitMs(schedule, 1, undefined, random))).toEqual([4_000, 5_000, 6_000])
    expect(retryWaitMs(schedule, 2, undefined, 0.5)).toBe(300_000)
    expect(retryWaitMs(schedule, 3, undefined, 0.5)).toBeUndefined()
  })
  test('follow the wait that the endpoint asks for, up to a day', () => {
    expect(retryWaitMs(schedule, 1, 60_000, 0)).toBe(60_000)
    expect(retryWaitMs(schedule, 1, 999_999_999, 0)).toBe(86_400_000)
    expect(readRetryAfter('7', 0)).toBe(7_000)
    expect(readRetryAfter('Thu, 01 Jan 1970 00:01:00 GMT', 20_000)).toBe(40_000)
    expect(readRetryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 20_000)).toBe(0)
    for (const none of [undefined, '', 'soon', '-1']) expect(readRetryAfter(none, 0) ?? 0).toBe(0)
  })
  test('try a failing endpoint with something new within a minute', () => {
    expect([1, 2, 3, 4, 5, 6, 100].map((n) => probeWaitMs(n, undefined))).toEqual([
      1_000, 5_000, 15_000, 30_000, 60_000, 60_000, 60_000,
    ])
    expect(probeWaitMs(1, 120_000)).toBe(120_000)
  })
})

describe('a target', () => {
  const strict = createTargetRule([])
  test('is refused when it is not on the Internet, in whatever form it is written', () => {
    const unsafe = [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '192.168.0.1',
      '172.31.255.255',
      '100.64.0.1',
      '0.0.0.0',
    ]
    const six = [
      '::1',
      '::',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      'fe80::1',
      'fe80::1%eth0',
      'fc00::1',
      '64:ff9b::7f00:1',
      // What a translator makes of an IPv4 address, and what nobody has been given.
      '::ffff:0:127.0.0.1',
      '::ffff:0:a9fe:a9fe',
      '1::1',
      '4000::1',
    ]
    for (const address of [...unsafe, ...six, '2002:7f00:1::', '255.255.255.255', 'example.com', '']) {
      expect(strict.unsafe(address, true), address).toBe('private')
    }
    for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111']) {
      expect(strict.unsafe(address, true), address).toBeUndefined()
      expect(strict.unsafe(address, false), address).toBe('insecure')
    }
  })
  test('is accepted, also over http, in a network that an operator has named', () => {
    const named = createTargetRule(['127.0.0.0/8', 'fd00::/8'])
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1', 'fd00::5'])
      expect(named.unsafe(address, false)).toBeUndefined()
    for (const address of ['10.0.0.1', '::1', 'fc00::1']) expect(named.unsafe(address, true)).toBe('private')
  })
  test('is recognized as an IP address in any spelling of a URL', () => {
    const host = (url: string) => literalHost(new URL(url).hostname)
    expect(host('http://2130706433/')).toBe('127.0.0.1')
    expect(host('http://0x7f.1/')).toBe('127.0.0.1')
    expect(host('http://[::1]:80/')).toBe('::1')
    expect(host('http://localhost/')).toBeUndefined()
  })
  test('is not allowed by an invalid network', () => {
    for (const text of ['10.0.0.0', '10.0.0.0/33', 'x/8', '::/129', '10.0.0.0/8/1', '/8'])
      expect(isCidr(text)).toBe(false)
  })
})

describe('a cursor of the feed', () => {
  const place = fc.tuple(fc.nat({ max: 2 ** 40 }), fc.nat({ max: 2 ** 45 }), fc.nat(1e6), fc.nat(1_000))
  test('is read back unchanged, and takes twelve bytes per lane', () => {
    fc.assert(
      fc.property(fc.uniqueArray(place, { selector: ([source]) => source, maxLength: 50 }), (list) => {
        const places = new Map(list.map(([source, ms, seq, lines]) => [source, { entry: `${ms}-${seq}`, lines }]))
        expect(readCursor(writeCursor(places))).toEqual(places)
      }),
    )
    const hundred = new Map(Array.from({ length: 100 }, (_, lane) => [lane, { entry: '1795255202000-0', lines: 1 }]))
    expect(writeCursor(hundred).length).toBeLessThan(100 * 13)
  })
  test('is refused when it was made up', () => {
    fc.assert(fc.property(fc.string(), (text) => void readCursor(text)))
    for (const text of ['', 'abc', '!', 'AQ==', 'Af8']) expect(readCursor(text)).toBeUndefined()
  })
})
