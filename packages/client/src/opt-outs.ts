// Opt-outs: people who want no advertising of the account.
import { randomUUID } from 'node:crypto'
import { LanewayRefused } from './errors.ts'
import type { HttpCaller } from './http-call.ts'
import { dataOf, everyItem, hasTexts } from './pages.ts'
import type { WaitOptions } from './transport.ts'
import type { OptOut } from './types.ts'

/** People are given as a number in any spelling, or as the id of a person without one. */
export interface OptOuts {
  /** Records that they want no advertising; an earlier opt-out stays as it is. Needs `contacts:write`. */
  add(person: string, options?: WaitOptions): Promise<OptOut>
  /** Removes the opt-out, if there is one. Needs `contacts:write`. */
  remove(person: string, options?: WaitOptions): Promise<void>
  /** Undefined for a person without an opt-out. Needs `contacts:read`. */
  find(person: string, options?: WaitOptions): Promise<OptOut | undefined>
  /** All of them, the latest first. Needs `contacts:read`. */
  list(options?: WaitOptions): AsyncIterable<OptOut>
}

const PATH = '/opt-outs'
const isOptOut = (value: unknown): value is OptOut => hasTexts(value, 'person', 'source', 'since')
const pathOf = (person: string): string => `${PATH}/${encodeURIComponent(person)}`

/** The opt-outs of a client that is connected over HTTP. */
export function openOptOuts(caller: HttpCaller): OptOuts {
  /** Undefined for what the list does not have. */
  async function ofPerson(method: 'GET' | 'DELETE', person: string, timeoutMs: number | undefined) {
    const reply = await caller.ask({ method, path: pathOf(person), keyIn: 'bearer' }, timeoutMs)
    if (reply.ok) return reply.body
    if (reply.error instanceof LanewayRefused && reply.error.code === 'not_found') return undefined
    throw reply.error
  }

  return {
    async add(person, { timeoutMs } = {}) {
      const request = { method: 'POST', path: PATH, keyIn: 'bearer', body: { person } } as const
      const answer = await caller.askOrThrow({ ...request, idempotencyKey: randomUUID() }, timeoutMs)
      return dataOf(answer, PATH, isOptOut)
    },
    async remove(person, { timeoutMs } = {}) {
      await ofPerson('DELETE', person, timeoutMs)
    },
    async find(person, { timeoutMs } = {}) {
      const answer = await ofPerson('GET', person, timeoutMs)
      return answer && dataOf(answer, PATH, isOptOut)
    },
    list: (options = {}) => everyItem(caller, PATH, {}, isOptOut, options),
  }
}
