// Pins: what the command line says of a campaign's pace and of a file without columns reads as a sentence does.
import { expect, test } from 'vitest'
import { campaignSummary } from '../../src/cli/campaign-summary.ts'
import { readAsSentence } from '../../src/files/csv-head.ts'
import { sharesOf } from '../../src/model/campaigns/progress.ts'

type Campaign = Parameters<typeof campaignSummary>[0]

const progress: Campaign['progress'] = {
  total: 4,
  ...sharesOf({}, 4, 'running'),
  ...{ delivered_total: 0, replied: 0, capped: 0, held: 0 },
  rate_per_second: 0,
  held_to: null,
  seconds_left: null,
}

const running: Campaign = {
  id: 'cmp_2_1',
  name: null,
  state: 'running',
  reason: null,
  waits: null,
  sender: '447700900002',
  template: { name: 'plain_hello', language: 'en_US' },
  recipients: { tags: [1], except: [] },
  retry_capped: { times: 0 },
  marketing_route: null,
  has_rows: false,
  created_at: '2026-11-20T14:35:15.361Z',
  scheduled_at: null,
  started_at: '2026-11-20T14:35:17.914Z',
  ended_at: null,
  valid_until: null,
  preflight: undefined,
  progress,
}

test.each([
  [1, '1 message a second'],
  [0.6, '1 message a second'],
  [80, '80 messages a second'],
])('a pace of %d is %s', (rate_per_second, words) => {
  const text = campaignSummary({ ...running, progress: { ...progress, rate_per_second } })
  expect(text).toMatch(new RegExp(`^Pace +${words}$`, 'm'))
})

test('a pace that rounds to zero is left out', () => {
  expect(campaignSummary({ ...running, progress: { ...progress, rate_per_second: 0.2 } })).not.toContain('Pace')
})

test('a read message counts as delivered, and a delivered one as sent', () => {
  const counts = { ...sharesOf({ sent: 1, delivered: 1, read: 2 }, 4, 'done'), delivered_total: 3 }
  const text = campaignSummary({ ...running, progress: { ...progress, ...counts } })
  expect(text).toMatch(/^Sent +4$/m)
  expect(text).toMatch(/^Delivered +3, 75 % of the sent$/m)
  expect(text).toMatch(/^Read +2, 66\.7 % of the delivered$/m)
  expect(text).toMatch(/^ {2}now delivered +1$/m)
})

test('a campaign that has sent nothing has no shares', () => {
  expect(campaignSummary(running)).not.toMatch(/^(Sent|Delivered|Read) /m)
})

test('a blocked campaign gets no estimate', () => {
  const preflight: NonNullable<Campaign['preflight']> = {
    ...{
      checked_at: running.created_at,
      recipients: 0,
      excluded: 0,
      skipped_capped: 0,
      skipped_erased: 0,
      ...{ rate: 80, seconds: 0, days: 0, people: null },
      would_expire: 0,
    },
    refused: { duplicate: 0, number: 1, parameter: 0, unreadable: 0, opted_out: 0 },
    problems: [{ path: 'recipients', message: 'no valid recipients' }],
    warnings: [],
    files: [],
    estimated_end: running.created_at,
  }
  const blocked = campaignSummary({ ...running, state: 'blocked', started_at: null, preflight })
  expect(blocked).toMatch(/^Problem +recipients: no valid recipients$/m)
  expect(blocked).not.toContain('Estimated')
  const ready = { ...preflight, recipients: 160, seconds: 2, problems: [] }
  expect(campaignSummary({ ...running, state: 'ready', started_at: null, preflight: ready })).toContain('Estimated')
  const limited = { ...ready, skipped_capped: 7, days: 3, people: { now: 10, a_day: 90 } }
  const summary = campaignSummary({ ...running, state: 'ready', started_at: null, preflight: limited })
  expect(summary).toMatch(/^Takes +3 days: .* 90 people a day$/m)
  expect(summary).toMatch(/^Skipped +7 who have had enough marketing$/m)
})

test('a file without columns is reported as such', () => {
  expect(readAsSentence({ encoding: 'utf-8', separator: ',', columns: [] })).toBe('The file has no line of columns.')
})
