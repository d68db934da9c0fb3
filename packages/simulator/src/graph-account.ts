// The data of the Graph API besides messages: the templates of a WhatsApp Business Account, its numbers, its apps, and the token.
// Any id is an account, and any other id a number of it; `account` of `POST /_control` sets the values of all of them.

import { z } from 'zod'
import { BoundedMap } from './bounded-map.ts'
import type { DisplayNumberOf } from './webhook-body.ts'

const fields = z.record(z.string(), z.unknown())

/**
 * `account` of `POST /_control`: given values apply from now on, those of `number`, `business` and `token` field by field;
 * `reset` first restores the initial values.
 */
export const accountControlSchema = z.strictObject({
  reset: z.literal(true).optional(),
  /** The one account that there is; others do not exist for the token. Null: any. */
  waba_id: z.string().regex(/^\d+$/).nullable().optional(),
  /** Definitions as WhatsApp lists them, or how many are made up. */
  templates: z.union([z.array(fields).max(20_000), z.int().min(0).max(20_000)]).optional(),
  /** Templates of one page at most. */
  page: z.int().min(1).max(1_000).optional(),
  /** The next so many requests are answered with this code. */
  refuse: z
    .strictObject({
      code: z.int(),
      http: z.int().min(400).max(599),
      count: z.int().min(1),
      retry_after_s: z.int().optional(),
      regain_access_min: z.int().optional(),
    })
    .nullable()
    .optional(),
  /** What is wrong with pages of the list: each leads to the first, or to another server. */
  paging: z.enum(['good', 'loop', 'foreign']).optional(),
  /** Fields of every number, of the account and of the token, in place of the usual ones; null takes one away. */
  number: fields.optional(),
  business: fields.optional(),
  token: fields.optional(),
  /** Ids of the numbers of the account; null: of all that were requested. */
  numbers: z.array(z.string()).nullable().optional(),
  /** Ids of the apps that get webhooks; null: of the token's own. */
  subscribed_apps: z.array(z.string()).nullable().optional(),
})

type AccountControl = z.infer<typeof accountControlSchema>
type Refusing = NonNullable<AccountControl['refuse']>

/** The app that tokens belong to. */
const APP_ID = '634974688087057'

const usual = () => ({
  wabaId: null as string | null,
  templates: [HELLO] as Record<string, unknown>[],
  page: 1_000,
  refuse: null as Refusing | null,
  paging: 'good' as NonNullable<AccountControl['paging']>,
  number: {} as Record<string, unknown>,
  business: {} as Record<string, unknown>,
  token: {} as Record<string, unknown>,
  numbers: null as readonly string[] | null,
  subscribedApps: null as readonly string[] | null,
})

/** The template that every new account has. */
const HELLO = {
  id: '1000000000000',
  name: 'hello_world',
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components: [
    { type: 'HEADER', format: 'TEXT', text: 'Hello World' },
    { type: 'BODY', text: 'Welcome and congratulations!! This message demonstrates your ability to send a message.' },
    { type: 'FOOTER', text: 'WhatsApp Business Platform sample message' },
  ],
  quality_score: { score: 'UNKNOWN', date: 1_700_000_000 },
}

const madeUp = (i: number): Record<string, unknown> => ({
  ...HELLO,
  id: String(2_000_000_000_000 + i),
  name: `template_${i}`,
  category: i % 3 === 0 ? 'UTILITY' : 'MARKETING',
  components: [
    { type: 'HEADER', format: 'IMAGE', example: { header_handle: [`https://cdn.example/${'x'.repeat(200)}/${i}`] } },
    { type: 'BODY', text: `Hello {{1}}, number ${i} for you.`, example: { body_text: [['Ada']] } },
    { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'Stop' }] },
  ],
})

/** The accounts, numbers and tokens of the Graph API. */
export class GraphAccount {
  #state = usual()
  /** Requests so far. */
  asked = 0
  /** Numbers that were requested; the latest are enough. */
  readonly #known = new BoundedMap<true>(1_000)

  /** User ids that were deleted from the contact book; every other one is in it. */
  readonly #forgotten = new BoundedMap<true>(10_000)

  readonly #displayNumberOf: DisplayNumberOf

  constructor(displayNumberOf: DisplayNumberOf) {
    this.#displayNumberOf = displayNumberOf
  }

