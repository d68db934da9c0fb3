// A service for campaign tests: an account with a sender, a template whose body takes a name, contacts in a tag, and
// short calls for everything a person does with a campaign.
import { z } from 'zod'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import { recipientsReader } from './ledger.ts'
import { type Service, startService } from './service.ts'
import { eventually } from './wait.ts'

export const SPRING = {
  name: 'spring',
  category: 'MARKETING',
  language: 'en_US',
  status: 'APPROVED',
  components: [{ type: 'BODY', text: 'Dear {{1}}, spring is here.' }],
}

const bodyWith = (from: string) => [{ type: 'BODY', parameters: [{ type: 'text', text: { from } }] }]

const STATES = [
  ...['queued', 'sending', 'unconfirmed', 'sent', 'delivered', 'read'],
  ...['failed', 'expired', 'cancelled', 'unknown'],
] as const
const count = z.number().int().nonnegative()
const described = z.looseObject({
  id: z.string(),
  state: z.string(),
  reason: z.string().nullable(),
  preflight: z
    .looseObject({
      recipients: count,
      refused: z.record(z.string(), count),
      excluded: count,
      problems: z.array(z.object({ path: z.string(), message: z.string() })),
      warnings: z.array(z.object({ path: z.string(), message: z.string() })),
      would_expire: count,
    })
    .optional(),
  progress: z.looseObject({ total: count, ...Object.fromEntries(STATES.map((state) => [state, count])) }),
})
export type Described = z.infer<typeof described>

/** The sum of all states; every description must have it equal to the total. */
export const sumOf = ({ progress }: Described): number =>
  STATES.reduce((sum, state) => sum + Number(progress[state]), 0)

export type CampaignService = Awaited<ReturnType<typeof startCampaigns>>

export async function startCampaigns(
  options: Parameters<typeof startService>[0] & { rate?: number; provider?: 'partner-api' | 'cloud-api' } = {},
) {
  const service: Service = await startService({ templates: [SPRING], ...options })
  const provider = options.provider ?? 'cloud-api'
  const tenant = await service.addTenant({ defaultProvider: provider, rate: options.rate ?? 100_000 })
  const key = tenant.apiKey
  const sender = provider === 'cloud-api' ? tenant.cloudNumber : tenant.partnerNumber
  const lane = provider === 'cloud-api' ? tenant.cloudLane : tenant.partnerLane
  let people = 0

  async function request(method: string, path: string, body?: unknown, bearer = key) {
    const { status, headers, text } = await service.api.as(bearer).request(method, path, body)
    return { status, headers, text, json: () => JSON.parse(text) }
  }

  const api = {
    ...service,
    tenant,
    lane,
    sender,
    request,

    /** A tag with so many new contacts. */
    async addPeople(count: number): Promise<{ tag: number; phones: string[] }> {
      // Tests that run side by side add theirs at the same time.
      const first = people
      people += count
      const { id: tag } = await createTag(service.redis, tenant.account, `people ${first}`)
      const phones = Array.from({ length: count }, (_, i) => String(491_520_000_000 + first + i))
      for (let at = 0; at < phones.length; at += 1_000) {
        const chunk = phones.slice(at, at + 1_000).map((phone, i) => ({ phone, name: `P${at + i}`, email: '' }))
        await importContacts(service.redis, tenant.account, tag, chunk)
      }
      return { tag, phones }
    },

    definition: (recipients: object, more: object = {}) => ({
      sender,
      template: {
        name: 'spring',
        language: { code: 'en_US' },
        components: bodyWith('rows' in recipients ? 'row.name' : 'contact.name'),
      },
      recipients,
      ...more,
    }),

    async create(recipients: object, more: object = {}): Promise<string> {
      const answer = await request('POST', '/campaigns', api.definition(recipients, more))
      if (answer.status !== 201) throw new Error(answer.text)
      return described.parse(answer.json().data).id
    },

    async upload(id: string, rows: string, type = 'text/csv', bearer = key) {
      const headers = { 'content-type': type }
      const { status, text } = await service.api.as(bearer).post(`/campaigns/${id}/rows`, rows, headers)
      return { status, body: JSON.parse(text) }
    },

    /** A verb that must be allowed. */
    async move(id: string, verb: string, body?: object): Promise<Described> {
      const answer = await request('POST', `/campaigns/${id}/${verb}`, body)
      if (answer.status !== 200) throw new Error(`${verb}: ${answer.status} ${answer.text}`)
      return described.parse(answer.json().data)
    },

    async show(id: string): Promise<Described> {
      const answer = await request('GET', `/campaigns/${id}`)
      return described.parse(answer.json().data)
    },

    /** The campaign once it is in this state. One that has paused itself ends no more: that fails at once, with the reason. */
    async reaches(id: string, state: string, limitMs = 60_000): Promise<Described> {
      const told = (now: Described) => JSON.stringify({ state: now.state, reason: now.reason, progress: now.progress })
      const reached = await eventually(
        async () => {
          const now = await api.show(id)
          if (now.state === state || (state === 'done' && now.state === 'paused')) return now
          throw new Error(told(now))
        },
        `${id} becomes ${state}`,
        limitMs,
      )
      if (reached.state !== state) throw new Error(`${id} does not become ${state}: ${told(reached)}`)
      return reached
    },

    async checked(id: string): Promise<Described> {
      await api.move(id, 'preflight')
      return eventually(async () => {
        const now = await api.show(id)
        return now.state === 'checking' ? undefined : now
      }, `${id} is checked`)
    },

    /** Ready to start. */
    async ready(recipients: object, more: object = {}): Promise<string> {
      const id = await api.create(recipients, more)
      const { state, preflight } = await api.checked(id)
      if (state !== 'ready') throw new Error(JSON.stringify(preflight))
      return id
    },

    /** Recipients in the order WhatsApp took their messages. */
    ledger: recipientsReader(service.simulator.url),

    async misbehave(rule: object): Promise<void> {
      await fetch(`${service.simulator.url}/_control`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(rule),
      })
    },

    async record(id: string) {
      const parsed = parseCampaignId(id)
      return parsed && findCampaign(service.redis, parsed)
    },
  }
  return api
}
