// An event, an endpoint and an attempt of a delivery as the examples show them.

export const deliveredEvent = {
  type: 'message.delivered',
  timestamp: '2026-11-21T10:00:02.000Z',
  data: {
    event_id: 'evt_1_1795255202000_0_0',
    id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
    seq: 4,
    state: 'delivered',
    possible_duplicate: false,
    class: 'transactional',
    kind: 'image',
    campaign_id: null,
    campaign: null,
    provider_id: null,
    accepted_at: '2026-11-21T10:00:00.000Z',
    problem: null,
    sender: '447700900001',
  },
}

export const exampleEndpoint = {
  id: 'ep_5f0c2a7d9b1e4f6a8c',
  url: 'https://shop.example/hooks/laneway',
  types: ['message.delivered', 'message.failed'],
  senders: [],
  include_content: false,
  batch: { max_events: 100, max_wait_ms: 1_000 },
  enabled: true,
  disabled_for: null,
  created_at: '2026-11-21T10:00:00.000Z',
  failing_since: null,
  last_success_at: null,
}

export const exampleSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='

export const exampleAttempt = {
  at: '2026-11-21T10:00:02.000Z',
  delivery: 'bat_5pXh0wqk1vC2nM8rT3yUzL9aE7f',
  ok: false,
  events: 2,
  types: ['message.delivered'],
  attempt: 1,
  status: 503,
  problem: null,
  took_ms: 12,
  answer: 'try later',
  retry_at: '2026-11-21T10:00:07.000Z',
}
