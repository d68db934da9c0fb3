// Takes API keys out of what is kept of a job.
import { HIDDEN_KEY } from './intake.ts'

/** A key, or so much of one that it gives something away; a fault may quote a value and cut it short. */
const KEY = /lw_[0-9A-Za-z]{4,}/g

/** The text with every key in it hidden. */
export const hideKeysInText = (text: string): string => text.replace(KEY, HIDDEN_KEY)

/**
 * A copy of a job's data with every key hidden: whatever stands under the name `api_key`, and what looks like a key of
 * ours anywhere else, as when somebody mixed up two fields. The data must not nest too deep for JSON.stringify.
 */
export function hideKeys(data: unknown): unknown {
  const text = hideKeysInText(JSON.stringify(data) ?? 'null')
  return JSON.parse(text, (name, value: unknown) => (name === 'api_key' ? HIDDEN_KEY : value))
}
