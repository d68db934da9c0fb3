// Works on many items, a few at a time.

/** Runs `work` for every item, at most `most` at the same time. Rejects with the first failure, when all have ended. */
export async function inParallel<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  // A fixed number of runners share one list: a slow item holds up one of them, not the rest.
  const rest = items[Symbol.iterator]()
  const runner = async (): Promise<void> => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value)
  }
  const ends = await Promise.allSettled(Array.from({ length: most }, runner))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
}
