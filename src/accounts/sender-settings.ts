// What may be said of a sender: its provider and its pace.
import { z } from 'zod'

export const providerNameSchema = z.enum(['partner-api', 'cloud-api'])
export type ProviderName = z.infer<typeof providerNameSchema>

/** Messages per second: a message a minute at least; at most what one lane could hold anyway. */
export const MIN_RATE = 1 / 60
export const MAX_RATE = 100_000
