// Every test talks to the producer with `fetch`, whether it runs in the same process or in one of its own. Here each of
// these answers is held against the table of routes, and one that is not in it fails the test, whatever the test looks at.
import { afterAll, afterEach } from 'vitest'

const faults: string[] = []

/** Of all servers that tests ask, only the producer names its requests. */
const isProducers = (answer: Response): boolean => answer.headers.has('x-request-id')

const plainFetch = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const answer = await plainFetch(input, init)
  if (!isProducers(answer)) return answer
  const url = new URL(input instanceof Request ? input.url : input)
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
  // Only tests that ask a producer load the table.
  const { faultOfAnswer, faultOfHead } = await import('./answer-check.ts')
  const asked = { method, path: url.pathname, status: answer.status, type: answer.headers.get('content-type') ?? '' }
  note(faultOfHead(asked))
  // Read when the test reads it: some tests are about answers that are read slowly, or not at all.
  const readText = answer.text.bind(answer)
  const text = async (): Promise<string> => {
    const read = await readText()
    note(faultOfAnswer(asked, read))
    return read
  }
  // A file that could not be loaded has left its watch on, and the answer comes through both.
  const configurable = true
  Object.defineProperties(answer, {
    text: { value: text, configurable },
    json: { value: async () => JSON.parse(await text()), configurable },
  })
  return answer
}

function note(fault: string | undefined): void {
  if (fault !== undefined && faults.length < 10) faults.push(fault)
}

function tell(): void {
  const found = faults.splice(0)
  if (found.length > 0) throw new Error(`answers that the table of routes does not have:\n${found.join('\n')}`)
}
afterEach(tell)
afterAll(() => {
  globalThis.fetch = plainFetch
  tell()
})
