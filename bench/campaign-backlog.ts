// The messages of a campaign as a contender without campaigns takes them: jobs put on its queue a thousand at a time, as
// a script would do it. What each recipient reads is what Laneway's campaign of campaign.ts sends.
import type { Queue } from 'bullmq'
import { phoneOf, TEXT } from './campaign.ts'
import { TEMPLATE } from './traffic.ts'

const AT_ONCE = 1_000

/** Puts messages to so many people on the queue. */
export async function addBacklog(queue: Queue, people: number): Promise<void> {
  for (let from = 0; from < people; from += AT_ONCE) {
    const jobs = Array.from({ length: Math.min(AT_ONCE, people - from) }, (_, i) => jobFor(from + i))
    await queue.addBulk(jobs)
  }
}

function jobFor(n: number) {
  const parameters = [
    { type: 'text', text: `Person ${String(n).padStart(8, '0')}` },
    { type: 'text', text: TEXT },
  ]
  const template = {
    name: TEMPLATE.name,
    language: { code: TEMPLATE.language },
    components: [{ type: 'body', parameters }],
  }
  return { name: 'send', data: { to: `+${phoneOf(n)}`, template } }
}
