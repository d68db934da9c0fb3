// The `template` object of a template message: which approved template, and what fills its variables.
// This schema vouches for the shape only. Which components there must be, how many parameters of which kind, and what
// they may hold depends on the approved template: match-template.ts judges that, all of it in one answer. That is why
// the parts below let through what the matcher will refuse, for example a text parameter whose text is a number.
import { z } from 'zod'
import { filledTextUpTo } from './bounded-text.ts'
import { LIMITS } from './limits.ts'

/**
 * Every kind of parameter keeps what it holds in a field named like its `type`; other fields but the name are dropped.
 * `type` is compared without regard to case and kept in lower case, as those fields are written.
 */
const parameterSchema = z
  .looseObject({ type: z.string().toLowerCase(), parameter_name: z.unknown().optional() })
  .transform((parameter): { type: string; parameter_name?: unknown; [held: string]: unknown } => {
    const { type } = parameter
    return {
      type,
      ...('parameter_name' in parameter && { parameter_name: parameter.parameter_name }),
      // Own fields only: a `type` of "constructor" must not find what every object inherits.
      ...(Object.hasOwn(parameter, type) && {
        [type]: fileKinds.has(type) ? fileOf(parameter[type]) : parameter[type],
      }),
    }
  })

const fileKinds = new Set(['image', 'video', 'document'])

/** A file without the fields nobody knows. Something else than an object stays, for the matcher to refuse. */
function fileOf(media: unknown): unknown {
  if (typeof media !== 'object' || media === null) return media
  return {
    ...('link' in media && { link: media.link }),
    ...('filename' in media && { filename: media.filename }),
  }
}

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
  name: filledTextUpTo(LIMITS.templateName),
  language: z.object({ code: z.string().min(1) }),
  components: z.array(componentSchema).optional(),
})

export type TemplateContent = z.infer<typeof templateContentSchema>
/** One entry of `template.components`, its `type` in upper case. */
export type Component = z.infer<typeof componentSchema>
/** One parameter of a component, its `type` in lower case and everything else as it came. */
export type Parameter = z.infer<typeof parameterSchema>
export type Card = z.infer<typeof cardSchema>
