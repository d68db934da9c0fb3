// Pins: what the end of a provider call means for the message, its recipient and its lane, as a table over every end
// and every code at every kind of status. Only proof lets a message be sent again or failed.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CallEnd, isFileUnknown, type Outcome, outcomeOf } from '../../src/model/messages/outcome.ts'
import { codeEntry, isThrottling, PROVIDER_CODES } from '../../src/model/messages/provider-codes.ts'

type Answer = Extract<CallEnd, { kind: 'answered' }>

const answered = (status: number, more: Partial<Answer> = {}): Answer => ({
  kind: 'answered',
  status,
  readable: true,
  code: undefined,
  subcode: undefined,
  text: undefined,
  retryAfterMs: undefined,
  ...more,
})

/** An outcome in short, without the words for people. */
function inShort(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'lane_waits':
      return `lane waits ${outcome.laneMs / 1_000}${outcome.backoff ? ' growing' : ''}`
    case 'message_waits':
      return 'message waits'
    case 'recipient_waits':
      return 'recipient waits'
    case 'sender_blocked':
      return 'sender blocked'
    case 'unconfirmed':
      if (outcome.blocksSender) return 'unconfirmed, sender blocked'
      return outcome.coolsLane ? 'unconfirmed, lane cools' : 'unconfirmed'
    default:
      return outcome.kind
  }
}

const short = (end: CallEnd): string => inShort(outcomeOf(end))

describe('a call without an answer', () => {
  test.each(['refused', 'name_not_found', 'connect_timeout', 'timeout', 'err_ssl_wrong_version_number', 'reset'])(
    'that never left (%s) is proven unsent: the lane waits, longer each time',
    (cause) => {
      const outcome = outcomeOf({ kind: 'never_left', cause })
      expect(inShort(outcome)).toBe('lane waits 1 growing')
      expect(outcome).toMatchObject({ problem: { code: cause } })
    },
  )

  test.each(['worker_late', 'missed_slot', 'stopped'])(
    'that never left because of the worker itself (%s) proves nothing about the provider: the lane goes on',
    (cause) => {
      const outcome = outcomeOf({ kind: 'never_left', cause })
      expect(outcome).toMatchObject({ kind: 'not_asked', problem: { code: cause } })
    },
  )

  test.each(['reset', 'timeout', 'answer_too_large', 'und_err_headers_overflow'])(
    'that left (%s) is unconfirmed',
    (cause) => {
      const outcome = outcomeOf({ kind: 'unanswered', cause })
      expect(inShort(outcome)).toBe('unconfirmed')
      expect(outcome).toMatchObject({
        problem: { code: cause, sentence: expect.stringContaining('may have been sent') },
      })
    },
  )
})

test('a success with a message id is sent', () => {
  expect(outcomeOf({ kind: 'accepted', providerId: 'wamid.1' })).toEqual({ kind: 'sent', providerId: 'wamid.1' })
})

describe('an answer without a code of WhatsApp', () => {
  test.each<[string, Answer, string]>([
    ['200 without an id', answered(200, { readable: false }), 'unconfirmed'],
    ['200 with an error envelope but no code', answered(200), 'unconfirmed'],
    ['204', answered(204, { readable: false }), 'unconfirmed'],
    ['301', answered(301, { readable: false }), 'unconfirmed'],
    ['302 with an envelope', answered(302), 'unconfirmed'],
    ['400, unreadable', answered(400, { readable: false }), 'unconfirmed'],
    ['400', answered(400), 'failed'],
    ['401, unreadable', answered(401, { readable: false }), 'unconfirmed, lane cools'],
    ['401', answered(401), 'sender blocked'],
    ['403, unreadable', answered(403, { readable: false }), 'unconfirmed, lane cools'],
    ['403', answered(403), 'sender blocked'],
    ['404, unreadable', answered(404, { readable: false }), 'unconfirmed, lane cools'],
    ['405, unreadable', answered(405, { readable: false }), 'unconfirmed, lane cools'],
    ['404: a wrong address', answered(404), 'sender blocked'],
    ['405: a wrong address', answered(405), 'sender blocked'],
    ['413', answered(413), 'failed'],
    ['422', answered(422), 'failed'],
    ['429', answered(429), 'lane waits 1 growing'],
    ['429, unreadable', answered(429, { readable: false }), 'lane waits 1 growing'],
    [
      '429, unreadable, with a code that was not read',
      answered(429, { readable: false, code: 190 }),
      'lane waits 1 growing',
    ],
    ['500', answered(500), 'unconfirmed'],
    ['502, unreadable', answered(502, { readable: false }), 'unconfirmed'],
    ['503', answered(503), 'unconfirmed'],
    ['503 with Retry-After', answered(503, { retryAfterMs: 2_000 }), 'unconfirmed'],
    ['504, unreadable', answered(504, { readable: false }), 'unconfirmed'],
  ])('%s', (_name, end, expected) => {
    expect(short(end)).toBe(expected)
  })

  test('has its status as the code of the problem', () => {
    expect(outcomeOf(answered(500))).toMatchObject({ problem: { code: 'http_500' } })
    expect(outcomeOf(answered(400, { readable: false, code: 190 }))).toMatchObject({ problem: { code: 'http_400' } })
  })
})

