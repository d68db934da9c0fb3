// The `template` object of a template message: which approved template, and what fills its variables.
// This schema vouches for the shape only. Which components there must be, how many parameters of which kind, and what
// they may hold depends on the approved template: match-template.ts judges that, all of it in one answer. That is why
// the parts below let through what the matcher will refuse, for example a text parameter whose text is a number.
import { z } from 'zod'
import { LIMITS } from './limits.ts'

/** A file in a parameter, without the fields nobody knows. Something else than an object stays, for the matcher to refuse. */
const mediaSchema = z.unknown().transform((media) => {
  if (typeof media !== 'object' || media === null) return media
  return {
    ...('link' in media && { link: media.link }),
    ...('filename' in media && { filename: media.filename }),
  }
})

/** `type` is compared without regard to case and kept in lower case, as the field of the same name is written. */
const parameterSchema = z.object({
  type: z.string().toLowerCase(),
  parameter_name: z.unknown().optional(),
  text: z.unknown().optional(),
  image: mediaSchema.optional(),
  video: mediaSchema.optional(),
  document: mediaSchema.optional(),
  coupon_code: z.unknown().optional(),
  payload: z.unknown().optional(),
})

/** What a card holds, and a template outside of its cards. `type` and `sub_type` are kept in upper case. */
const partSchema = z.object({
  type: z.string().toUpperCase(),
  sub_type: z.string().toUpperCase().optional(),
  index: z.union([z.string(), z.number()]).transform(String).optional(),
  parameters: z.array(parameterSchema).optional(),
})

const cardSchema = z.object({ card_index: z.int(), components: z.array(partSchema).optional() })

const componentSchema = partSchema.extend({ cards: z.array(cardSchema).optional() })

/** The `template` object: parsing it twice gives the same as parsing it once, for it is stored and read again. */
export const templateContentSchema = z.object({
  name: z.string().min(1).max(LIMITS.templateName),
  language: z.object({ code: z.string().min(1) }),
  components: z.array(componentSchema).optional(),
})

export type TemplateContent = z.infer<typeof templateContentSchema>
/** One entry of `template.components`, its `type` in upper case. */
export type Component = z.infer<typeof componentSchema>
/** One parameter of a component, its `type` in lower case and everything else as it came. */
export type Parameter = z.infer<typeof parameterSchema>
export type Card = z.infer<typeof cardSchema>
