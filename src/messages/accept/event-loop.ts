// Long work in slices, so that nobody else waits for all of it.

/** Other requests get a turn after so long: well below the 100 ms that no request may hold the event loop. */
const TURN_MS = 5

/** Items begun together, so that they share their waiting for Redis; fewer where one of them takes some ms. */
const AT_ONCE = 10

/** The results of `work` for all items, in their order; every few items, others get a turn. Rejects as soon as one does. */
export async function inSlices<I, O>(
  items: readonly I[],
  work: (item: I, index: number) => Promise<O> | O,
): Promise<O[]> {
  const results: O[] = []
  let began = performance.now()
  const isLong = (): boolean => performance.now() - began >= TURN_MS
  while (results.length < items.length) {
    const slice: (Promise<O> | O)[] = []
    for (const item of items.slice(results.length, results.length + AT_ONCE)) {
      slice.push(work(item, results.length + slice.length))
      if (isLong()) break
    }
    results.push(...(await Promise.all(slice)))
    if (!isLong()) continue
    await new Promise((resolve) => setImmediate(resolve))
    began = performance.now()
  }
  return results
}
