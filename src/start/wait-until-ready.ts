// Waits until the service says of itself that it works.
import { StartError } from './start-error.ts'
import { waitUntil } from './wait-until.ts'

/** A worker is known from its first heartbeat on, within its first second; the rest is for a slow machine. */
const LIMIT_MS = 30_000

/** Resolves when GET /readyz answers 200; a StartError with its last words otherwise. */
export async function waitUntilReady(baseUrl: string): Promise<void> {
  let lastWords = ''
  const ready = await waitUntil(async () => {
    const answer = await fetch(`${baseUrl}/readyz`)
    lastWords = await answer.text()
    return answer.ok
  }, LIMIT_MS)
  if (!ready) throw new StartError(`Laneway started but is not ready: ${lastWords}`)
}
