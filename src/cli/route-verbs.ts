// The verbs that are routes and nothing more, by their noun. Each loads the schemas of its family alone.
import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { counted } from '../kernel/fault.ts'
import { OPERATOR } from '../model/accounts/permissions.ts'
import { WEBHOOK_SECRETS } from '../model/accounts/secrets.ts'
import { accountSettings } from '../model/accounts/settings.ts'
import { EVENT_TYPES } from '../model/events/event-schema.ts'
import { ALIVE_FOR_MS } from '../redis/heartbeats.ts'
import { CliFailure } from './failure.ts'
import { clockTime, table } from './print.ts'
import { resourceVerbs } from './resource-verbs.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'
import type { Address } from './typed-request.ts'

type Verbs = () => Promise<readonly RouteVerb[]>

const PERSON = '+447700900123'

export const accountVerbs: Verbs = async () => {
  const [{ accounts }, { webhookSecrets }] = await Promise.all([
    import('../producer/api/accounts/routes.ts'),
    import('../producer/api/webhooks/routes.ts'),
  ])
  const installation = { account: 'none', nullWord: OF_INSTALLATION, asTyped: true } as const
  /** A secret of the webhooks of the account, which is typed like a setting. */
  const secret =
    (name: string) =>
    (value: string, { id }: Readonly<Record<string, string>>) => {
      if (value !== '-') throw new CliFailure('<value>: expected - and the secret on standard input.', 2)
      return {
        to: { family: 'webhookSecrets', spec: webhookSecrets.add } satisfies Address,
        ...{ account: id, params: { name }, fromStdin: 'secret', spelled: { secret: name, account: '<id>' } },
        after: (counts: Readonly<Record<string, unknown>>) =>
          [
            `Its webhooks go to /webhooks/cloud-api/${id}.`,
            Number(counts[name]) > 1 && `The one before is good beside it until \`accounts unset ${id} ${name}\`.`,
          ]
            .filter(Boolean)
            .join(' '),
      }
    }
  return [
    routeVerb('accounts', 'create', accounts.create, {
      ...installation,
      arguments: ['name'],
      example: '"Corner shop"',
      after: ({ id }) => `Next: \`keys create --account ${id}\`, \`senders add --account ${id}\`.`,
    }),
    routeVerb('accounts', 'list', accounts.list, {
      ...installation,
      columns: ['id', 'name', ...Object.keys(accountSettings)],
      example: '--json',
      none: 'There is no account yet.',
      pages: 'all',
    }),
    routeVerb('accounts', 'show', accounts.show, { ...installation, example: '1' }),
    routeVerb('accounts', 'change', accounts.change, {
      ...installation,
      verb: 'set',
      summary: 'change a setting of an account; a secret of its webhooks is added from standard input',
      example: '1 policy.campaign at_least_once',
      setting: {
        forNull: OF_INSTALLATION,
        others: Object.fromEntries(WEBHOOK_SECRETS.map((name) => [name, secret(name)])),
      },
    }),
    routeVerb('webhookSecrets', 'remove', webhookSecrets.remove, {
      verb: 'unset',
      account: 'first',
      asks: false,
      asTyped: true,
      words: { name: 'secret' },
      example: '1 webhook.app_secret',
    }),
    routeVerb('accounts', 'remove', accounts.remove, {
      ...installation,
      about: accounts.show,
      asks: {
        sentence: ({ params: { id } }, { name }) =>
          `This removes account ${id}${typeof name === 'string' ? ` (${name})` : ''} for good, with its keys, senders, contacts, gallery and templates`,
        declined: 'Nothing was removed.',
        spared: 'first',
      },
      example: '9',
    }),
  ]
}

/** What is typed and shown for a limit that the account has not of its own. */
const OF_INSTALLATION = 'default'

