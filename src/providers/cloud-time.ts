// When something happened, as the chat product's webhooks write it.
import { z } from 'zod'

/** Seconds as text or as a number, rarely milliseconds; read as epoch ms. */
export const webhookTime = z
  .union([z.string().regex(/^\d{1,15}$/), z.number().int().nonnegative()])
  .transform(Number)
  .transform((value) => (value > 1e11 ? value : value * 1_000))
