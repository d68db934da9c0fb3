// The description as it is served: read once, at the first request, from where the build has put it. Where nothing was
// built, as in tests that load the sources, it is made.
import { readFile } from 'node:fs/promises'
import { z } from 'zod'

/**
 * A text to serve and its ETag. As bytes it is shared by all requests: encoding 400 KB for each took 1 ms of CPU time and
 * kept them for as long as a client took to read them.
 */
const text = { text: z.string().transform((whole) => Buffer.from(whole)), etag: z.string() }
const publishedSchema = z.strictObject({
  /** JSON. */
  document: z.strictObject(text),
  /** HTML, and its Content-Security-Policy. */
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
