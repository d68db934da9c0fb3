// Reads everything about a sender from WhatsApp: token, number, account, templates, apps that get webhooks. Side by side, each
// within its time; what comes is read as far as it can be, and nothing of it is a secret.
import { z } from 'zod'
import type { Asked, ProviderFacts } from '../model/accounts/sender-check.ts'
import type { GraphAccess, GraphApi, GraphEnd } from './graph-api.ts'
import { digitsOf, plainText, spare } from './webhook-fields.ts'

const LIMITS = { ms: 8_000, bytes: 512 * 1024 }

const word = spare(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/))
const id = z.union([z.string(), z.number().transform(String)]).pipe(z.string().regex(/^\d{1,40}$/))

const tokenSchema = z.object({
  data: z.object({
    app_id: spare(id),
    is_valid: z.boolean().catch(false),
    /** Seconds; 0: never. */
    expires_at: spare(z.number().int().nonnegative()),
    scopes: z.array(z.string()).catch([]),
    granular_scopes: z.array(z.object({ scope: z.string(), target_ids: spare(z.array(id).max(1_000)) })).catch([]),
  }),
})

const healthError = z.object({ error_description: spare(plainText), possible_solution: spare(plainText) })
const numberSchema = z.object({
  display_phone_number: spare(digitsOf),
  verified_name: spare(plainText),
  name_status: word,
  status: word,
  platform_type: word,
  code_verification_status: word,
  quality_rating: word,
  throughput: spare(z.object({ level: word })),
  whatsapp_business_manager_messaging_limit: word,
  messaging_limit_tier: word,
  health_status: spare(
    z.object({
      can_send_message: word,
      entities: spare(z.array(z.object({ errors: spare(z.array(healthError)) })).max(50)),
    }),
  ),
})
/** The fields of a number; an older version of the API refuses a request for an unknown one. */
const NUMBER_FIELDS = [
  'id,display_phone_number,verified_name,name_status,status,platform_type,code_verification_status,quality_rating,' +
    'throughput,whatsapp_business_manager_messaging_limit,health_status',
  'id,display_phone_number,verified_name,code_verification_status,quality_rating',
]

const accountSchema = z.object({ account_review_status: word, business_verification_status: word })
const listSchema = z.object({ data: z.array(z.unknown()).max(1_000) })
const numberEntry = z.object({ id })
const templateEntry = z.object({ status: z.string() })
const appEntry = z.object({ whatsapp_business_api_data: z.object({ id }) })

/** Asks; never rejects. `wabaId` is empty where the account is not known. */
export async function readSenderFacts(
  graph: Pick<GraphApi, 'ask'>,
  access: GraphAccess,
  { phoneNumberId, wabaId }: { phoneNumberId: string; wabaId: string },
): Promise<ProviderFacts> {
  const ask = (path: string, query: Record<string, string> = {}) => graph.ask(access, path, query, LIMITS)
  const ofAccount = <T>(work: () => Promise<T>): Promise<T | undefined> =>
    wabaId === '' ? Promise.resolve(undefined) : work()
  const [token, number, account, numbers, templates, apps] = await Promise.all([
    ask('debug_token', { input_token: access.token }).then((end) => read(end, tokenSchema, tokenFacts)),
    askForNumber(ask, phoneNumberId),
    ofAccount(async () => {
      const end = await ask(wabaId, { fields: 'id,name,account_review_status,business_verification_status' })
      return read(end, accountSchema, (found) => ({
        review: found.account_review_status,
        verification: found.business_verification_status,
      }))
    }),
    ofAccount(async () =>
      read(await ask(`${wabaId}/phone_numbers`, { fields: 'id', limit: '100' }), listSchema, idsOf),
    ),
    ofAccount(async () =>
      read(await ask(`${wabaId}/message_templates`, { fields: 'name,status', limit: '100' }), listSchema, templatesOf),
    ),
    ofAccount(async () => read(await ask(`${wabaId}/subscribed_apps`), listSchema, appsOf)),
  ])
  return { token, number, account, numbers, templates, apps }
}

async function askForNumber(
  ask: (path: string, query: Record<string, string>) => Promise<GraphEnd>,
  phoneNumberId: string,
): Promise<ProviderFacts['number']> {
  const [all = '', some = ''] = NUMBER_FIELDS
  const first = await ask(phoneNumberId, { fields: all })
  const isOlder = first.kind === 'refused' && first.code === 100 && first.subcode !== 33 && /field/i.test(first.says)
  const end = isOlder ? await ask(phoneNumberId, { fields: some }) : first
  return read(end, numberSchema, numberFacts)
}

/** The answer as it is understood. One that is not as described counts as none. */
function read<S extends z.ZodType, T>(end: GraphEnd, schema: S, facts: (found: z.output<S>) => T): Asked<T> {
  switch (end.kind) {
    case 'unavailable':
      return { kind: 'unanswered', cause: end.cause }
    case 'refused':
      return end.isThrottled
        ? { kind: 'unanswered', cause: 'throttled' }
        : { kind: 'refused', code: end.code, says: end.says }
    case 'answer': {
      const parsed = schema.safeParse(end.body)
      return parsed.success
        ? { kind: 'known', value: facts(parsed.data) }
        : { kind: 'unanswered', cause: 'unreadable_answer' }
    }
  }
}

function tokenFacts({ data }: z.output<typeof tokenSchema>) {
  const { app_id: appId, is_valid: isValid, expires_at: seconds, scopes, granular_scopes: granular } = data
  const only = granular.flatMap(({ scope, target_ids: ids }) => (ids ? [[scope, ids] as const] : []))
  return { appId, isValid, endsAtMs: seconds ? seconds * 1_000 : undefined, scopes, only: new Map(only) }
}

function numberFacts(found: z.output<typeof numberSchema>) {
  const errors = (found.health_status?.entities ?? []).flatMap((entity) => entity.errors ?? [])
  return {
    digits: found.display_phone_number,
    verifiedName: found.verified_name,
    nameStatus: found.name_status,
    status: found.status,
    platform: found.platform_type,
    codeVerification: found.code_verification_status,
    quality: found.quality_rating,
    throughput: found.throughput?.level,
    limit: found.whatsapp_business_manager_messaging_limit ?? found.messaging_limit_tier,
    canSend: found.health_status?.can_send_message,
    obstacles: errors.flatMap(({ error_description: text }) => (text ? [text] : [])).slice(0, 3),
  }
}

type List = z.output<typeof listSchema>
const idsOf = ({ data }: List): string[] => data.flatMap((each) => numberEntry.safeParse(each).data?.id ?? [])
const appsOf = ({ data }: List): string[] =>
  data.flatMap((each) => appEntry.safeParse(each).data?.whatsapp_business_api_data.id ?? [])
const templatesOf = ({ data }: List) => ({
  all: data.length,
  approved: data.filter((each) => templateEntry.safeParse(each).data?.status.toUpperCase() === 'APPROVED').length,
})
