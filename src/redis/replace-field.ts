// A field of a hash, changed only where nobody else has changed it since it was read.
import type { Redis } from './connect.ts'
import { defineScript } from './lua.ts'

const replaceScript = defineScript(import.meta.url, 'replace-field')

/** Gives the field its new value unless it has another one than `before` by now (`''`: none); says whether it did. */
export async function replaceField(
  redis: Redis,
  key: string,
  field: string,
  { before, after }: { before: string; after: string },
): Promise<boolean> {
  return (await replaceScript(redis, { hash: key }, { field, before, after })) === 1
}
