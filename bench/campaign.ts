// A campaign on Laneway, as its user runs it over HTTP, to the contacts of a tag that the bench has put into Redis.
import { z } from 'zod'
import { listSenders } from '../src/accounts/senders.ts'
import { STATES } from '../src/model/messages/lifecycle.ts'
import { importContacts } from '../src/people/contacts/contacts.ts'
import { createTag } from '../src/people/contacts/tags.ts'
import type { Laneway } from './laneway.ts'
import { until } from './part.ts'
import { TEMPLATE } from './traffic.ts'

const AT_ONCE = 1_000

const described = z.object({
  data: z.object({
    id: z.string(),
    state: z.string(),
    progress: z.record(z.string(), z.number().nullable()),
    preflight: z.looseObject({ days: z.number().nullable() }).optional(),
    waits: z.looseObject({ why: z.string(), until: z.string().nullable() }).nullable(),
  }),
})
export type Progress = z.infer<typeof described>['data']

/** Messages that somebody has taken up. */
export const takenOf = ({ progress }: Progress): number => (progress.total ?? 0) - (progress.queued ?? 0)
export const sumOf = ({ progress }: Progress): number => STATES.reduce((sum, state) => sum + (progress[state] ?? 0), 0)

export const phoneOf = (n: number): string => `4917${String(n).padStart(8, '0')}`
export const nameOf = (n: number): string => `Person ${String(n).padStart(8, '0')}`

/** A tag of so many people, from the `from`-th on; returns its id. */
export async function fillTag(
  { redis: { client } }: Laneway,
  count: number,
  progress: (done: number) => void,
  from = 0,
): Promise<number> {
  const [sender] = await listSenders(client)
  const account = sender?.account ?? 0
  const { id } = await createTag(client, account, `bench ${from} ${Date.now()}`)
  for (let at = 0; at < count; at += AT_ONCE) {
    const people = Array.from({ length: Math.min(AT_ONCE, count - at) }, (_, i) => ({
      phone: phoneOf(from + at + i),
      name: nameOf(from + at + i),
      email: '',
    }))
    await importContacts(client, account, id, people)
    progress(at + people.length)
  }
  return id
}

/** What all recipients read; with the rest it makes the 200 characters of all messages of the bench. */
export const TEXT = 'Your parcel left our house today and will reach you soon. '.repeat(4).slice(0, 170).trim()

/** A campaign from `sender` to the tag, checked and ready to be started. */
export async function createCampaign(
  laneway: Laneway,
  sender: string,
  tag: number,
  more: object = {},
  template: string = TEMPLATE.name,
): Promise<string> {
  const parameters = [
    { type: 'text', text: { from: 'contact.name' } },
    { type: 'text', text: TEXT },
  ]
  const { id } = await call(laneway, 'POST', '', {
    sender,
    template: {
      name: template,
      language: { code: TEMPLATE.language },
      components: [{ type: 'BODY', parameters }],
    },
    recipients: { tags: [tag] },
    ...more,
  })
  await call(laneway, 'POST', `/${id}/preflight`)
  await until('the preflight', 600_000, async () => (await show(laneway, id)).state === 'ready')
  return id
}

export const show = (laneway: Laneway, id: string): Promise<Progress> => call(laneway, 'GET', `/${id}`)
export const start = (laneway: Laneway, id: string): Promise<Progress> => call(laneway, 'POST', `/${id}/start`)
export const pause = (laneway: Laneway, id: string): Promise<Progress> => call(laneway, 'POST', `/${id}/pause`)
export const resume = (laneway: Laneway, id: string): Promise<Progress> => call(laneway, 'POST', `/${id}/resume`)
export const cancel = (laneway: Laneway, id: string): Promise<Progress> => call(laneway, 'POST', `/${id}/cancel`)

async function call({ port, key }: Laneway, method: string, path: string, body?: object): Promise<Progress> {
  const answer = await fetch(`http://127.0.0.1:${port}/campaigns${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} /campaigns${path}: ${answer.status} ${text}`)
  return described.parse(JSON.parse(text)).data
}
