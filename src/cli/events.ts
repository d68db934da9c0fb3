// events: endpoints that are told what happens, and telling them again.
import { z } from 'zod'
import { createSeal, secretKeysOf } from '../accounts/seal.ts'
import { addEndpoint, alterEndpoint, countReplayed, replayEvents, testEndpoint } from '../events/commands/endpoints.ts'
import { newEndpointFields } from '../events/endpoint.ts'
import { EVENT_TYPES } from '../events/event-schema.ts'
import { listAttempts } from '../events/store/attempts.ts'
import { rotateSecret } from '../events/store/endpoint-secrets.ts'
import {
  type Endpoint,
  endpointDocument,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
} from '../events/store/endpoints.ts'
import { Refusal } from '../messages/accept/refusal.ts'
import { faultsOf } from '../messages/fault.ts'
import { redisNowMs } from '../redis/clock.ts'
import { existingAccount } from './accounts.ts'
import { CliFailure } from './failure.ts'
import { clockTime, table } from './table.ts'
import { accountId, instant, oneOf, parser, senderNames, someOf } from './values.ts'
import { type Answer, type CommandContext, type Noun, verb } from './verb.ts'

const ACTIONS = ['list', 'create', 'show', 'enable', 'disable', 'rotate-secret', 'test', 'attempts', 'remove'] as const
const ATTEMPTS_SHOWN = 50

const batchSize = parser('a number of events from 1 to 100', (text) =>
  /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 100 ? Number(text) : undefined,
)

const endpointValues = z.strictObject({
  action: oneOf(ACTIONS),
  id: z.string().optional(),
  account: accountId,
  url: z.string().optional(),
  types: someOf(EVENT_TYPES).optional(),
  senders: senderNames.optional(),
  batch: batchSize.optional(),
  includeContent: z.boolean().optional(),
})
type EndpointValues = z.infer<typeof endpointValues>

export const events: Noun = {
  name: 'events',
  summary: 'endpoints that are told what happens',
  verbs: [
    verb({
      usage: 'endpoints <action> [id]',
      act: 'endpoint.change',
      summary: `${ACTIONS.join(', ')}; the secret of a new endpoint is shown only once`,
      example: 'create --account 1 --url https://shop.example/hooks/laneway --batch 100',
      options: {
        '!--account <id>': 'account whose endpoints they are',
        '--url <url>': 'address that is told, of a new one',
        '--types <list>': `what a new one is told, separated by commas, of ${EVENT_TYPES.join(', ')}`,
        '--senders <list>': 'numbers, names or ids of senders, separated by commas; all without',
        '--batch <events>': 'a new one gets so many events at once, at most 100',
        '--include-content': 'a new one gets numbers and texts',
      },
      values: endpointValues,
      run: (values, context) => (values.action === 'list' ? list(values, context) : act(values, context)),
    }),
    verb({
      usage: 'replay <id>',
      act: 'endpoint.replay',
      summary: 'tell an endpoint again about the events of a time span',
      example: 'ep_5f0c2a7d9b1e4f6a8c --account 1 --since 2026-03-01T00:00:00Z --dry-run',
      options: {
        '!--account <id>': 'account of the endpoint',
        '!--since <time>': 'what happened at or after this time',
        '--until <time>': 'and at or before this time; now without',
        '--types <list>': 'types separated by commas; those of the endpoint without',
        '--failed-only': 'only what it has not taken',
        '--dry-run': 'only count',
      },
      values: z.strictObject({
        id: z.string(),
        account: accountId,
        since: instant,
        until: instant.optional(),
        types: someOf(EVENT_TYPES).optional(),
        failedOnly: z.boolean().default(false),
        dryRun: z.boolean().default(false),
      }),
      async run({ id, account, since, until, types, failedOnly, dryRun }, { redis }) {
        const endpoint = await existing(redis, account, id)
        const nowMs = await redisNowMs(redis)
        const order = { sinceMs: since, untilMs: Math.min(until ?? nowMs, nowMs), types, failedOnly }
        if (dryRun) {
          const counted = await countReplayed(redis, endpoint, order)
          return { json: counted, text: `${counted.matched}${counted.complete ? '' : ' or more'} events.` }
        }
        const replay = await replayEvents(redis, endpoint, order)
        const acted = { account, target: id, detail: replay }
        return { json: { replay_id: replay }, text: `${replay} is queued; a worker does it.`, acted }
      },
    }),
  ],
}

