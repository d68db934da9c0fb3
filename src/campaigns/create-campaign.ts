// Creating a campaign: what a person says is held against itself and against the account; whether it can be sent, the
// preflight tells later, all at once.
import { z } from 'zod'
import { senderOf } from '../accept/prepare-message.ts'
import { invalidFields } from '../accept/refusal.ts'
import { definitionSchema, offerOf } from '../messages/campaign-definition.ts'
import type { CampaignId } from '../messages/campaign-id.ts'
import { compileComponents } from '../messages/campaign-parameters.ts'
import { type Fault, faultsOf } from '../messages/fault.ts'
import { createCampaign } from '../store/campaigns.ts'
import type { Redis } from '../store/redis.ts'

/** Enough of a body to judge its components even when something else in it is wrong. */
const partsSchema = z.object({
  template: z.object({ components: definitionSchema.shape.template.shape.components }),
  recipients: definitionSchema.shape.recipients,
})

/** Creates a draft for the account, or throws a Refusal with every fault of the body. */
export async function defineCampaign(
  { redis }: { redis: Redis },
  account: number,
  body: unknown,
  nowMs: number,
): Promise<CampaignId> {
  const parsed = definitionSchema.safeParse(body)
  const faults = [...(parsed.success ? [] : faultsOf(parsed.error, body)), ...componentFaults(body)]
  if (parsed.success && parsed.data.valid_until !== undefined && Date.parse(parsed.data.valid_until) <= nowMs) {
    faults.push({ path: 'valid_until', message: 'must be in the future' })
  }
  if (!parsed.success || faults.length > 0) throw invalidFields(faults)
  const sender = await senderOf({ redis }, account, parsed.data.sender)
  return createCampaign(redis, { account, lane: sender.id, definition: parsed.data }, nowMs)
}

function componentFaults(body: unknown): Fault[] {
  const parts = partsSchema.safeParse(body)
  if (!parts.success) return []
  const result = compileComponents(parts.data.template.components, offerOf(parts.data.recipients))
  return result.ok ? [] : result.faults
}
