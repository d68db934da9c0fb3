// An account with one sender, its keys and one approved marketing template, written through the store as the command
// line would write it; 500 of them by 2,000 processes would take longer than the proof itself.

import { createAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import type { Redis } from '../../src/redis/connect.ts'

export type Wire = 'cloud-api' | 'partner-api'
export type Policy = 'at_least_once' | 'at_most_once'

export interface TenantPlan {
  wire: Wire
  /** What becomes of unconfirmed messages, of both classes. */
  policy: Policy
  /** Messages per second of the lane. */
  rate?: number
  /** Whether messages go out as marketing templates, which are of the class `campaign`. */
  campaign?: boolean
}

export interface Tenant extends Required<TenantPlan> {
  lane: number
  /** For sending and lookups. */
  apiKey: string
  /** For lanes. */
  adminKey: string
  /** The sender as the ledger names it on the Cloud API wire. */
  phoneNumberId: string
}

/** Far above what a scenario sends: the pace limits nothing unless a scenario is about it. */
const NO_LIMIT = 10_000

export const TEMPLATE = 'proof_news'

/** The number as the simulator, which knows ids alone, shows it in its webhooks. */
export const displayNumberOf = (phoneNumberId: string): string => `1555${phoneNumberId.slice(-7)}`

/** `secretKey` is what the processes have as LANEWAY_SECRET_KEY, `place` tells this tenant from the others. */
export async function createTenant(
  redis: Redis,
  where: { secretKey: string; providerUrl: string; place: number },
  plan: TenantPlan,
): Promise<Tenant> {
  const { wire, policy, rate = NO_LIMIT, campaign = false } = plan
  const account = await createAccount(redis, `tenant ${where.place}`)
  await setAccountSettings(redis, account, { 'policy.transactional': policy })
  await setAccountSettings(redis, account, { 'policy.campaign': policy })
  const phoneNumberId = String(106_540_000_000_000 + where.place)
  const lane = await addSender(redis, {
    account,
    number: displayNumberOf(phoneNumberId),
    name: 'main',
    provider: wire,
    baseUrl: where.providerUrl,
    sealedToken: createSeal([where.secretKey]).encrypt('provider-token'),
    phoneNumberId: wire === 'cloud-api' ? phoneNumberId : '',
    rate,
    honoursIdempotency: false,
    isDefault: true,
  })
  const queues = openLaneQueues(redis)
  await queues.close()
  await importTemplate(
    redis,
    account,
    templateSchema.parse({
      name: TEMPLATE,
      category: 'MARKETING',
      language: 'en_US',
      status: 'APPROVED',
      components: [{ type: 'BODY', text: 'News.' }],
    }),
  )
  const [sending, admin] = await Promise.all([
    createCredential(redis, account, ['messages:send', 'messages:read'], Date.now()),
    createCredential(redis, account, ['admin'], Date.now()),
  ])
  return { wire, policy, rate, campaign, lane, apiKey: sending.secret, adminKey: admin.secret, phoneNumberId }
}
