// Pages of a sorted set that others take members off meanwhile.
import { z } from 'zod'
import type { Redis } from '../redis/connect.ts'
import { defineScript } from '../redis/lua.ts'

/** Where a page begins: after this member of a sorted set. */
export interface ListPosition {
  score: number
  member: string
}

const pageScript = defineScript(import.meta.url, 'list-page')
const pageReply = z.array(z.string())

/** At most so many members after a position, of this score or less, in their order. */
export async function pageOf(
  redis: Redis,
  key: string,
  after: ListPosition,
  { mostScore, most }: { mostScore: number; most: number },
): Promise<ListPosition[]> {
  const reply = pageReply.parse(
    await pageScript(redis, { list: key }, { after: after.score, member: after.member, mostScore, most }),
  )
  const page: ListPosition[] = []
  for (let i = 0; i < reply.length; i += 2) page.push({ member: reply[i] ?? '', score: Number(reply[i + 1]) })
  return page
}