  /** Deletes a person from the contact book; whether they were in it. */
  forget(userId: string): boolean {
    if (this.#forgotten.get(userId)) return false
    this.#forgotten.set(userId, true)
    return true
  }

  /** Changes the values; returns what `POST /_control` then shows. */
  set(change: AccountControl): void {
    if (change.reset) this.#state = usual()
    const state = this.#state
    const { templates } = change
    if (change.waba_id !== undefined) state.wabaId = change.waba_id
    if (templates !== undefined) {
      state.templates =
        typeof templates === 'number' ? Array.from({ length: templates }, (_, i) => madeUp(i)) : templates
    }
    if (change.page !== undefined) state.page = change.page
    if (change.refuse !== undefined) state.refuse = change.refuse && { ...change.refuse }
    if (change.paging !== undefined) state.paging = change.paging
    state.number = { ...state.number, ...change.number }
    state.business = { ...state.business, ...change.business }
    state.token = { ...state.token, ...change.token }
    if (change.numbers !== undefined) state.numbers = change.numbers
    if (change.subscribed_apps !== undefined) state.subscribedApps = change.subscribed_apps
  }

  shown(): Record<string, unknown> {
    const { wabaId, templates, page, refuse, paging } = this.#state
    return { waba_id: wabaId, templates: templates.length, page, refuse, paging, asked: this.asked }
  }

  /** The refusal of the next request, if there is one. */
  refusal(): Refusing | null {
    const { refuse } = this.#state
    if (refuse === null) return null
    refuse.count -= 1
    if (refuse.count <= 0) this.#state.refuse = null
    return refuse
  }

  /** Whether the token may see an account of this id. */
  isAccount = (id: string): boolean => this.#state.wabaId === null || this.#state.wabaId === id

  /** A page of the list; `base` is the address of the list, with the token in its query, as WhatsApp writes it. */
  templates(after: string | null, limit: number, base: string): Record<string, unknown> {
    const { templates, page, paging } = this.#state
    const from = after === null ? 0 : Number(Buffer.from(after, 'base64url').toString())
    const size = Math.min(limit, page)
    const data = templates.slice(from, from + size)
    const to = from + data.length
    const isLast = to >= templates.length
    if (isLast && paging === 'good') return { data, paging: { cursors: cursors(from, to) } }
    const at = paging === 'loop' ? { before: cursor(0), after: cursor(0) } : cursors(from, to)
    const next = new URL(paging === 'foreign' ? 'https://elsewhere.example/list' : base)
    next.searchParams.set('after', at.after)
    return { data, paging: { ...(paging !== 'foreign' && { cursors: at }), next: next.href } }
  }

  /** The category of a template that the account has; undefined for any other. */
  categoryOf(name: string, language: string): unknown {
    return this.#state.templates.find((each) => each.name === name && each.language === language)?.category
  }

  /** Whether the account may use the address for marketing. */
  takesMarketing = (): boolean =>
    (this.#state.business.marketing_messages_onboarding_status ?? 'ONBOARDED') === 'ONBOARDED'

  numbers(): Record<string, unknown> {
    const ids = this.#state.numbers ?? this.#known.keys()
    return { data: ids.map((id) => ({ id, display_phone_number: `+${this.#displayNumberOf(id)}` })) }
  }

  number(id: string): Record<string, unknown> {
    this.#known.set(id, true)
    const known = {
      ...{
        id,
        display_phone_number: `+${this.#displayNumberOf(id)}`,
        verified_name: 'The shop',
        name_status: 'APPROVED',
      },
      ...{
        status: 'CONNECTED',
        platform_type: 'CLOUD_API',
        code_verification_status: 'VERIFIED',
        account_mode: 'LIVE',
      },
      ...{ quality_rating: 'GREEN', throughput: { level: 'STANDARD' } },
      ...{ whatsapp_business_manager_messaging_limit: 'TIER_2K', health_status: { can_send_message: 'AVAILABLE' } },
    }
    return given({ ...known, ...this.#state.number })
  }

  account(id: string): Record<string, unknown> {
    const known = {
      id,
      name: 'The shop',
      account_review_status: 'APPROVED',
      business_verification_status: 'verified',
      marketing_messages_onboarding_status: 'ONBOARDED',
    }
    return given({ ...known, ...this.#state.business })
  }

  /** The answer of `debug_token`. */
  token(): Record<string, unknown> {
    const scopes = ['whatsapp_business_management', 'whatsapp_business_messaging']
    const known = {
      ...{ app_id: APP_ID, type: 'SYSTEM_USER', application: 'The shop', is_valid: true, expires_at: 0, scopes },
      ...{ granular_scopes: scopes.map((scope) => ({ scope })), user_id: '122100000000000000' },
    }
    return { data: given({ ...known, ...this.#state.token }) }
  }

  apps(): Record<string, unknown> {
    const ids = this.#state.subscribedApps ?? [APP_ID]
    const data = ids.map((id) => ({
      whatsapp_business_api_data: { id, name: 'The shop', link: 'https://shop.example' },
    }))
    return { data }
  }

  /** The token's app gets webhooks from now on. */
  subscribe(): void {
    this.#state.subscribedApps = [...new Set([...(this.#state.subscribedApps ?? []), APP_ID])]
  }

  /** The number is registered from now on. */
  register(): void {
    const { status: _status, platform_type: _type, ...rest } = this.#state.number
    this.#state.number = rest
  }
}

const cursor = (at: number): string => Buffer.from(String(at)).toString('base64url')
const cursors = (from: number, to: number) => ({ before: cursor(from), after: cursor(to) })

const given = (all: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
