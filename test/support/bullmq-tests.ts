// The tests that know BullMQ themselves, which `npm run test:bullmq` runs with other versions of it.

const OF_CLIENT = ['campaign-once.slow', 'client.slow', 'client-campaigns.slow', 'client-two-way', 'jobs-page']
const OF_LANES = [
  ...['add-jobs', 'bullmq-layout', 'dashboard', 'dead-letters', 'dead-letters.slow', 'event-pump'],
  ...['event-retries.slow', 'fair-erasures', 'gallery-moves.slow', 'intake', 'intake-raw.slow', 'lane-clear.slow'],
  ...['next-jobs', 'queue-worker', 'redis-errors', 'status-polls.slow'],
]

/** Paths of those of the client, and of those of src/lanes too unless only the client has another BullMQ. */
export const bullmqTests = ({ isOfClientOnly }: { isOfClientOnly: boolean }): string[] =>
  [...(isOfClientOnly ? [] : OF_LANES), ...OF_CLIENT].map((name) => `test/component/${name}.test.ts`)
