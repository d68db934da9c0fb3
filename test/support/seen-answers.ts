// Which documented answers the tests of a run have seen. Each worker of vitest appends what it sees to a file of its own;
// a whole run fails at its end by what nobody saw (whole-run.ts).
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROUTES } from '../../src/producer/api/table.ts'
import { errorsOf } from '../../src/producer/openapi/operation-answers.ts'

/** Names the folder to the workers. */
export const SEEN_FOLDER = 'LANEWAY_TEST_SEEN'

/** What comes of the connection and of storage, the same at every address: tests provoke it at some. */
const SHARED: ReadonlySet<number> = new Set([408, 500, 503])

const noted = new Set<string>()

/** Notes an answer of the route at this address, once in the life of a worker. */
export function noteSeen(method: string, path: string, status: number): void {
  const folder = process.env[SEEN_FOLDER]
  const line = `${method.toUpperCase()} ${path} ${status}`
  if (folder === undefined || noted.has(line)) return
  noted.add(line)
  appendFileSync(join(folder, String(process.pid)), `${line}\n`)
}

/** What to do about them. */
export const unseenSentence = (left: readonly string[]): string =>
  [
    'No test has seen these documented answers. Add a test that provokes each (with `fetch`, so that it is noticed), or',
    'take the status out of the table of routes (src/producer/api) where it cannot happen:',
    ...left.map((line) => `  ${line}`),
  ].join('\n')

/** `GET /jobs/:id 404` of every documented answer that is in no file of the folder. */
export function unseen(folder: string): string[] {
  const seen = new Set(readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n')))
  const documented = ROUTES.flatMap((spec) => {
    const errors = [...errorsOf(spec).keys()].filter((status) => !SHARED.has(status))
    return [...Object.keys(spec.answers), ...errors].map(
      (status) => `${spec.method.toUpperCase()} ${spec.path} ${status}`,
    )
  })
  return documented.filter((line) => !seen.has(line))
}
