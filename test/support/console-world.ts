// Everything that a test of the console needs: `npm start` with its simulator and demo data, keys, and a browser.
import type { Browser } from 'playwright-core'
import { z } from 'zod'
import { createCredential, PERMISSIONS, type Permission } from '../../src/accounts/credentials.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { type Snapshot, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { apiClient } from './api.ts'
import { startBrowser } from './browser.ts'
import { type Demo, newDataDir, startLaneway } from './laneway.ts'
import { eventually } from './wait.ts'

/** HTML, a bidi override, a terminal escape, an invisible character: nothing of it may do anything on a page. */
export const HOSTILE =
  '<img src=x onerror="document.title=`pwned`"><b>bold</b> \u202egnirts \u001b[31mred\u001b[0m\u200b'
/** What a page shows in its place. */
export const HOSTILE_SHOWN =
  '<img src=x onerror="document.title=`pwned`"><b>bold</b> ⟨RLO⟩gnirts ⟨ESC⟩[31mred⟨ESC⟩[0m⟨ZWSP⟩'
/** The same for names of folders, which have neither control characters nor slashes. */
export const HOSTILE_NAME = '<img src=x onerror="document.title=`pwned`">\u202e&amp;gnirts'
export const HOSTILE_NAME_SHOWN = '<img src=x onerror="document.title=`pwned`">⟨RLO⟩&amp;gnirts'

export interface ConsoleWorld {
  baseUrl: string
  demo: Demo
  redis: Redis
  browser: Browser
  /** A key of the main account that may do everything there. */
  key: string
  /** Makes another key of the main account. */
  keyWith(permissions: readonly Permission[], name: string): Promise<string>
  /** Calls an address of the main account and returns what it answers; fails unless that is 2xx. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<unknown>
  /** How many messages there are to a person. A page of the list may be empty and still lead to another: all are read. */
  countTo(to: string): Promise<number>
  /** What the pages show now of the main account. */
  snapshot(): Promise<Snapshot>
  /** Sends a message and returns its id. */
  send(to: string, text: string): Promise<string>
  /** Waits until a message is in one of these states. */
  reaches(id: string, ...states: string[]): Promise<void>
  close(): Promise<void>
}

const listPage = z.object({ data: z.array(z.unknown()), next: z.string().nullable() })

/** Starts it all; `close` ends it. */
export async function startConsoleWorld(env: Record<string, string> = {}): Promise<ConsoleWorld> {
  const folder = newDataDir()
  const [{ demo }, browser] = await Promise.all([startLaneway(folder.dataDir, env), startBrowser()])
  const redis = connectWithRetry(demo.redis_url)
  await readyOrLate(redis, 300_000)
  const keyWith = async (permissions: readonly Permission[], name: string): Promise<string> =>
    (await createCredential(redis, demo.account_id, [...permissions], Date.now(), 0, name)).secret
  const key = await keyWith(PERMISSIONS, 'Ada at the console')

  const api: ConsoleWorld['api'] = async (method, path, body, headers = {}) => {
    const isText = typeof body === 'string'
    const answer = await apiClient(demo.base_url, key).open(path, {
      method,
      headers: { ...(isText ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    })
    const read: unknown = await answer.json()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(read)}`)
    return read
  }
  const countTo = async (to: string, cursor = ''): Promise<number> => {
    const { data, next } = listPage.parse(
      await api('GET', `/messages?${new URLSearchParams({ to, ...(cursor && { cursor }) })}`),
    )
    return data.length + (next === null ? 0 : await countTo(to, next))
  }
  return {
    baseUrl: demo.base_url,
    demo,
    redis,
    browser,
    key,
    keyWith,
    api,
    countTo: (to) => countTo(to),
    snapshot: async () => z.object({ data: snapshotSchema }).parse(await api('GET', '/console/snapshot')).data,
    async send(to, text) {
      const answer = await api('POST', '/sendservicemessages/sendmessages', {
        to,
        recipient_type: 'individual',
        messaging_product: 'chatapp',
        api_key: demo.api_key,
        type: 'image',
        image: { link: 'https://shop.example/spring.png', caption: text },
      })
      return textAt(answer, ['messages', '0', 'id'])
    },
    async reaches(id, ...states) {
      await eventually(async () => states.includes(textAt(await api('GET', `/messages/${id}`), ['data', 'state'])), id)
    },
    async close() {
      await browser.close()
      redis.disconnect()
      await folder.remove()
    },
  }
}

/** A text in an answer; fails when there is none. */
export function textAt(answer: unknown, path: readonly string[]): string {
  const found = path.reduce<unknown>((value, field) => Reflect.get(Object(value), field), answer)
  if (typeof found !== 'string') throw new Error(`no text at ${path.join('.')}: ${JSON.stringify(answer)}`)
  return found
}