export const keyVerbs: Verbs = async () => {
  const { keys } = await import('../producer/api/keys/routes.ts')
  // The days on which it was used have a verb of their own.
  const nullWord = { expires_at: 'never', last_used_at: 'never', senders: 'all', addresses: 'all' }
  const shown = { nullWord, hides: ['uses'] } as const
  return [
    routeVerb('keys', 'create', keys.create, {
      ...shown,
      summary: 'create a key; it is shown only once, because only its hash is stored',
      example: '--account 1 --permissions messages:send,messages:read --name "order service" --expires-in 90d',
      words: { expires_at: 'expires-in' },
      ahead: ['expires_at'],
      shownOnce: 'key',
      flags: {
        operator: {
          meaning: 'a key of no account that may do everything, instead of an account and permissions',
          body: { permissions: [OPERATOR] },
          without: ['account', 'permissions'],
        },
      },
    }),
    routeVerb('keys', 'list', keys.list, {
      example: '--account 1',
      columns: [
        ...['id', 'name', 'state', 'expires', 'created_at', 'last_used', 'permissions', 'last_used_from'],
        ...['uses_(30_d)', 'only_for'],
      ],
      cells: {
        expires: (row) => timeOr(row.expires_at, 'never'),
        last_used: (row) => timeOr(row.last_used_at, 'never'),
        'uses_(30_d)': (row) => String(usesIn.parse(row).uses.reduce((sum, { count }) => sum + count, 0)),
        only_for(row) {
          const { senders, addresses } = usesIn.parse(row)
          return [...(senders ?? []).map((id) => `sender ${id}`), ...(addresses ?? [])].join(', ')
        },
      },
      none: 'There is no key yet.',
      pages: 'all',
    }),
    routeVerb('keys', 'show', keys.show, {
      ...shown,
      example: 'key_0f1e2d3c4b5a',
      words: { key: 'id' },
    }),
    routeVerb('keys', 'show', keys.show, {
      verb: 'uses',
      summary: 'list on which of the last 30 days a key was used, how often, and from which address last',
      example: 'key_0f1e2d3c4b5a',
      words: { key: 'id' },
      text(data) {
        const { id, uses } = usedKey.parse(data)
        const rows = uses.map(({ day, count, from }) => [day, String(count), from])
        return rows.length === 0 ? `${id} was not used within 30 days.` : table(['DAY', 'COUNT', 'LAST FROM'], rows)
      },
    }),
    routeVerb('keys', 'revoke', keys.revoke, {
      ...shown,
      example: 'key_0f1e2d3c4b5a',
      asks: false,
      words: { key: 'id' },
    }),
    routeVerb('keys', 'rotate', keys.rotate, {
      ...shown,
      example: 'key_0f1e2d3c4b5a --overlap 24h',
      words: { key: 'id', overlap_seconds: 'overlap' },
      shownOnce: 'key',
    }),
  ]
}

const usedKey = z.looseObject({
  id: z.string(),
  uses: z.array(z.looseObject({ day: z.string(), count: z.number(), from: z.string() })),
})

/** What lists say of the use of a key. */
const usesIn = z.looseObject({
  uses: z.array(z.looseObject({ count: z.number() })),
  senders: z.array(z.number()).nullish(),
  addresses: z.array(z.string()).nullish(),
})

const timeOr = (value: unknown, none: string): string => (typeof value === 'string' ? clockTime(value) : none)

export const conversationVerbs: Verbs = async () => {
  const { conversations } = await import('../producer/api/conversations/routes.ts')
  return [
    routeVerb('conversations', 'show', conversations.show, { example: `${PERSON} --account 1` }),
    routeVerb('conversations', 'messages', conversations.messages, {
      example: `${PERSON} --account 1 --limit 20`,
      columns: ['accepted_at', 'direction', 'state', 'kind', 'text', 'id'],
      none: 'No messages.',
    }),
  ]
}

export const tagVerbs: Verbs = async () => {
  const { contacts, tags } = await import('../producer/api/contacts/routes.ts')
  return [
    routeVerb('contactBook', 'tags', contacts.tags, { verb: 'list', example: '--account 1', none: 'No lists yet.' }),
    routeVerb('contacts', 'createList', tags.createList, { verb: 'create', example: '--account 1 --name Spring' }),
    routeVerb('contacts', 'fetch', tags.fetch, { verb: 'contacts', example: '--account 1 --tags 1,3' }),
  ]
}

export const flowVerbs: Verbs = async () => {
  const { flowSettings } = await import('../producer/api/flows/routes.ts')
  const first = { account: 'first', example: '1' } as const
  const settings = { ...first, nullWord: 'none: flows are answered with an error', hides: ['keys'], after: keysOf }
  return [
    routeVerb('flowSettings', 'show', flowSettings.show, settings),
    routeVerb('flowSettings', 'change', flowSettings.change, {
      ...first,
      verb: 'address',
      arguments: ['address'],
      shownOnce: 'secret',
      example: '1 https://shop.example/flows',
    }),
    routeVerb('flowSettings', 'addKey', flowSettings.addKey, {
      ...first,
      summary: 'make a key, and show its public half, to be uploaded to WhatsApp',
      only: 'public_key',
    }),
    routeVerb('flowSettings', 'removeKeys', flowSettings.removeKeys, { ...settings, verb: 'remove-key', asks: false }),
    routeVerb('flowSettings', 'rotateSecret', flowSettings.rotateSecret, {
      ...first,
      summary: 'make a new secret, and show it, for the only time',
      shownOnce: 'secret',
      after: () => 'The one before signs as well, until the next is made.',
    }),
  ]
}

const withKeys = z.object({
  keys: z.array(z.looseObject({ public_key: z.string() })),
})

