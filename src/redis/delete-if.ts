// A key that is deleted only while it has the value that was read of it.
import type { Redis } from './connect.ts'
import { defineScript } from './lua.ts'

const deleteIfScript = defineScript(import.meta.url, 'delete-if')

/** Deletes the key unless it has another value by now. */
export async function deleteIf(redis: Redis, key: string, value: string): Promise<void> {
  await deleteIfScript(redis, { key }, { value })
}
