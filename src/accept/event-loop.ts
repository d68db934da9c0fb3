// Long work in slices, so that nobody else waits for all of it.

/** Other requests get a turn after so long: well below the 100 ms that no request may hold the event loop. */
const TURN_MS = 10

/** Items worked on at once. One of them may take a few ms where everything about it is wrong. */
const AT_ONCE = 10

/** The results of `work` for all items, in their order; every few items, others get a turn. Rejects as soon as one does. */
export async function inSlices<I, O>(
  items: readonly I[],
  work: (item: I, index: number) => Promise<O> | O,
): Promise<O[]> {
  const results: O[] = []
  let began = performance.now()
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const slice = items.slice(from, from + AT_ONCE)
    results.push(...(await Promise.all(slice.map((item, i) => work(item, from + i)))))
    if (performance.now() - began < TURN_MS) continue
    await new Promise((resolve) => setImmediate(resolve))
    began = performance.now()
  }
  return results
}
