// Pins: what the console writes of spans, numbers, sums, texts from outside, rights and lanes.
import { expect, test } from 'vitest'
import { boundWords, hasTraffic, isInTrouble, laneSentence } from '../../packages/console/src/logic/lane-words.ts'
import {
  besideFunnel,
  funnelOf,
  ledgerOf,
  type Progress,
  uncertainText,
} from '../../packages/console/src/logic/ledger.ts'
import { may, type Session } from '../../packages/console/src/logic/may.ts'
import {
  agoText,
  answerText,
  bytesText,
  counted,
  countText,
  rateText,
  shareText,
  spanText,
  timeMarks,
  valueMarks,
} from '../../packages/console/src/logic/numbers.ts'
import { plainText } from '../../packages/console/src/logic/plain-text.ts'
import { SHARE_COLUMNS } from '../../packages/console/src/logic/share-columns.ts'
import { stepText, timelineOf } from '../../packages/console/src/logic/timeline.ts'
import { sharesOf } from '../../src/model/campaigns/progress.ts'
import { LANE_BOUNDS, type LaneBound } from '../../src/telemetry/lane-bound.ts'

test.each([
  [0.4, 'under 1 s'],
  [1, '1 s'],
  [95, '1 min 35 s'],
  [120, '2 min'],
  [3_600, '1 h'],
  [3_725, '1 h 2 min'],
  [90_000, '1 d 1 h'],
  [86_460, '1 d'],
  [null, '–'],
])('a span of %s seconds is written in at most two units', (seconds, text) => {
  expect(spanText(seconds)).toBe(text)
})

test('an answer time is written in ms below a second', () => {
  expect([null, 0.0004, 0.302, 0.9996, 1.25, 64].map(answerText)).toEqual([
    ...['–', 'under 1 ms', '302 ms', '1.0 s', '1.3 s', '64.0 s'],
  ])
})

test('what bounds a lane has a short text and a sentence', () => {
  const waiting = { transactional: 1, campaign: 0 }
  const words = LANE_BOUNDS.map((bound) => boundWords({ bound, state: 'sending', waiting }))
  expect(new Set(words.map(({ word }) => word)).size).toBe(LANE_BOUNDS.length)
  for (const { means } of words) expect(means).toMatch(/^[A-Z].*\.$/)
  const unknown: unknown = 'the moon'
  expect(boundWords({ bound: unknown as LaneBound, state: 'sending', waiting }).word).toBe('the moon')
})

test('the age of figures counts from now, and the last moment is "just now"', () => {
  expect(agoText(10_000, 11_000)).toBe('just now')
  expect(agoText(0, 65_000)).toBe('1 min 5 s ago')
})

test('a share is 0 or 100 percent only when it is none or all', () => {
  expect(shareText(0, 10)).toBe('0 %')
  expect(shareText(1, 1_000_000)).toBe('under 0.1 %')
  expect(shareText(999_999, 1_000_000)).toBe('over 99.9 %')
  expect(shareText(5, 5)).toBe('100 %')
  expect(shareText(0, 0)).toBe('–')
})

test('counts, rates and bytes are written for people', () => {
  expect(countText(1_234_567)).toBe('1,234,567')
  expect([0.254, 7.52, 80, 1_157.4].map(rateText)).toEqual(['0.25', '7.5', '80', '1,157'])
  expect([0, 1_536, 1_073_741_824].map(bytesText)).toEqual(['0 B', '1.5 KB', '1 GB'])
  expect([counted(1, 'message'), counted(2, 'message'), counted(2, 'person', 'people')]).toEqual([
    '1 message',
    '2 messages',
    '2 people',
  ])
})

const progress: Progress = {
  total: 10,
  queued: 1,
  sending: 1,
  unconfirmed: 1,
  sent: 2,
  delivered: 3,
  read: 1,
  failed: 1,
  expired: 0,
  cancelled: 0,
  unknown: 0,
}

test('figures whose states sum up to the total add up, and name what has ended', () => {
  const ledger = ledgerOf(progress)
  expect(ledger).toMatchObject({ sum: 10, addsUp: true, settled: 7 })
  expect(ledger.terms.map(({ state }) => state)).not.toContain('expired')
})

test('figures that lack somebody do not add up', () => {
  expect(ledgerOf({ ...progress, total: 11 })).toMatchObject({ sum: 10, addsUp: false })
  expect(ledgerOf({ ...progress, total: 0, ...sharesOf({}, 0, 'running') }).terms).toHaveLength(1)
})

