// Deadlines that hold across a suspend of the machine, when `performance.now()` stops and the wall clock goes on but may be set
// back. And waiting with a limit.

/** A moment by two clocks, `performance.now()` and epoch ms. It is past as soon as one of them is. */
export interface Deadline {
  steadyMs: number
  wallMs: number
}

/** Now by both clocks. */
export const bothClocks = (): Deadline => ({ steadyMs: performance.now(), wallMs: Date.now() })

/** So many ms from `now`. */
export const deadlineIn = (ms: number, now = bothClocks()): Deadline => ({
  steadyMs: now.steadyMs + ms,
  // Date.now() counts whole milliseconds.
  wallMs: now.wallMs + 1 + ms,
})

/** Whether it is past, at `now`. A wall clock that is set ahead ends it early. */
export const isOver = ({ steadyMs, wallMs }: Deadline, now = bothClocks()): boolean =>
  now.steadyMs >= steadyMs || now.wallMs >= wallMs

/** Waits until the work is over, but no longer than `limitMs`; the work itself goes on. */
export async function waitAtMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
