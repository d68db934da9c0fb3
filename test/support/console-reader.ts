// Reads the console in tests as a browser does: keys of a tenant, snapshots and streams.
import { expect } from 'vitest'
import { z } from 'zod'
import { createCredential, type Permission } from '../../src/accounts/credentials.ts'
import { type Scope, type Snapshot, type SnapshotLane, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import type { Service, Tenant } from './service.ts'

/** What a reason or a name must not do: end a script, begin an event, steer a terminal. */
export const HOSTILE_TEXT = '</script><img src=x onerror=alert(1)>\n\ndata: {"x":1}\u202e\u001b[2J'

/** Makes a key of a tenant, named Ada. */
export const keyOf = ({ redis }: Service, { account }: Tenant, ...permissions: Permission[]) =>
  createCredential(redis, account, permissions, Date.now(), 0, 'Ada')

/** All of a tenant. */
export const scopeOf = ({ account }: Tenant): Scope => ({ account, senders: [] })

/** Sends messages on the partner lane of a tenant, to a person each. */
export async function send(service: Service, { apiKey }: Tenant, count: number): Promise<void> {
  const audio = { type: 'audio', audio: { link: 'https://example.com/a.mp3' } }
  for (let i = 0; i < count; i += 1) {
    const body = { messaging_product: 'chatapp', recipient_type: 'individual', to: `+4917000000${10 + i}`, ...audio }
    expect((await service.post('/sendservicemessages/sendmessages', { ...body, api_key: apiKey })).status).toBe(200)
  }
}

const answered = z.strictObject({ status: z.literal(true), data: z.unknown() })

/** The data of an answer, by its schema. */
export const answerOf = <S extends z.ZodType>(data: S, json: unknown): z.output<S> =>
  data.parse(answered.parse(json).data)

/** A snapshot as a key that may read the messages of the tenant gets it. */
export async function snapshotOf(service: Service, tenant: Tenant): Promise<Snapshot> {
  const { secret } = await keyOf(service, tenant, 'messages:read')
  const answer = await service.api.as(secret).get('/console/snapshot')
  expect(answer.status).toBe(200)
  return answerOf(snapshotSchema, answer.json)
}

/** A lane of a snapshot. */
export const laneIn = (snapshot: Snapshot, lane: number): SnapshotLane | undefined =>
  snapshot.lanes.find(({ sender }) => sender === lane)

/** A stream as a browser reads it: its events, until it ends. */
export async function follow(service: Service, key: string, query = '') {
  const answer = await service.api.as(key).open(`/console/stream${query}`)
  const events: string[] = []
  let isOver = false
  const decoder = new TextDecoder()
  const reading = (async () => {
    let text = ''
    for await (const piece of answer.body ?? []) {
      text += decoder.decode(piece as Uint8Array, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      events.push(...parts)
    }
  })()
    .catch(() => undefined)
    .finally(() => {
      isOver = true
    })
  return { answer, events, reading, isOver: () => isOver }
}
