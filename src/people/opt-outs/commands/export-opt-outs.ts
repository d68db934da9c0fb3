// Everybody who wants no advertising, as a CSV file that `importOptOuts` takes: streamed, a page of the list at a time.
import { csvLine } from '../../../files/csv.ts'
import type { Redis } from '../../../redis/connect.ts'
import { listOptOuts } from '../store/opt-outs.ts'

const PAGE = 1_000

/** The file in pieces, the latest first. Who is added meanwhile may be missing, nobody else. */
export async function* exportOptOuts(redis: Redis, account: number): AsyncGenerator<string> {
  // With the first page: an empty list still has its header, and whoever reads it knows by then that there is a list.
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