async function existing(redis: CommandContext['redis'], account: number, id: string | undefined): Promise<Endpoint> {
  await existingAccount(redis, account)
  if (id === undefined) throw new CliFailure('Give the id of an endpoint, see `events endpoints list`.', 2)
  const endpoint = await findEndpoint(redis, account, id)
  if (endpoint === undefined) throw new CliFailure(`Account ${account} has no endpoint ${id}.`)
  return endpoint
}

async function list({ account }: EndpointValues, { redis }: CommandContext): Promise<Answer> {
  await existingAccount(redis, account)
  const found = (await listEndpoints(redis, account)).map(endpointDocument)
  const rows = found.map((each) => [
    each.id,
    each.url,
    each.enabled ? (each.failing_since ? 'failing' : 'enabled') : `disabled: ${each.disabled_for}`,
    each.last_success_at ?? '',
  ])
  return { json: found, text: table(['ID', 'URL', 'STATE', 'LAST SUCCESS'], rows) }
}

async function act(values: EndpointValues, { redis, config }: CommandContext): Promise<Answer> {
  const { action, account, id } = values
  const seal = createSeal(secretKeysOf(config))
  const commands = { redis, seal, allowPrivate: config.events.allowPrivate }
  if (action === 'create') return create(values, commands)
  const endpoint = await existing(redis, account, id)
  const acted = { account, target: endpoint.id, detail: action }
  switch (action) {
    case 'enable':
    case 'disable': {
      const changed = await alterEndpoint(commands, endpoint, { enabled: action === 'enable' })
      return { json: endpointDocument(changed), text: `${endpoint.id} is ${action}d.`, acted }
    }
    case 'rotate-secret': {
      const secret = await rotateSecret(redis, endpoint, { seal, nowMs: await redisNowMs(redis) })
      return {
        json: { secret },
        text: `${secret}\n\nKeep it now: it is not shown again. The old one signs on for a day.`,
        acted,
      }
    }
    case 'test': {
      const delivery = await testEndpoint(redis, endpoint)
      return { json: { delivery }, text: `${delivery} is queued; \`events endpoints attempts\` shows the answer.` }
    }
    case 'remove':
      await removeEndpoint(redis, endpoint)
      return { json: { removed: endpoint.id }, text: `${endpoint.id} is removed.`, acted }
    case 'attempts': {
      const page = { limit: ATTEMPTS_SHOWN, cursor: undefined, nowMs: Date.now() }
      const attempts = (await listAttempts(redis, account, endpoint.id, page))?.attempts ?? []
      const rows = attempts.map((each) => [
        clockTime(Date.parse(each.at)),
        String(each.status ?? each.problem ?? ''),
        String(each.events),
        each.delivery,
        each.answer.slice(0, 60),
      ])
      return { json: attempts, text: table(['AT', 'STATUS', 'EVENTS', 'DELIVERY', 'ANSWER'], rows) }
    }
    default: {
      const shown = endpointDocument(endpoint)
      const lines = Object.entries(shown).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      return { json: shown, text: lines.join('\n') }
    }
  }
}

async function create(values: EndpointValues, commands: Parameters<typeof addEndpoint>[0]): Promise<Answer> {
  const { account, url = '', types, senders, batch, includeContent } = values
  await existingAccount(commands.redis, account)
  const given = {
    url,
    types,
    senders,
    include_content: includeContent,
    batch: batch === undefined ? undefined : { max_events: batch },
  }
  const fields = newEndpointFields.safeParse(given)
  if (!fields.success) {
    const faults = faultsOf(fields.error, given)
    throw new CliFailure(faults.map(({ path, message }) => `--${path}: ${message}.`).join(' '), 2)
  }
  const { endpoint, secret } = await addEndpoint(commands, account, fields.data).catch((error: unknown) => {
    throw error instanceof Refusal ? new CliFailure(error.message) : error
  })
  return {
    json: { ...endpointDocument(endpoint), secret },
    text: `${secret}\n\nThis is the secret of ${endpoint.id}.\nKeep it now: it is not shown again.`,
    acted: { account, target: endpoint.id, detail: 'create' },
  }
}
