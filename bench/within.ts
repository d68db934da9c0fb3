// A limit for what may hang.

export class NotWithin extends Error {
  constructor(ms: number) {
    super(`not done within ${ms / 60_000} min, see --within`)
  }
}

/** What `running` resolves to; rejects with `NotWithin` when that takes longer. What is running is not stopped by it. */
export async function within<Found>(ms: number, running: Promise<Found>): Promise<Found> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new NotWithin(ms)), ms)
  })
  try {
    return await Promise.race([running, over])
  } finally {
    clearTimeout(timer)
  }
}
