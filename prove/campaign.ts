// A campaign as its owner runs and reads it: over HTTP.
import { z } from 'zod'
import { STATES } from '../src/messages/states.ts'
import { getJson, postJson } from './http.ts'
import type { Rig } from './rig.ts'

const described = z.object({
  data: z.object({
    id: z.string(),
    state: z.string(),
    progress: z.looseObject({ total: z.number() }),
  }),
})

export interface Described {
  id: string
  state: string
  /** Recipients by the state of their message. */
  shares: Map<string, number>
  /** All of them together: must be the number of recipients. */
  sum: number
}

/** One recipient of the export. */
const lineSchema = z.object({
  recipient: z.string(),
  message_id: z.string(),
  state: z.string(),
  possible_duplicate: z.string().nullable(),
})
export type ExportedLine = z.infer<typeof lineSchema>

const authorization = (rig: Rig) => ({ authorization: `Bearer ${rig.tenant.apiKey}` })
const addressOf = (rig: Rig, path: string) => `${rig.liveProducer()}/campaigns${path}`

/** Creates (an empty path and a body) or moves a campaign; returns its id. */
export async function steerCampaign(rig: Rig, path: string, body: object = {}): Promise<string> {
  const answer = await postJson(addressOf(rig, path), body, authorization(rig))
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`/campaigns${path}: ${JSON.stringify(answer)}`)
  return described.parse(answer.body).data.id
}

export async function describeCampaign(rig: Rig, id: string): Promise<Described> {
  const answer = await getJson(addressOf(rig, `/${id}`), authorization(rig))
  if (answer.status !== 200) throw new Error(`/campaigns/${id}: ${JSON.stringify(answer)}`)
  const { state, progress } = described.parse(answer.body).data
  const shares = new Map(STATES.map((each) => [each, z.number().parse(progress[each])]))
  return { id, state, shares, sum: [...shares.values()].reduce((sum, count) => sum + count, 0) }
}

export async function exportCampaign(rig: Rig, id: string): Promise<ExportedLine[]> {
  const answer = await fetch(addressOf(rig, `/${id}/export?format=ndjson`), { headers: authorization(rig) })
  const lines = (await answer.text()).split('\n').filter((line) => line !== '')
  return lines.map((line) => lineSchema.parse(JSON.parse(line)))
}
