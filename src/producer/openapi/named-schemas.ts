// Names for the schemas that stand in the description by themselves: what a generator makes types of. A schema that has
// an `id` keeps it; another gets that of the operation that it is for.
import { z } from 'zod'

export type SchemaNames = ReturnType<typeof createNames>

/** Gives each schema one name, and each name to one schema: envelopes are made anew for each route, around the same. */
export function createNames() {
  const byId = new Map<string, z.ZodType>()
  const named = new Map<z.ZodType, z.ZodType>()

  function keep(id: string, schema: z.ZodType): z.ZodType {
    const known = byId.get(id) ?? schema
    byId.set(id, known)
    return known
  }

  return {
    /** The schema under its own name, or under `otherwise`. */
    of(schema: z.ZodType, otherwise: string): z.ZodType {
      const known = named.get(schema)
      if (known) return known
      const own = z.globalRegistry.get(schema)?.id
      const result = own === undefined ? schema.meta({ id: otherwise }) : keep(own, schema)
      named.set(schema, result)
      return result
    },
    /** A body with `api_key` beside its fields, named for the request; of a union each of its kinds. */
    withKey(schema: z.ZodType, otherwise: string): z.ZodType {
      return withKey(schema, otherwise)
    },
  }
}

const keySchema = z.string().meta({
  format: 'password',
  writeOnly: true,
  description: 'The key. It is looked at before all else and never stored.',
})

function withKey(schema: z.ZodType, otherwise: string): z.ZodType {
  const own = z.globalRegistry.get(schema)?.id
  const id = own === undefined ? otherwise : `${own}Request`
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const kinds = schema.options.map((kind) => (kind instanceof z.ZodObject ? withKey(kind, otherwise) : kind))
    const [first, ...others] = kinds.filter((kind) => kind instanceof z.ZodObject)
    if (first === undefined) throw new Error(`${id} has no kinds`)
    return z.discriminatedUnion(schema.def.discriminator, [first, ...others]).meta({ id })
  }
  if (!(schema instanceof z.ZodObject)) throw new Error(`${id} is no object that could have an api_key`)
  return z.object({ api_key: keySchema, ...schema.shape }).meta({ id })
}
