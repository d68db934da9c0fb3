// What is kept of a portfolio's people: how many bytes it takes, and whether Redis keeps it as few bytes.
import type { Redis } from '../../../src/redis/connect.ts'
import { rulesKeys } from '../../../src/redis/keys.ts'

/** Of everything that is kept of the portfolio's people: bytes, and how each hash of them is kept. */
export async function keptOfPeople(
  redis: Redis,
  portfolio: number,
): Promise<{ bytes: number; encodings: Set<string> }> {
  const prefix = rulesKeys(0, portfolio).cap('').slice(0, -'cap:'.length)
  const people = rulesKeys(0, portfolio).people('')
  const keys = (await redis.keys('*')).filter((key) => key.startsWith(prefix))
  const encodings = new Set<string>()
  let bytes = 0
  for (const key of keys) {
    bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', 0))
    if (key.startsWith(people)) encodings.add(String(await redis.object('ENCODING', key)))
  }
  return { bytes, encodings }
}
