// Pages of lists whose records have ids that grow.

/** A page of a list: one record more than asked for was read, to know whether another page follows. */
export function pageOf<T extends { id: number }>(records: readonly T[], limit: number) {
  const page = records.slice(0, limit)
  return { page, nextAfter: records.length > limit ? (page.at(-1)?.id ?? null) : null }
}
