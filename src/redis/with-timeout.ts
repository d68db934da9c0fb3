import { RedisUnavailableError } from './errors.ts'

/** The work's result, or a RedisUnavailableError when it takes longer. The work itself goes on. */
export async function withTimeout<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new RedisUnavailableError(`Redis did not answer in ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