/** A line for each key, and the newest as it is, to be copied. */
function keysOf(data: unknown): string {
  const { data: found } = withKeys.safeParse(data)
  const lines = (found?.keys ?? []).map(({ public_key: _key, ...key }) =>
    Object.entries(key)
      .map(([name, value]) => `${name.replaceAll('_', ' ')} ${String(value)}`)
      .join(', '),
  )
  return [...lines, found?.keys[0]?.public_key.trimEnd() ?? ''].join('\n')
}

export const portfolioVerbs: Verbs = async () => {
  const { portfolios } = await import('../producer/api/portfolios/routes.ts')
  const nullWord = 'none'
  return resourceVerbs('portfolios', portfolios, {
    list: { nullWord, cells: { reserve_percent: ({ reserve_percent: share }) => `${String(share)} %` } },
    create: {
      nullWord,
      after: ({ id }) => `Next: put a sender into it, \`senders set <sender> portfolio ${id}\`.`,
    },
    show: { nullWord },
    change: { verb: 'set', nullWord },
    remove: { asks: false },
  })
}

export const limitVerbs: Verbs = async () => {
  const { limits } = await import('../producer/api/accounts/routes.ts')
  return [routeVerb('limits', 'list', limits.list, { example: '--account 1' })]
}

export const webhookSecretVerbs: Verbs = async () => {
  const { webhookSecrets } = await import('../producer/api/webhooks/routes.ts')
  return [routeVerb('webhookSecrets', 'list', webhookSecrets.list, { example: '--account 1' })]
}

export const messageVerbs: Verbs = async () => {
  const [{ sending }, { lookups, messages }] = await Promise.all([
    import('../producer/api/sending/routes.ts'),
    import('../producer/api/messages/routes.ts'),
  ])
  return [
    routeVerb('sending', 'batch', sending.batch, {
      verb: 'send-many',
      summary: 'send up to 1000 messages, and show the result of each',
      example: '--account 1 --body messages.json',
    }),
    routeVerb('sending', 'service', sending.service, {
      verb: 'send-service',
      example: '--account 1 --body message.json',
    }),
    routeVerb('sending', 'template', sending.template, {
      verb: 'send-template',
      example: '--account 1 --body message.json',
    }),
    routeVerb('lookups', 'info', lookups.info, {
      example: '--account 1 --message-id msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
    }),
    routeVerb('lookups', 'delivery', lookups.delivery, {
      example: '--account 1 --message-id msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
    }),
    routeVerb('messages', 'media', messages.media, {
      example: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5 --account 1 --output bill.pdf',
    }),
    routeVerb('messages', 'job', messages.job, { example: 'rq_01M7WMMBQHKTZHMT677YAAW3FV --account 1' }),
  ]
}

const ENDPOINTS = 'endpoints'
const ENDPOINT = 'ep_5f0c2a7d9b1e4f6a8c'

export const eventVerbs: Verbs = async () => {
  const { events } = await import('../producer/api/events/routes.ts')
  /** Of an endpoint. */
  const one = (name: keyof typeof events, said: Partial<Parameters<typeof routeVerb>[3]>) =>
    routeVerb('events', name, events[name], { example: `${ENDPOINT} --account 1`, ...said })
  return [
    routeVerb('events', 'pull', events.pull, {
      example: '--account 1 --limit 100',
      columns: ['timestamp', 'type', 'data'],
      none: 'Nothing has happened since.',
    }),
    routeVerb('events', 'list', events.list, {
      verb: `${ENDPOINTS} list`,
      example: '--account 1',
      columns: ['id', 'account', 'url', 'enabled', 'disabled_for', 'failing_since', 'last_success_at'],
      none: 'There is no endpoint yet.',
      pages: 'all',
    }),
    routeVerb('events', 'create', events.create, {
      verb: `${ENDPOINTS} create`,
      example: '--account 1 --url https://shop.example/hooks/laneway --batch 100',
      // Its --url is that of the endpoint: the service is named by LANEWAY_URL.
      shownOnce: 'secret',
      read: { batch: { placeholder: 'events', value: (text) => ({ max_events: Number(text) }) } },
      after: typesLeftOut,
    }),
    one('show', { verb: `${ENDPOINTS} show` }),
    one('change', { verb: `${ENDPOINTS} change`, words: { url: 'endpoint-url' } }),
    one('change', { verb: `${ENDPOINTS} enable`, body: { enabled: true } }),
    one('change', { verb: `${ENDPOINTS} disable`, body: { enabled: false } }),
    one('rotate', { verb: `${ENDPOINTS} rotate-secret`, shownOnce: 'secret', after: () => SIGNS_ON }),
    one('test', { verb: `${ENDPOINTS} test`, after: () => `\`events ${ENDPOINTS} attempts\` shows what it answers.` }),
    one('attempts', {
      verb: `${ENDPOINTS} attempts`,
      columns: ['at', 'status', 'problem', 'events', 'delivery', 'answer'],
      cells: { answer: ({ answer }) => cutText(String(answer ?? ''), ANSWER_SHOWN) },
      none: 'Nothing was delivered within a week.',
    }),
    one('remove', { verb: `${ENDPOINTS} remove`, asks: false }),
    one('replay', { example: `${ENDPOINT} --account 1 --since 2026-03-01T00:00:00Z --dry-run` }),
    one('replayed', {
      verb: `${ENDPOINTS} replayed`,
      example: `${ENDPOINT} rp_01M7WMMBQHKTZHMT677YAAW3FV --account 1`,
    }),
  ]
}

