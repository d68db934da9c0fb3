// Names in the description, which generators make types and functions of: of operations, paths, examples and schemas.
import { z } from 'zod'
import type { Example } from '../route.ts'

/** `campaigns` and `start` → `campaignsStart`, which stays the same as long as the table has these names. */
export const operationId = (family: string, name: string): string => family + pascal(name)

/** With its first letter large. */
export const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** `/jobs/:id` → `/jobs/{id}` */
export const documentedPath = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

/** `a list` → `aList`; of one without a name its place among all, from 0 → `example1`. */
export function exampleName({ name }: Pick<Example, 'name'>, place: number): string {
  if (name === undefined) return `example${place + 1}`
  const [first = '', ...others] = name.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return first + others.map(pascal).join('')
}

export type SchemaNames = ReturnType<typeof createNames>

/** Names schemas: one with an `id` keeps it, another gets that of the first operation that it is for. */
export function createNames() {
  const named = new Map<z.ZodType, z.ZodType>()
  return {
    of(schema: z.ZodType, otherwise: string): z.ZodType {
      const known = named.get(schema)
      if (known) return known
      const result = z.globalRegistry.get(schema)?.id === undefined ? schema.meta({ id: otherwise }) : schema
      named.set(schema, result)
      return result
    },
  }
}
