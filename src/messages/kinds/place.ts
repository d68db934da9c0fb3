// A place on the map.
import { z } from 'zod'
import { textUpTo } from '../bounded.ts'
import { LIMITS } from '../limits.ts'
import { answering } from './context.ts'

const degrees = (most: number) => z.number().min(-most).max(most)

/** Degrees of WGS 84; name and address are shown below the map. */
export const locationContent = z.object({
  type: z.literal('location'),
  location: z.object({
    latitude: degrees(90),
    longitude: degrees(180),
    name: textUpTo(LIMITS.place).optional(),
    address: textUpTo(LIMITS.place).optional(),
  }),
  ...answering,
})
