// events: endpoints that are told what happens, and telling them again.
import { z } from 'zod'
import { NO_ACCOUNT } from '../accounts/permissions.ts'
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
  listAllEndpoints,
  listEndpoints,
  removeEndpoint,
} from '../events/store/endpoints.ts'
import { faultsOf } from '../messages/fault.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'
import { type Columns, clockTime, listed, tableOf } from './print.ts'
import { accountId, instant, numberUpTo, oneOf, senderNames, someOf } from './values.ts'
import { type Answer, type CommandContext, flag, option, type Verb, verb } from './verb.ts'

const ACTIONS = ['list', 'create', 'show', 'enable', 'disable', 'rotate-secret', 'test', 'attempts', 'remove'] as const
const ATTEMPTS_SHOWN = 50

const endpointValues = {
  action: oneOf(ACTIONS),
  id: z.string().optional(),
  account: option(accountId.optional(), 'id', 'account whose endpoints they are; `list` shows those of all without it'),
  url: option(z.string().optional(), 'url', 'address that is told, of a new one'),
  types: option(
    someOf(EVENT_TYPES).optional(),
    'list',
    `what a new one is told, separated by commas, of ${EVENT_TYPES.join(', ')}`,
  ),
  senders: option(senderNames.optional(), 'list', 'numbers, names or ids of senders, separated by commas; all without'),
  batch: option(
    numberUpTo(100, 'a number of events').optional(),
    'events',
    'a new one gets so many events at once, at most 100',
  ),
  includeContent: flag('a new one gets numbers and texts'),
}
type Typed = z.output<z.ZodObject<typeof endpointValues>>

const COLUMNS: Columns<ReturnType<typeof endpointDocument>> = {
  ID: ({ id }) => id,
  ACCOUNT: ({ account }) => account,
  URL: ({ url }) => url,
  STATE: (each) => (each.enabled ? (each.failing_since ? 'failing' : 'enabled') : `disabled: ${each.disabled_for}`),
  'LAST SUCCESS': ({ last_success_at }) => last_success_at,
}

type Attempt = NonNullable<Awaited<ReturnType<typeof listAttempts>>>['attempts'][number]
const ATTEMPT_COLUMNS: Columns<Attempt> = {
  AT: ({ at }) => clockTime(at),
  STATUS: ({ status, problem }) => status ?? problem,
  EVENTS: ({ events }) => events,
  DELIVERY: ({ delivery }) => delivery,
  ANSWER: ({ answer }) => answer.slice(0, 60),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'endpoints <action> [id]',
    act: 'endpoint.change',
    summary: `${ACTIONS.join(', ')}; the secret of a new endpoint is shown only once`,
    example: 'create --account 1 --url https://shop.example/hooks/laneway --batch 100',
    values: endpointValues,
    check({ action, account }, wrong) {
      if (action !== 'list' && account === undefined) wrong('account', 'required')
    },
    run: act,
  }),
  verb({
    usage: 'replay <id>',
    act: 'endpoint.replay',
    summary: 'tell an endpoint again about the events of a time span',
    example: 'ep_5f0c2a7d9b1e4f6a8c --account 1 --since 2026-03-01T00:00:00Z --dry-run',
    values: {
      id: z.string(),
      account: option(accountId, 'id', 'account of the endpoint'),
      since: option(instant, 'time', 'what happened at or after this time'),
      until: option(instant.optional(), 'time', 'and at or before this time; now without'),
      types: option(someOf(EVENT_TYPES).optional(), 'list', 'types separated by commas; those of the endpoint without'),
      failedOnly: flag('only what it has not taken'),
      dryRun: flag('only count'),
    },
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
]

async function existing(redis: Redis, account: number, id: string | undefined): Promise<Endpoint> {
  if (id === undefined) throw new CliFailure('Give the id of an endpoint, see `events endpoints list`.', 2)
  const endpoint = await findEndpoint(redis, account, id)
  if (endpoint === undefined) throw new CliFailure(`Account ${account} has no endpoint ${id}.`)
  return endpoint
}

async function act(values: Typed, { redis, config }: CommandContext): Promise<Answer> {
  const { action, account = NO_ACCOUNT, id } = values
  const seal = createSeal(secretKeysOf(config))
  const commands = { redis, seal, allowPrivate: config.events.allowPrivate }
  if (action === 'list') {
    const all = account === NO_ACCOUNT ? await listAllEndpoints(redis) : await listEndpoints(redis, account)
    return listed(all.map(endpointDocument), COLUMNS, 'There is no endpoint yet.')
  }
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
      return { json: attempts, text: tableOf(attempts, ATTEMPT_COLUMNS) }
    }
    default: {
      const shown = endpointDocument(endpoint)
      const lines = Object.entries(shown).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      return { json: shown, text: lines.join('\n') }
    }
  }
}

async function create(values: Typed, commands: Parameters<typeof addEndpoint>[0]): Promise<Answer> {
  const { account = NO_ACCOUNT, url = '', types, senders, batch, includeContent } = values
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
  const { endpoint, secret } = await addEndpoint(commands, account, fields.data)
  return {
    json: { ...endpointDocument(endpoint), secret },
    text: `${secret}\n\nThis is the secret of ${endpoint.id}.\nKeep it now: it is not shown again.`,
    acted: { account, target: endpoint.id, detail: 'create' },
  }
}
