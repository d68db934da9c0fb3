// A verb that acts on one account, asked for by an operator who named none: it is asked for each account in which it finds something,
// once a person has agreed to that if there are several.
import { z } from 'zod'
import { accounts } from '../producer/api/accounts/routes.ts'
import { ApiError } from '../producer/errors.ts'
import type { Asked, Door } from './doors.ts'
import type { Address } from './typed-request.ts'

/** What a dry run finds: figures, and how many match. */
const found = z.looseObject({ data: z.looseObject({ matched: z.number() }) })
type Found = z.output<typeof found>['data']
const page = z.looseObject({ data: z.array(z.looseObject({ id: z.number() })), next: z.string().nullable() })

/** Whether the refusal says that an operator has to name an account. */
export const needsAccount = (error: unknown): boolean => error instanceof ApiError && error.code === 'account_required'

/** What a dry run finds in each account that has something, by their numbers. */
export async function findAcrossAccounts(to: Address, asked: Asked, door: Door): Promise<Map<number, Found>> {
  const all = new Map<number, Found>()
  let unknown: unknown
  const ids = await accountIds(door)
  let refusals = 0
  for (const id of ids) {
    try {
      const came = await door(to, { ...asked, account: String(id), body: { ...asked.body, dry_run: true } })
      const { data } = found.parse('json' in came ? came.json : undefined)
      if (data.matched > 0) all.set(id, data)
    } catch (error) {
      // It may be a sender of another one.
      if (!(error instanceof ApiError && error.code === 'unknown_sender')) throw error
      unknown = error
      refusals += 1
    }
  }
  if (refusals > 0 && refusals === ids.length) throw unknown
  return all
}

/** The figures of all of them together. */
export function sumOf(all: Iterable<Found>): Found {
  const sum: Found = { matched: 0 }
  for (const each of all) {
    for (const [name, value] of Object.entries(each))
      if (typeof value === 'number') sum[name] = Number(sum[name] ?? 0) + value
  }
  return sum
}

async function accountIds(door: Door): Promise<number[]> {
  const ids: number[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: '1000', ...(cursor !== undefined && { cursor }) }
    const asked = { account: undefined, params: {}, query, headers: {}, body: {} }
    const came = await door({ family: 'accounts', spec: accounts.list }, asked)
    const read = page.parse('json' in came ? came.json : undefined)
    ids.push(...read.data.map(({ id }) => id))
    cursor = read.next
  }
  return ids
}
