// Last-write-wins values, ordered by the clock of the program that sends them: an older value never overwrites a newer one,
// however late or often it comes.
import { z } from 'zod'
import type { Redis } from './connect.ts'
import { defineScript } from './lua.ts'

const script = defineScript(import.meta.url, 'newest')
const reply = z.enum(['newer', 'same', 'older', 'missing'])

/** How a word stands to what is known: it counts from now on, did before, or is out of date; `missing`: no place for it. */
export type Standing = z.infer<typeof reply>

/** A word of somebody else; of two of the same moment the higher rank counts. */
export interface Word {
  atMs: number
  rank?: number
  value: string
}

/**
 * Writes a word into a field of a hash, with other fields besides if it counts. A hash that is not there is made only with
 * `most`, and gets at most so many fields.
 */
export async function tellNewest(
  redis: Redis,
  { key, field, most = 0 }: { key: string; field: string; most?: number },
  { atMs, rank = 0, value }: Word,
  writes: Record<string, string | number> = {},
): Promise<Standing> {
  return reply.parse(await script(redis, { record: key }, { field, at: atMs, rank, value, writes, most }))
}

/** What such a field holds; undefined for one that nobody wrote. */
export function readWord(text: string | null | undefined): Required<Word> | undefined {
  const [, at, rank, value] = /^(\d+) (\d+) (.*)$/s.exec(text ?? '') ?? []
  return value === undefined ? undefined : { atMs: Number(at), rank: Number(rank), value }
}

/** As it is stored. */
export const wordText = ({ atMs, rank, value }: Required<Word>): string => `${atMs} ${rank} ${value}`

/** Whether both are the same word of the same moment. */
export const isSameWord = (one: Required<Word>, other: Required<Word> | undefined): boolean =>
  other !== undefined && wordText(one) === wordText(other)

/** The same as a field of a record that is read with a schema. */
export const wordField = z.string().transform(readWord).optional()