/** What each code means: at 400, at 429, at 500, and in a success. */
type Row = readonly [at400: string, at429: string, at500: string, at200: string]
const lane = (seconds: number): Row => {
  const waits = `lane waits ${seconds} growing`
  return [waits, waits, waits, waits]
}
const laneBelow500 = (seconds: number): Row => {
  const waits = `lane waits ${seconds} growing`
  return [waits, waits, 'unconfirmed', 'unconfirmed']
}
const message: Row = ['message waits', 'lane waits 1 growing', 'message waits', 'message waits']
const recipient: Row = ['recipient waits', 'recipient waits', 'recipient waits', 'recipient waits']
const blocked: Row = [
  'sender blocked',
  'lane waits 1 growing',
  'unconfirmed, sender blocked',
  'unconfirmed, sender blocked',
]
const failed: Row = ['failed', 'lane waits 1 growing', 'unconfirmed', 'unconfirmed']
const unconfirmed: Row = ['unconfirmed', 'lane waits 1 growing', 'unconfirmed', 'unconfirmed']

const CODES = new Map<number, Row>([
  // Proof of not sent whatever the status.
  [4, lane(60)],
  [80007, lane(60)],
  [130429, lane(1)],
  [131048, ['campaigns_rest', 'campaigns_rest', 'campaigns_rest', 'campaigns_rest']],
  [131057, lane(60)],
  [131056, recipient],
  [133004, message],
  [131016, message],
  // Throttled, proven below 500 only.
  ...[17, 341, 80008].map((code): [number, Row] => [code, laneBelow500(60)]),
  // Say nothing of the message.
  ...[1, 2, 131000].map((code): [number, Row] => [code, unconfirmed]),
  // Authentication, permission, policy, billing.
  ...[0, 3, 10, 33, 104, 190, 368, 803, 131005, 131031, 131037, 131042, 131045, 131064, 133010, 134011].map(
    (code): [number, Row] => [code, blocked],
  ),
  // Refused for good whatever the status.
  [134102, ['failed', 'lane waits 1 growing', 'failed', 'failed']],
  // For good.
  ...[
    100, 130403, 130472, 130497, 131008, 131009, 131021, 131026, 131030, 131047, 131049, 131050, 131051, 131052, 131053,
    131055, 131062, 131063, 132000, 132001, 132005, 132007, 132008, 132012, 132015, 132016, 132018, 132068, 132069,
    133000, 133005, 133006, 133008, 133009, 133015, 133016, 134100, 134101, 134103, 135000, 137000, 139200,
  ].map((code): [number, Row] => [code, failed]),
])