test('bidi controls, terminal escapes and invisible characters are shown by name, emoji unchanged', () => {
  expect(plainText('a\u202eb\u001b[31m\u0007\u200b\ufeff')).toBe('a⟨RLO⟩b⟨ESC⟩[31m⟨BEL⟩⟨ZWSP⟩⟨BOM⟩')
  expect(plainText('\u009b2J\u2028')).toBe('⟨CSI⟩2J⟨U+2028⟩')
  expect(plainText('<b>x</b>\r\n\ty 👩‍👧 مرحبا')).toBe('<b>x</b>\n\ty 👩‍👧 مرحبا')
})

const session = (permissions: string[], operator = false, senders: number[] | null = null): Session => ({
  key_name: 'k',
  account: operator ? null : { id: 1, name: 'shop' },
  operator,
  permissions,
  senders,
  default_sender: senders === null || senders.includes(1),
  expires_at: null,
})

test('a key may do what its permissions allow, and an operator everything for the account it acts for', () => {
  expect(may(session(['messages:read']), 'viewMessages', undefined)).toBe(true)
  expect(may(session(['messages:read']), 'send', undefined)).toBe(false)
  expect(may(session(['admin']), 'administer', undefined)).toBe(true)
  expect(may(session([], true), 'send', undefined)).toBe(false)
  expect(may(session([], true), 'send', 3)).toBe(true)
  expect(may(session([], true), 'operate', undefined)).toBe(true)
  expect(may(session(['admin']), 'operate', undefined)).toBe(false)
})

test('a key for some senders may act on one lane or one message, and on nothing that concerns all', () => {
  const all = ['messages:read', 'messages:send', 'admin', 'contacts:read', 'gallery', 'events']
  const deeds = [
    'viewMessage',
    'send',
    'controlLanes',
    'viewMessages',
    'bulkSend',
    'administer',
    'readContacts',
    'gallery',
    'events',
  ] as const
  expect(deeds.filter((deed) => may(session(all, false, [1]), deed, undefined))).toEqual([
    'viewMessage',
    'send',
    'controlLanes',
  ])
  expect(deeds.filter((deed) => may(session(['admin'], false, [1]), deed, undefined))).toEqual(['controlLanes'])
})

test('a lane shows why it does not send, who paused it, and how long its messages need', () => {
  const lane = {
    sender: 1,
    name: 'shop',
    account: 1,
    state: 'paused' as const,
    reason: 'the shop is closed',
    by: 'key of Ada',
    since: '2026-11-23T02:00:00.000Z',
    until: null,
    drain_s: 60,
    waiting: { transactional: 1, campaign: 2 },
    oldest_s: 4,
    rate_per_s: 80,
    sent_per_s: 0,
    spark: [],
    dead_letters: 0,
    in_flight: 0,
    answer_p50_s: null,
    answer_p99_s: null,
    bound: 'pause' as const,
    campaigns_wait: null,
  }
  const now = Date.parse('2026-11-23T10:00:00Z')
  expect(laneSentence(lane, now)).toBe(
    'The shop is closed. By key of Ada, since 2026-11-23T02:00:00.000Z. 3 messages to go, 1 min at its full pace.',
  )
  const runs = { ...lane, by: null, since: null }
  const cooling = { ...runs, state: 'cooldown' as const, until: '2026-11-23T10:05:00Z', sent_per_s: 0.01 }
  expect(laneSentence(cooling, now)).toBe('The shop is closed. 3 messages to go, 6 min at its full pace.')
  const slow = { ...runs, state: 'sending' as const, reason: null, sent_per_s: 0.01 }
  expect(laneSentence(slow, now)).toBe('Messages leave it. 3 messages to go, 5 min at this rate.')
  expect(isInTrouble(lane)).toBe(true)
  expect(isInTrouble({ state: 'waiting_for_pace' })).toBe(false)
  expect(laneSentence({ ...runs, state: 'idle', reason: null }, now)).toBe('Nothing waits.')
})

test('waiting or unconfirmed messages and started campaigns show that something is being sent', () => {
  const totals = { accepted_per_s: 0, sent_per_s: 0, delivered_per_s: 0, failed_per_s: 0 }
  const none = { ...totals, waiting: 0, oldest_waiting_s: null, unconfirmed: 0 }
  expect(hasTraffic({ totals: none, campaigns: [] })).toBe(false)
  expect(hasTraffic({ totals: { ...none, waiting: 187 }, campaigns: [] })).toBe(true)
  expect(hasTraffic({ totals: { ...none, unconfirmed: 1 }, campaigns: [] })).toBe(true)
})

