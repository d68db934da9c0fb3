// Lists of the service, page by page.
import { membersOf } from './contract.ts'
import { notAsPromised } from './errors.ts'
import type { HttpCaller } from './http-call.ts'
import type { WaitOptions } from './transport.ts'

/** Items asked for at a time. */
const PAGE = 500

/** All items of a list, from its first page to its last; the wait holds for each page. Leave the loop to ask no further. */
export async function* everyItem<T>(
  caller: HttpCaller,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  isItem: (value: unknown) => value is T,
  { timeoutMs }: WaitOptions,
): AsyncGenerator<T> {
  let cursor: string | undefined
  do {
    const search = new URLSearchParams({ limit: String(PAGE) })
    for (const [name, value] of Object.entries({ ...query, cursor })) if (value !== undefined) search.set(name, value)
    const { data, next } = await caller.askOrThrow(
      { method: 'GET', path: `${path}?${search}`, keyIn: 'bearer' },
      timeoutMs,
    )
    if (!Array.isArray(data) || !data.every(isItem)) throw notAsPromised(path)
    yield* data
    cursor = typeof next === 'string' ? next : undefined
  } while (cursor !== undefined)
}

/** The member `data` of an answer. Throws when it is not what it must be. */
export function dataOf<T>(
  answer: Readonly<Record<string, unknown>>,
  path: string,
  isData: (value: unknown) => value is T,
): T {
  const { data } = answer
  if (!isData(data)) throw notAsPromised(path)
  return data
}

/** Whether a value has these members, all of them texts. */
export function hasTexts(value: unknown, ...names: readonly string[]): boolean {
  const members = membersOf(value)
  return names.every((name) => typeof members[name] === 'string')
}
