// A business of a world: one account with two numbers in one portfolio, as WhatsApp and the service know it.

import { addSender } from '../../../src/accounts/add-sender.ts'
import { findSender, setSenderProvider } from '../../../src/accounts/senders.ts'
import { importTemplate } from '../../../src/accounts/templates.ts'
import { createSeal } from '../../../src/kernel/seal.ts'
import { templateSchema } from '../../../src/model/templates/template.ts'
import { createPortfolio, joinPortfolio, newPortfolioId } from '../../../src/portfolios/portfolios.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { type Rig, SECRET_KEY } from '../rig.ts'
import { displayNumberOf, TEMPLATE, type Tenant } from '../tenant.ts'
import type { World } from './worlds.ts'

/** The template of codes, and the number that sends them. */
export const CODE_TEMPLATE = 'proof_code'
export const OTHER_NUMBER = 'codes'

export interface Business {
  world: World
  tenant: Tenant
  /** Phone number ids: of the campaign, of the codes. */
  numbers: readonly [string, string]
  /** Account at WhatsApp. */
  wabaId: string
}

/** Far above what codes need. */
const CODE_RATE = 200

/** Adds what a world needs to the account of a tenant; the service takes it over within 2 s. */
export async function setUp(rig: Rig, tenant: Tenant, world: World): Promise<Business> {
  const { store } = rig
  const main = await findSender(store, tenant.lane)
  if (main === undefined) throw new Error('the tenant has no sender')
  const phoneNumberId = String(Number(tenant.phoneNumberId) + 500_000)
  const lane = await addSender(store, {
    account: main.account,
    number: displayNumberOf(phoneNumberId),
    name: OTHER_NUMBER,
    provider: 'cloud-api',
    baseUrl: main.base_url,
    sealedToken: createSeal([SECRET_KEY]).encrypt('provider-token'),
    phoneNumberId,
    rate: CODE_RATE,
    honoursIdempotency: false,
    isDefault: false,
  })
  const wabaId = String(200_000_000_000_000 + world.place)
  for (const id of [tenant.lane, lane]) await setSenderProvider(store, id, { wabaId })
  if (world.rules !== null) await joinBoth(store, world, main.account, [tenant.lane, lane])
  const code = {
    ...{ name: CODE_TEMPLATE, category: 'UTILITY', language: 'en_US', status: 'APPROVED' },
    components: [{ type: 'BODY', text: 'Your order is ready.' }],
  }
  await importTemplate(store, main.account, templateSchema.parse(code))
  return { world, tenant, numbers: [tenant.phoneNumberId, phoneNumberId], wabaId }
}

async function joinBoth(store: Redis, world: World, account: number, lanes: readonly number[]): Promise<void> {
  const id = await newPortfolioId(store)
  const { dailyLimit: daily_limit, reservePercent: reserve_percent } = world
  await createPortfolio(store, { id, account, name: `world ${world.place}`, daily_limit, reserve_percent })
  for (const lane of lanes) await joinPortfolio(store, { id: lane, account }, id)
}

/** What the simulator is told of these businesses. */
export const physicsOf = (businesses: readonly Business[]): object => ({
  physics: businesses.flatMap(({ world: { rules }, numbers, wabaId }) =>
    rules === null ? [] : [{ ...rules, waba_id: wabaId, senders: numbers, marketing: [TEMPLATE] }],
  ),
})
