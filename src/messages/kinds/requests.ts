// Interactive messages with one button that leaves the chat: a link to open, or a location to share.
import { z } from 'zod'
import { filledTextUpTo, linkSchema } from '../bounded.ts'
import { bodySchema, footerSchema, headerSchema } from '../interactive-parts.ts'
import { LIMITS } from '../limits.ts'

/** `cta_url`: a text with one button that opens an address. */
export const ctaUrlSchema = z
  .object({
    type: z.literal('cta_url'),
    header: headerSchema.optional(),
    body: bodySchema,
    footer: footerSchema.optional(),
    action: z.object({
      name: z.literal('cta_url'),
      parameters: z.object({ display_text: filledTextUpTo(LIMITS.linkButton), url: linkSchema }),
    }),
  })
  .meta({ id: 'InteractiveLink' })

/** `location_request_message`: a text with a button that sends the location of the person back. */
export const locationRequestSchema = z
  .object({
    type: z.literal('location_request_message'),
    body: bodySchema,
    action: z.object({ name: z.literal('send_location') }),
  })
  .meta({ id: 'InteractiveLocationRequest' })