/** Characters of what an endpoint answered. */
const ANSWER_SHOWN = 60

const SIGNS_ON = 'The one before signs as well for a day.'

const withTypes = z.object({ types: z.array(z.string()) })

/** Most of all events are of types that a new endpoint does not get unless they are named. */
function typesLeftOut(data: unknown): string {
  const types = new Set(withTypes.safeParse(data).data?.types)
  const others = EVENT_TYPES.filter((type) => !types.has(type))
  return others.length === 0 ? '' : `It does not get ${others.join(', ')}; name types with --types.`
}

const FOLDERS = 'folders'
const FILES = 'files'

export const galleryVerbs: Verbs = async () => {
  const { galleryFolders, galleryFiles } = await import('../producer/api/gallery/routes.ts')
  return [
    routeVerb('galleryFolders', 'list', galleryFolders.list, {
      verb: `${FOLDERS} list`,
      example: '--account 1',
      none: 'No folders yet.',
    }),
    routeVerb('galleryFolders', 'create', galleryFolders.create, {
      verb: `${FOLDERS} create`,
      example: '--account 1 --name Spring',
    }),
    routeVerb('galleryFolders', 'rename', galleryFolders.rename, {
      verb: `${FOLDERS} rename`,
      example: '1 --account 1 --name Summer',
    }),
    routeVerb('galleryFiles', 'list', galleryFiles.list, {
      verb: `${FILES} list`,
      example: '--account 1',
      none: 'No files.',
    }),
    routeVerb('galleryFiles', 'upload', galleryFiles.upload, {
      verb: `${FILES} upload`,
      example: 'spring.png --account 1 --folder-id 1',
    }),
    routeVerb('galleryFiles', 'trash', galleryFiles.trash, { verb: `${FILES} trash`, example: '5 --account 1' }),
    routeVerb('galleryFiles', 'restore', galleryFiles.restore, { verb: `${FILES} restore`, example: '5 --account 1' }),
    routeVerb('galleryFiles', 'move', galleryFiles.move, {
      verb: `${FILES} move`,
      example: '--account 1 --file-ids 5,6 --folder-id 2',
    }),
    routeVerb('galleryFiles', 'showMove', galleryFiles.showMove, {
      verb: `${FILES} show-move`,
      example: 'mv_01M7WMMBQHKTZHMT677YAAW3FV --account 1',
    }),
  ]
}

export const consoleVerbs: Verbs = async () => {
  const { consoleLive } = await import('../producer/api/console/routes.ts')
  return [
    routeVerb('consoleLive', 'snapshot', consoleLive.snapshot, { example: '--account 1' }),
    routeVerb('consoleLive', 'history', consoleLive.history, { example: '--account 1 --span hour' }),
  ]
}

/** What counts as alive: a worker that was killed still does for a moment. */
const LATELY = `within the last ${ALIVE_FOR_MS / 1_000} s`

export const healthVerbs: Verbs = async () => {
  const { health } = await import('../producer/api/health/routes.ts')
  return [
    routeVerb('health', 'ready', health.ready, {
      verb: 'show',
      isDefault: true,
      summary: `show whether Redis answers and how many workers have reported ${LATELY}; exits with 1 when none has`,
      text(data) {
        const { workers } = z.looseObject({ workers: z.number() }).parse(data)
        return `Redis answers, and ${counted(workers, 'worker')} ${workers === 1 ? 'has' : 'have'} reported ${LATELY}.`
      },
      example: '--json',
    }),
    routeVerb('health', 'alive', health.alive, { example: '--url https://laneway.example' }),
  ]
}

export const metricVerbs: Verbs = async () => {
  const { metrics } = await import('../producer/api/health/routes.ts')
  return [routeVerb('metrics', 'metrics', metrics.metrics, { verb: 'show', example: '--account 1' })]
}

export const descriptionVerbs: Verbs = async () => {
  const { reference } = await import('../producer/api/reference/routes.ts')
  return [routeVerb('description', 'openapi', reference.openapi, { verb: 'show', example: '--output openapi.json' })]
}
