// Creates a campaign. Its definition is checked as far as possible at once; preflight checks the rest.
import { z } from 'zod'
import { accountLimits } from '../../accounts/accounts.ts'
import type { Fault } from '../../kernel/fault.ts'
import { fieldNamesOf } from '../../kernel/field-names.ts'
import { validityFault } from '../../kernel/instant.ts'
import { holdsMoreThan } from '../../kernel/json-size.ts'
import { withoutNulls } from '../../kernel/nulls.ts'
import { invalidFields, Refusal } from '../../kernel/refusal.ts'
import { unknownFault } from '../../kernel/unknown-fields.ts'
import { faultsOf } from '../../kernel/zod-faults.ts'
import { isLaneClosed } from '../../lanes/closed-lanes.ts'
import { senderOf } from '../../messages/accept/choose-sender.ts'
import { refuseRoute } from '../../messages/accept/provider-support.ts'
import type { AccountLimits } from '../../model/accounts/limits.ts'
import { type CampaignId, parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import { compiledOf, DEFINITION_MOST, type Definition, definitionSchema } from '../../model/campaigns/definition.ts'
import { createCampaign, findOwnCampaign, idOf, newCampaignId } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { bodyDigest } from '../../redis/idempotency.ts'
import { once } from '../../redis/once.ts'
import { addDraft } from '../store/draft-quota.ts'

/** A campaign to be created for an account whose key has been checked. `body` is parsed JSON. */
export interface CreateRequest {
  account: number
  body: Record<string, unknown>
  /** The client's own key for this request; a repeat with it creates no second campaign. */
  idempotencyKey: string | undefined
}

/** Enough of a body to judge its components even when something else in it is wrong. */
const partsSchema = z.object({
  template: z.object({ components: definitionSchema.shape.template.shape.components }),
  recipients: definitionSchema.shape.recipients,
})

/** Creates a draft for the account, or throws a Refusal with every fault of the body. */
export async function defineCampaign(
  deps: { redis: Redis; retentionMs: number; limits?: AccountLimits | undefined },
  { account, body, idempotencyKey }: CreateRequest,
): Promise<CampaignId> {
  const { redis } = deps
  const use = { account, route: 'campaign', key: idempotencyKey, digest: () => bodyDigest(body) }
  const name = await once(redis, use, {
    async prepare() {
      const definition = definitionOf(body, deps.retentionMs)
      const sender = await senderOf(redis, account, definition.sender)
      refuseRoute(sender, definition.marketing_route)
      return { name: idOf(await newCampaignId(redis, sender.id)), work: definition }
    },
    async make(id, definition) {
      await refuseTooMany(deps, account, id)
      await createCampaign(redis, { ...existingId(id), account, definition }, Date.now())
      return id
    },
    find: async (id) => ((await findOwnCampaign(redis, account, id)) ? id : undefined),
    // Its sender was removed, so that nothing would ever leave.
    isSpent: (id) => isLaneClosed(redis, existingId(id).lane),
  })
  return existingId(name)
}

/** Throws a Refusal: `too_many_drafts`. */
async function refuseTooMany(
  { redis, limits }: { redis: Redis; limits?: AccountLimits | undefined },
  account: number,
  id: string,
): Promise<void> {
  const most = limits === undefined ? 0 : (await accountLimits(redis, account, limits)).drafts
  if (await addDraft(redis, account, { id, most, nowMs: Date.now() })) return
  const sentence = `The account has ${most} campaigns that were not started, and may have no more: start or cancel some.`
  throw new Refusal('in_the_way', 'too_many_drafts', sentence)
}

/** The parts of an id that was made here. */
export function existingId(name: string): CampaignId {
  const id = parseCampaignId(name)
  if (!id) throw new Error('an idempotency key of a campaign stands for something else')
  return id
}

/** The definition to store: exactly the fields that were parsed. Throws a Refusal with every fault. */
function definitionOf(body: unknown, retentionMs: number): Definition {
  if (holdsMoreThan(body, DEFINITION_MOST)) {
    const { characters, values } = DEFINITION_MOST
    const message = `a campaign has at most ${characters} characters and ${values} values in all, got more`
    throw invalidFields([{ path: '', message }])
  }
  const parsed = definitionSchema.safeParse(body)
  const components = componentsOf(body)
  const faults = [
    ...(parsed.success ? [] : faultsOf(parsed.error, body, '', fieldNamesOf(definitionSchema))),
    ...components.faults,
  ]
  if (parsed.success && parsed.data.valid_until !== undefined) {
    const message = validityFault(Date.parse(parsed.data.valid_until), Date.now(), retentionMs)
    if (message !== undefined) faults.push({ path: 'valid_until', message })
  }
  if (!parsed.success || !components.stored || faults.length > 0) {
    const bare = withoutNulls(body, faults)
    if (bare !== undefined) return definitionOf(bare, retentionMs)
    throw invalidFields(faults)
  }
  const { template } = parsed.data
  return { ...parsed.data, template: { ...template, components: components.stored() } }
}

function componentsOf(body: unknown): { stored?: () => unknown[]; faults: readonly Fault[] } {
  const parts = partsSchema.safeParse(body)
  if (!parts.success) return { faults: [] }
  const result = compiledOf(parts.data)
  if (!result.ok) return { faults: result.faults }
  return { stored: result.stored, faults: result.unknown.map(unknownFault) }
}
