// A message and a requeue job as the examples show them.

export const exampleMessage = {
  id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
  direction: 'outbound',
  state: 'queued',
  possible_duplicate: false,
  class: 'transactional',
  kind: 'image',
  sender: '447700900001',
  to: '447700900123',
  text: 'https://shop.example/spring.png',
  campaign_id: null,
  campaign: null,
  provider_id: null,
  accepted_at: '2026-11-21T10:00:00.000Z',
  send_at: null,
  valid_until: '2026-11-22T10:00:00.000Z',
  problem: null,
  waits: { why: 'lane_paused', until: null, sentence: 'Its sender is paused: by hand.' },
  history: [{ at: '2026-11-21T10:00:00.000Z', event: 'accepted', attempt: null, detail: null }],
}

const { waits: _waits, history: _history, ...listed } = exampleMessage
/** The same message in a list. */
export const listedExample = listed

export const exampleJob = {
  job_id: 'rq_01M7WMMBQHKTZHMT677YAAW3FV',
  state: 'done',
  matched: 3,
  requeued: 2,
  ...{ without_content: 1, campaign_over: 0, failed: 0 },
  created_at: '2026-11-21T10:00:00.000Z',
  ended_at: '2026-11-21T10:00:01.000Z',
}