describe('an answer with a code', () => {
  test('in the table has the outcome of this list, which has the same codes', () => {
    expect([...PROVIDER_CODES.keys()].sort((a, b) => a - b)).toEqual([...CODES.keys()].sort((a, b) => a - b))
  })

  test.each([...CODES, [200, blocked], [250, blocked], [299, blocked], [999_999, failed], [300, failed]] as const)(
    '%i at 400, 429, 500 and 200',
    (code, expected) => {
      const got = [400, 429, 500, 200].map((status) => short(answered(status, { code })))
      expect(got).toEqual(expected)
      for (const status of [401, 404, 499]) expect(short(answered(status, { code })), `${status}`).toBe(expected[0])
      for (const status of [502, 503]) expect(short(answered(status, { code })), `${status}`).toBe(expected[2])
    },
  )

  test('that is unreadable counts only by its status', () => {
    for (const code of CODES.keys()) {
      expect(short(answered(400, { code, readable: false }))).toBe('unconfirmed')
      expect(short(answered(500, { code, readable: false }))).toBe('unconfirmed')
    }
  })

  test('100 with subcode 33 blocks the sender; any other subcode does not', () => {
    expect(short(answered(400, { code: 100, subcode: 33 }))).toBe('sender blocked')
    expect(short(answered(400, { code: 100, subcode: 2494055 }))).toBe('failed')
    expect(short(answered(400, { code: 131009, subcode: 33 }))).toBe('failed')
  })

  test("describes the code and quotes WhatsApp's own text, cut", () => {
    const outcome = outcomeOf(answered(400, { code: 131026, text: 'x'.repeat(5_000) }))
    const { sentence, code } = 'problem' in outcome ? outcome.problem : { sentence: '', code: '' }
    expect(code).toBe('131026')
    expect(sentence).toContain('cannot be delivered to this recipient (code 131026): xxx')
    expect(sentence.length).toBeLessThan(400)
  })

  test.each([
    [
      190,
      'Access token has expired: Error validating access token: the session has expired.',
      'the token has expired or is invalid (code 190): Error validating access token: the session has expired.',
    ],
    [131016, '(#131016) A service is temporarily unavailable.', 'the service is unavailable (code 131016)'],
    [
      131030,
      'Recipient not in list: Recipient not in list',
      'the recipient is not in the list of test numbers (code 131030)',
    ],
    [131049, '', 'held back to keep the recipient from too much marketing (code 131049)'],
    [
      999,
      'Media upload error: the link gave 404.',
      'refused by WhatsApp (code 999): Media upload error: the link gave 404.',
    ],
  ])('%s repeats nothing in its sentence', (code, text, words) => {
    const outcome = outcomeOf(answered(401, { code, text }))
    expect(outcome).toMatchObject({ problem: { sentence: `WhatsApp answered: ${words}` } })
  })

  test('concerns the person, the template, or neither', () => {
    const concerning = (whom: string) =>
      [...PROVIDER_CODES].flatMap(([code, { concerns }]) => (concerns === whom ? code : []))
    expect(concerning('recipient').sort((a, b) => a - b)).toEqual([
      130403, 130472, 131021, 131026, 131047, 131049, 131050, 131056, 131062, 137000,
    ])
    expect(concerning('template').sort((a, b) => a - b)).toEqual([
      131055, 131063, 132000, 132001, 132007, 132012, 132015, 132016, 132068, 132069, 134100, 134101, 134102, 134103,
    ])
    expect(outcomeOf(answered(400, { code: 131049 }))).toMatchObject({ kind: 'failed', concerns: 'recipient' })
    expect(outcomeOf(answered(400))).toMatchObject({ kind: 'failed', concerns: 'message' })
  })

  test('is described in every entry of the table', () => {
    for (const code of CODES.keys()) expect(codeEntry(code).means, String(code)).toMatch(/^[a-z].{5,}[^.]$/)
  })
})

