// Every operation of the HTTP interface as a typed call. The types are those of the service's own table; what is here at run time is
// only where each operation is (addresses.ts).
import { randomUUID } from 'node:crypto'
import { ADDRESSES } from './addresses.ts'
import type { HttpCaller } from './http-call.ts'
import type { Operations } from './types.ts'

/** What all operations take besides the fields of their path and their query. */
interface Given {
  body?: unknown
  contentType?: string
  idempotencyKey?: string
  timeoutMs?: number
  [field: string]: unknown
}

/** The operations through this caller. Each rejects with a LanewayError. */
export function openOperations(caller: HttpCaller): Operations {
  const families = Object.entries(ADDRESSES).map(([family, operations]) => [
    family,
    Object.fromEntries(Object.entries(operations).map(([name, address]) => [name, callTo(caller, address)])),
  ])
  // The type of ADDRESSES holds that each operation is there.
  return Object.fromEntries(families) as Operations
}

/** The entries of all pages of a list, asked for as they are read. Leave the loop to stop. */
export async function* everyEntry<I extends { cursor?: string | number | undefined }, T>(
  list: (input: I) => Promise<{ data: readonly T[]; next: string | null }>,
  input: NoInfer<Omit<I, 'cursor'>>,
): AsyncGenerator<T> {
  let cursor: string | undefined
  do {
    // Its own input, and where the page before has ended.
    const page = await list({ ...input, ...(cursor !== undefined && { cursor }) } as I)
    yield* page.data
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

type Address = (typeof ADDRESSES)[keyof typeof ADDRESSES] extends infer F
  ? F extends object
    ? F[keyof F]
    : never
  : never

function callTo(caller: HttpCaller, address: Address) {
  const [method, path, ...traits]: readonly string[] = address
  const names = [...(path ?? '').matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  return async ({ body, contentType, idempotencyKey, timeoutMs, ...fields }: Given = {}): Promise<unknown> => {
    const target = (path ?? '').replaceAll(/:(\w+)/g, (_, name: string) => partOf(name, fields[name]))
    const query = new URLSearchParams(
      Object.entries(fields).flatMap(([name, value]): [string, string][] =>
        names.includes(name) || value === undefined ? [] : [[name, String(value)]],
      ),
    )
    const request = {
      method: method ?? 'GET',
      path: query.size === 0 ? target : `${target}?${query}`,
      keyIn: traits.includes('api_key') ? ('body' as const) : ('bearer' as const),
      // A request whose answer is lost is made again, and does nothing twice.
      idempotencyKey: idempotencyKey ?? (traits.includes('keyed') ? randomUUID() : undefined),
      isOnce: method === 'POST' && !traits.includes('keyed'),
    }
    const json = method === 'GET' || method === 'DELETE' ? {} : { body: isObject(body) ? body : {} }
    if (traits.includes('bytes')) return caller.open({ ...request, ...json }, timeoutMs)
    if (!traits.includes('upload')) return caller.askOrThrow({ ...request, ...json }, timeoutMs)
    if (!(body instanceof Uint8Array) && !(body instanceof FormData))
      throw new TypeError('The body is bytes or a form.')
    const content = { bytes: body, type: contentType ?? (body instanceof FormData ? undefined : 'text/csv') }
    return caller.askOrThrow({ ...request, content }, timeoutMs)
  }
}

/** A part of the path. `.` and `..` would mean another one. */
function partOf(name: string, value: unknown): string {
  const text = String(value ?? '')
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} must be what a list shows.`)
  return encodeURIComponent(text)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
