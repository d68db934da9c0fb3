// The messages of a campaign as a contender without campaigns takes them: jobs put on its queue a thousand at a time, as
// a script would do it. What each recipient reads is what Laneway's campaign of campaign.ts sends.
import type { Queue } from 'bullmq'
import { nameOf, phoneOf, TEXT } from './campaign.ts'
import { TEMPLATE } from './traffic.ts'

const AT_ONCE = 1_000

/** Puts messages to so many people on the queue. */
export async function addBacklog(queue: Queue, people: number): Promise<void> {
  for (let from = 0; from < people; from += AT_ONCE) {
    const messages = campaignMessages(from, Math.min(AT_ONCE, people - from))
    await queue.addBulk([...messages].map((data) => ({ name: 'send', data })))
  }
}

/** Messages to so many people, from the `from`-th on. */
export function* campaignMessages(
  from: number,
  count: number,
  name: string = TEMPLATE.name,
): Generator<{ to: string; template: object }> {
  for (let n = from; n < from + count; n += 1) {
    const parameters = [
      { type: 'text', text: nameOf(n) },
      { type: 'text', text: TEXT },
    ]
    const template = { name, language: { code: TEMPLATE.language }, components: [{ type: 'body', parameters }] }
    yield { to: `+${phoneOf(n)}`, template }
  }
}