describe('Retry-After', () => {
  test.each<[string, Answer]>([
    ['429', answered(429)],
    ['130429 at 400', answered(400, { code: 130429 })],
    ['17 at 400', answered(400, { code: 17 })],
  ])('with %s is how long the lane waits, and then nothing grows', (_name, end) => {
    expect(short({ ...end, retryAfterMs: 7_000 })).toBe('lane waits 7')
  })

  test('is obeyed up to an hour', () => {
    expect(short(answered(429, { retryAfterMs: 3_600_000 }))).toBe('lane waits 3600')
    expect(short(answered(429, { retryAfterMs: 86_400_000 }))).toBe('lane waits 3600')
    expect(short(answered(429, { retryAfterMs: Number.POSITIVE_INFINITY }))).toBe('lane waits 3600')
    expect(outcomeOf(answered(500, { code: 131016, retryAfterMs: Number.POSITIVE_INFINITY }))).toMatchObject({
      retryAfterMs: 3_600_000,
    })
  })

  test.each([0, -5])('of %i counts as absent: the lane must not try again at once', (retryAfterMs) => {
    expect(short(answered(429, { retryAfterMs }))).toBe('lane waits 1 growing')
    expect(outcomeOf(answered(500, { code: 131016, retryAfterMs }))).toMatchObject({ retryAfterMs: undefined })
    expect(outcomeOf(answered(400, { code: 131056, retryAfterMs }))).toMatchObject({ leastMs: 0 })
  })

  test('with 131048 is how long campaigns rest', () => {
    expect(outcomeOf(answered(500, { code: 131048, retryAfterMs: 7_000 }))).toMatchObject({ restMs: 7_000 })
    expect(outcomeOf(answered(400, { code: 131048 }))).toMatchObject({ kind: 'campaigns_rest', restMs: 3_600_000 })
  })

  test('with the pair limit is the minimum that the recipient waits', () => {
    expect(outcomeOf(answered(400, { code: 131056, retryAfterMs: 9_000 }))).toMatchObject({ leastMs: 9_000 })
  })
})

test('nothing but proof lets a message be tried again or failed, whatever the answer', () => {
  const provesUnsent = [4, 80007, 130429, 131056, 131048, 131057, 133004, 131016, 134102]
  const saysNothing = [1, 2, 131000]
  const anyAnswer: fc.Arbitrary<Answer> = fc.record({
    kind: fc.constant('answered' as const),
    status: fc.integer({ min: 200, max: 599 }),
    readable: fc.boolean(),
    code: fc.option(fc.oneof(fc.constantFrom(...CODES.keys()), fc.integer()), { nil: undefined }),
    subcode: fc.option(fc.constantFrom(33, 463), { nil: undefined }),
    text: fc.option(fc.string(), { nil: undefined }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 10_000_000 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(anyAnswer, (answer) => {
      const { status, readable, code } = answer
      const isRefusal = readable && status >= 400 && status < 500 && (code === undefined || !saysNothing.includes(code))
      const isProof = status === 429 || (readable && code !== undefined && provesUnsent.includes(code)) || isRefusal
      const outcome = outcomeOf(answer)
      expect(outcome.kind === 'unconfirmed').toBe(!isProof)
      if (outcome.kind === 'lane_waits') expect(outcome.laneMs).toBeGreaterThanOrEqual(1)
    }),
    { numRuns: 5_000 },
  )
})

test('campaigns slow down for every code that makes a lane wait, for 429 without a code, and for nothing else', () => {
  const holdsLane = [...PROVIDER_CODES.keys()].filter(
    (code) => outcomeOf(answered(400, { code })).kind === 'lane_waits',
  )
  expect(holdsLane).toEqual(expect.arrayContaining([4, 17, 341, 80007, 80008, 130429, 131057]))
  expect([...PROVIDER_CODES.keys()].filter((code) => isThrottling(String(code)))).toEqual(holdsLane)
  expect(isThrottling('http_429')).toBe(true)
  expect(['refused', 'http_500', 'timeout', '', '200'].filter(isThrottling)).toEqual([])
})

test('a file that WhatsApp does not have is distinguished from a fault of the message', () => {
  const refused = (code: number, text: string) => answered(400, { code, text })
  const unknown = "Param image['id'] is not a valid whatsapp business account media attachment ID"
  expect(isFileUnknown(refused(100, unknown))).toBe(true)
  expect(isFileUnknown(refused(131053, 'Media upload error'))).toBe(true)
  expect(isFileUnknown(refused(100, 'Unexpected key "gallery" on param "image".'))).toBe(false)
  expect(isFileUnknown(refused(131009, unknown))).toBe(false)
  // From something on the way it proves nothing.
  expect(isFileUnknown({ ...refused(131053, ''), readable: false })).toBe(false)
})