test('a timeline counts attempts and shows what each event means and how long it took', () => {
  const entries = timelineOf([
    { at: '2026-11-22T10:00:00.000Z', event: 'accepted', attempt: null, detail: null },
    { at: '2026-11-22T10:00:00.085Z', event: 'claimed', attempt: '87NMHK', detail: null },
    { at: '2026-11-22T10:00:02.000Z', event: 'proven unsent', attempt: null, detail: '130429' },
    { at: '2026-11-22T10:00:03.000Z', event: 'claimed', attempt: '99AAAA', detail: null },
    { at: '2026-11-22T10:00:04.000Z', event: 'a new one', attempt: null, detail: null },
  ])
  expect(entries.map(({ attempt }) => attempt)).toEqual([undefined, 1, 1, 2, 2])
  expect(entries.map(({ afterMs }) => afterMs)).toEqual([undefined, 85, 1_915, 1_000, 1_000])
  expect(entries.at(-1)).toMatchObject({ event: 'a new one', means: '', tone: 'quiet' })
  expect([85, 1_915, 180_000].map(stepText)).toEqual(['+85 ms', '+1.9 s', '+3 min'])
})

test('a chart has round marks up to its greatest value, and round times in the zone of the reader', () => {
  expect(valueMarks(18.9)).toEqual([0, 5, 10, 15, 20])
  expect(valueMarks(0.3)).toEqual([0, 0.1, 0.2, 0.3])
  expect(valueMarks(0)).toEqual([0, 1])
  expect(valueMarks(0.0004).at(-1)).toBeGreaterThanOrEqual(0.0004)
  const hour = 3_600_000
  expect(timeMarks(hour + 1, 2 * hour, 8, 0)).toEqual([70, 80, 90, 100, 110, 120].map((minutes) => minutes * 60_000))
  // Half an hour before UTC: midnight there is 18:30 here.
  expect(timeMarks(0, 48 * hour, 4, -5.5 * hour)[0]).toBe(6.5 * hour)
})

/** Progress as the server tells it: whoever is read or delivered has been delivered. */
const told = (counts: Parameters<typeof sharesOf>[0], total: number, replied: number) => {
  const shares = sharesOf(counts, total, 'running')
  return { ...shares, total, replied, delivered_total: shares.delivered + shares.read }
}

test('each step of the funnel is a part of the step before it, and failed people a part of all', () => {
  const steps = funnelOf(told({ sent: 200, delivered: 500, read: 100, failed: 50 }, 1_000, 30))
  expect(Object.entries(steps).map(([name, { count, of, whole }]) => `${name} ${count} of ${of} ${whole}`)).toEqual([
    'Sent 800 of 1000 of the recipients',
    'Delivered 600 of 800 of the sent',
    'Read 100 of 600 of the delivered',
    'Replied 30 of 600 of the delivered',
    'Failed 50 of 1000 of the recipients',
  ])
  // These lead to their messages.
  expect([steps.Read.state, steps.Failed.state]).toEqual(['read', 'failed'])
})

test('the list of campaigns compares them by shares, not counts, and one that sent nothing has none', () => {
  const progressOf = {
    large: told({ sent: 5_000, delivered: 4_000, read: 1_000 }, 10_000, 500),
    small: told({ delivered: 2, read: 7, sent: 1 }, 10, 3),
    begun: told({}, 10, 0),
  }
  const campaigns = Object.values(progressOf).map((progress) => ({ progress }))
  const shown = SHARE_COLUMNS.map(({ title, cell, sort }) => [title, ...campaigns.map(cell), ...campaigns.map(sort)])
  expect(shown).toEqual([
    ['Delivered', '50 %', '90 %', '–', 0.5, 0.9, 0],
    ['Read', '20 %', '77.8 %', '–', 0.2, 7 / 9, 0],
    ['Replied', '10 %', '33.3 %', '–', 0.1, 3 / 9, 0],
  ])
})

test('recipients outside the funnel are shown with their outcome, and only if there are any', () => {
  const progress: Progress = {
    ...sharesOf({ sent: 2_989, unconfirmed: 8, unknown: 2, expired: 1 }, 3_000, 'running'),
    total: 3_000,
  }
  expect(besideFunnel(progress).map(({ name, count, means }) => `${name} ${count}: ${means}`)).toEqual([
    'Unconfirmed 8: waiting for evidence',
    'Unknown 2: never proven sent or not sent',
    'Expired 1: not sent in time',
  ])
  expect(uncertainText(progress)).toBe('8 unconfirmed, 2 unknown')
  const certain = { ...sharesOf({ sent: 3 }, 3, 'running'), total: 3 }
  expect([besideFunnel(certain), uncertainText(certain)]).toEqual([[], undefined])
})
