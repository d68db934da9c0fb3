// The description as it is served: read from where the build has put it, once in the life of a process, when somebody
// first asks for it. Where nothing was built, as in tests that load the sources, it is made.
import { readFile } from 'node:fs/promises'
import { z } from 'zod'

/**
 * A text to serve, as bytes, and what tells one version of it from another. To make 400 KB of bytes for each request took
 * 1 ms of CPU time, and kept them for as long as a client took to read them.
 */
const text = { text: z.string().transform((whole) => Buffer.from(whole)), etag: z.string() }
const publishedSchema = z.strictObject({
  /** JSON. */
  document: z.strictObject(text),
  /** HTML, and the Content-Security-Policy that it works under. */
  page: z.strictObject({ ...text, policy: z.string() }),
})
export type Published = z.infer<typeof publishedSchema>

let known: Promise<Published> | undefined

/** What is served. */
export function published(): Promise<Published> {
  known ??= read()
  return known
}

async function read(): Promise<Published> {
  const built = await readFile(new URL('published.json', import.meta.url), 'utf8').catch(() => undefined)
  if (built !== undefined) return publishedSchema.parse(JSON.parse(built))
  const { publish } = await import('./publish.ts')
  return publishedSchema.parse(publish())
}
