// The history as a chart wants it: its shape. What fills it in is live/series.ts.
import { z } from 'zod'

/** Stretches of time up to now. */
export const SPANS = ['hour', 'week'] as const
export type Span = (typeof SPANS)[number]

const count = z.int().nonnegative()
/** A series, exact. */
export const seriesSchema = z
  .strictObject({
    step_s: z.int().positive().describe('Seconds that a point covers.'),
    points: z.array(
      z.strictObject({
        at: z.iso.datetime(),
        ...{ accepted: count, sent: count, delivered: count, read: count, failed: count, unknown: count },
        waiting: count.describe('The most that waited at once.'),
        oldest_s: count.describe('Age of the oldest of them, at most.'),
      }),
    ),
  })
  .meta({ id: 'ConsoleHistory' })
export type Series = z.infer<typeof seriesSchema>
