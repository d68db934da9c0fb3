// The event of the examples, as the feed tells it and as an endpoint gets it.

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
