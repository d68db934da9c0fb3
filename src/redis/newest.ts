// Last-write-wins values, ordered by the clock of the program that sends them: an older value never overwrites a newer one,
// however late or often it comes.
import { z } from 'zod'
import type { Redis } from './connect.ts'
import { defineScript } from './lua.ts'

const script = defineScript(import.meta.url, 'newest')
const reply = z.enum(['newer', 'same', 'older', 'missing'])

/** How a report compares with the stored one: newer, the same, or out of date; `missing`: there is no hash for it. */
export type Freshness = z.infer<typeof reply>

/** A value that somebody else reports; of two with the same time the higher rank wins. */
export interface Reported {
  atMs: number
  rank?: number
  value: string
}

/**
 * Writes a report into a field of a hash unless a newer one is stored, and with it the fields `writes`. A missing hash is
 * created only if `most` is given, and gets at most that many fields.
 */
export async function setNewest(
  redis: Redis,
  { key, field, most = 0 }: { key: string; field: string; most?: number },
  { atMs, rank = 0, value }: Reported,
  writes: Record<string, string | number> = {},
): Promise<Freshness> {
  return reply.parse(await script(redis, { record: key }, { field, at: atMs, rank, value, writes, most }))
}

/** The report in such a field; undefined if there is none. */
export function readReported(text: string | null | undefined): Required<Reported> | undefined {
  const [, at, rank, value] = /^(\d+) (\d+) (.*)$/s.exec(text ?? '') ?? []
  return value === undefined ? undefined : { atMs: Number(at), rank: Number(rank), value }
}

/** As it is stored. */
export const reportedText = ({ atMs, rank, value }: Required<Reported>): string => `${atMs} ${rank} ${value}`

/** Whether both are the same report. */
export const isSameReport = (one: Required<Reported>, other: Required<Reported> | undefined): boolean =>
  other !== undefined && reportedText(one) === reportedText(other)

/** The same as a field of a record that is read with a schema. */
export const reportedField = z.string().transform(readReported).optional()
