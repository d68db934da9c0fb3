// Lists that are read whole and answered in pages.

/** Up to `limit` of the items that follow the one with the id `cursor`, in their order; `next` is the cursor after them. */
export function pageOfAll<T extends { id: string | number }>(
  all: readonly T[],
  { limit, cursor }: { limit: number; cursor: string | number | undefined },
): { data: T[]; next: string | null } {
  const after = cursor === undefined ? -1 : all.findIndex(({ id }) => String(id) === String(cursor))
  const from = cursor !== undefined && after === -1 ? all.length : after + 1
  const data = all.slice(from, from + limit)
  const last = data.at(-1)
  return { data, next: last !== undefined && from + limit < all.length ? String(last.id) : null }
}
