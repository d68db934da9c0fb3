// What the service tells about messages: their state, over HTTP, as any customer asks for it, and the parts of the
// record that only `messages show` prints.
import { z } from 'zod'
import { acceptedAtMs, parseMessageId } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { type HistoryEvent, readHistory } from '../../src/model/messages/history.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { getJson, postJson } from './http.ts'
import type { Tenant } from './tenant.ts'

const statusAnswer = z.object({ message: z.object({ status: z.string() }) })

/** Lookups under way at the same time. */
const AT_ONCE = 24

/** Delivery state of each message; `missing` for one that the service does not know, `no answer` when it gave none. */
export async function lookUp(
  url: string,
  messages: readonly { tenant: Tenant; id: string }[],
): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  await inParallel(messages, async ({ tenant, id }) => {
    const body = { api_key: tenant.apiKey, message_id: id }
    const answer = await postJson(`${url}/chatappbusiness/getmessgageinfobyid`, body)
    states.set(id, 'body' in answer ? stateIn(answer.status, answer.body) : 'no answer')
  })
  return states
}

function stateIn(status: number, body: unknown): string {
  if (status === 404) return 'missing'
  return status === 200 ? statusAnswer.parse(body).message.status : 'no answer'
}

/** What a lookup over HTTP does not show. */
export interface Inside {
  /** The flag possible_duplicate: it was queued again although it may have gone out. */
  possibleDuplicate: boolean
  history: HistoryEvent[]
}

/**
 * The flag and the history of messages. Read through our own store, because only `messages show` prints them and a
 * process per message would take half a second each: the flag may come from us, the counts never do.
 */
export async function lookInside(redis: Redis, ids: readonly string[]): Promise<Map<string, Inside>> {
  const found = new Map<string, Inside>()
  await inParallel(ids, async (name) => {
    const id = parseMessageId(name)
    const record = id && (await readMessage(redis, id))
    if (!id || !record) return
    found.set(name, {
      possibleDuplicate: record.repeats > 0,
      history: readHistory(record.history, acceptedAtMs(id.ulid)),
    })
  })
  return found
}

const laneAnswer = z.object({
  data: z.array(z.object({ waiting: z.number(), delayed: z.number(), active: z.number(), set_aside: z.number() })),
})

/** Messages of a tenant that still stand on its lane, and those dead-lettered; undefined when nobody answers. */
export async function laneOf(
  url: string,
  tenant: Tenant,
): Promise<{ backlog: number; deadLetters: number } | undefined> {
  const answer = await getJson(`${url}/admin/lanes`, { authorization: `Bearer ${tenant.adminKey}` })
  if (answer.status !== 200 || !('body' in answer)) return undefined
  const [lane] = laneAnswer.parse(answer.body).data
  return lane && { backlog: lane.waiting + lane.delayed + lane.active, deadLetters: lane.set_aside }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}
