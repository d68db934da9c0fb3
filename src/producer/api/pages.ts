// Lists that are read whole and answered in pages. A cursor holds a place in the order of the list, not a name to look
// for: its record may be gone by the next page, and those after it must still come.
import { badCursor } from './requests.ts'

/** Where an item stands in its list: by `at`, and by `id` where that is the same. No two stand at one place. */
export interface Place {
  at: number
  id: string
}

/** Place in a list by numeric ids. */
export const byId = ({ id }: { id: number }): Place => ({ at: id, id: '' })

/** Place in a list with the oldest first. */
export const byAge = ({ created_at, id }: { created_at: string; id: string }): Place => ({
  at: Date.parse(created_at),
  id,
})

/** Place in a list by ids that are texts. */
export const byText = ({ id }: { id: string }): Place => ({ at: 0, id })

const CURSOR = /^(\d{1,16})(?:\.(.+))?$/s

const written = ({ at, id }: Place): string => (id === '' ? String(at) : `${at}.${id}`)

function readPlace(cursor: string): Place {
  const [, at, id = ''] = CURSOR.exec(cursor) ?? []
  if (at === undefined) throw badCursor()
  return { at: Number(at), id }
}

const isBefore = (a: Place, b: Place): boolean => a.at < b.at || (a.at === b.at && a.id < b.id)

/**
 * Up to `limit` of the items that follow `cursor`, in the order of their places; `next` is the cursor after them, null
 * on the last page. 400 for a cursor that no page had.
 */
export function pageOfAll<T>(
  all: readonly T[],
  placeOf: (item: T) => Place,
  { limit, cursor }: { limit: number; cursor?: string | number | undefined },
): { data: T[]; next: string | null } {
  const after = cursor === undefined ? undefined : readPlace(String(cursor))
  const left = all
    .map((item) => ({ item, place: placeOf(item) }))
    .filter(({ place }) => after === undefined || isBefore(after, place))
    .sort((a, b) => (isBefore(a.place, b.place) ? -1 : 1))
  const page = left.slice(0, limit)
  const last = page.at(-1)
  return {
    data: page.map(({ item }) => item),
    next: last !== undefined && left.length > limit ? written(last.place) : null,
  }
}

/** A page of records with growing ids, of which one more than `limit` was read to know whether another page follows. */
export function pageOf<T extends { id: number }>(records: readonly T[], limit: number) {
  const page = records.slice(0, limit)
  return { page, nextAfter: records.length > limit ? (page.at(-1)?.id ?? null) : null }
}
