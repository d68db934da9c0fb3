// What must not outlive the bench: every process it starts is put on one list and ended in reverse order, at the end,
// on Ctrl-C (see main.ts) and after an error.
export interface Closing {
  /** Puts it on the list; after `all` it is ended at once. */
  add(stop: () => Promise<void>): void
  /** Ends everything that is on the list, the last one first. */
  all(): Promise<void>
}

export function createClosing(): Closing {
  const stops: (() => Promise<void>)[] = []
  let isOver = false
  const all = async (): Promise<void> => {
    isOver = true
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop().catch(() => {})
  }
  const add = (stop: () => Promise<void>): void => {
    stops.push(stop)
    if (isOver) void all()
  }
  return { add, all }
}
