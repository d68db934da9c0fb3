// Exports all opt-outs as a CSV file that `importOptOuts` accepts: streamed, a page of the list at a time.

import { csvLine } from '../../files/csv.ts'
import type { Redis } from '../../redis/connect.ts'
import { listOptOuts } from './opt-outs.ts'

const PAGE = 1_000

/** The file in pieces, the latest first. Only people who are added meanwhile may be missing. */
export async function* exportOptOuts(redis: Redis, account: number): AsyncGenerator<string> {
  // With the first page: an empty list still has its header, and the reader knows by then that there is a list.
  let head = csvLine(['person', 'source', 'since'])
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof listOptOuts>> = await listOptOuts(redis, account, {
      limit: PAGE,
      cursor: cursor ?? undefined,
    })
    const lines = head + page.data.map((each) => csvLine([each.person, each.source, each.since])).join('')
    if (lines !== '') yield lines
    head = ''
    cursor = page.next
  }
}
