// events: the endpoints of events, and replays.
import { z } from 'zod'
import { addEndpoint, alterEndpoint, countReplayed, replayEvents, testEndpoint } from '../events/commands/endpoints.ts'
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
import { cutText } from '../kernel/cut-text.ts'
import { ended } from '../kernel/refusal.ts'
import { createSeal } from '../kernel/seal.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { faultsOf } from '../kernel/zod-faults.ts'
import { newEndpointFields } from '../model/events/endpoint.ts'
import { DEFAULT_TYPES, EVENT_TYPES, type EventType } from '../model/events/event-schema.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'
import { type Columns, clockTime, listed, tableOf } from './print.ts'
import { accountId, instant, numberUpTo, senderNames, someOf } from './values.ts'
import { type Answer, type CommandContext, flag, option, type Verb, verb } from './verb.ts'

const ATTEMPTS_SHOWN = 50
/** The types that a new endpoint gets only when they are named. */
const UNASKED = EVENT_TYPES.filter((type) => !DEFAULT_TYPES.includes(type))

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
  ANSWER: ({ answer }) => cutText(answer, 60),
}

/** What the activity calls every change of an endpoint; its detail has which. */
const ENDPOINT_ACT = 'endpoint.change'

const createValues = {
  account: option(accountId, 'id', 'account whose events it gets'),
  url: option(z.string(), 'url', 'address that gets the events'),
  types: option(
    someOf(EVENT_TYPES).optional(),
    'list',
    `what it gets, separated by commas, of ${EVENT_TYPES.join(', ')}; without it, all but ${UNASKED.join(' and ')}`,
  ),
  senders: option(senderNames.optional(), 'list', 'numbers, names or ids of senders, separated by commas; all without'),
  batch: option(numberUpTo(100, 'a number of events').optional(), 'events', 'so many events at once, at most 100'),
  includeContent: flag('with numbers and texts'),
}
type NewEndpointTyped = z.output<z.ZodObject<typeof createValues>>

/** The verbs of verbs: `events endpoints list`. */
export const groups = { endpoints: 'addresses that events are sent to' }

export const verbs: readonly Verb[] = [
  verb({
    usage: 'endpoints list',
    summary: 'list endpoints and whether each fails',
    example: '--account 1',
    values: { account: option(accountId.optional(), 'id', 'only those of one account') },
    async run({ account }, { redis }) {
      const all = account === undefined ? await listAllEndpoints(redis) : await listEndpoints(redis, account)
      return listed(all.map(endpointDocument), COLUMNS, 'There is no endpoint yet.')
    },
  }),
  verb({
    usage: 'endpoints create',
    act: ENDPOINT_ACT,
    summary: 'add an endpoint that gets events from now on; its secret is shown only once',
    example: '--account 1 --url https://shop.example/hooks/laneway --batch 100',
    values: createValues,
    run: create,
  }),
  onEndpoint('show', 'show an endpoint and what it gets', async (endpoint) => {
    const shown = endpointDocument(endpoint)
    const lines = Object.entries(shown).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    return { json: shown, text: lines.join('\n') }
  }),
  onEndpoint('enable', 'deliver to an endpoint again', (endpoint, context) => setEnabled(endpoint, context, true)),
  onEndpoint('disable', 'deliver nothing to an endpoint until it is enabled', (endpoint, context) =>
    setEnabled(endpoint, context, false),
  ),
  onEndpoint('rotate-secret', 'make a new secret; the old one signs on for a day', async (endpoint, context) => {
    const { redis } = context
    const secret = await rotateSecret(redis, endpoint, { seal: sealOf(context), nowMs: await redisNowMs(redis) })
    return {
      json: { secret },
      text: `${secret}\n\nKeep it now: it is not shown again. The old one signs on for a day.`,
      acted: actedOn(endpoint, 'rotate-secret'),
    }
  }),
  onEndpoint('test', 'deliver a test event to an endpoint', async (endpoint, { redis }) => {
    const delivery = await testEndpoint(redis, endpoint)
    return { json: { delivery }, text: `${delivery} is queued; \`events endpoints attempts\` shows the answer.` }
  }),
  onEndpoint(
    'attempts',
    `list the latest ${ATTEMPTS_SHOWN} deliveries to an endpoint and its answers`,
    async (endpoint, { redis }) => {
      const page = { limit: ATTEMPTS_SHOWN, cursor: undefined, nowMs: Date.now() }
      const attempts = (await listAttempts(redis, endpoint.account, endpoint.id, page))?.attempts ?? []
      return { json: attempts, text: tableOf(attempts, ATTEMPT_COLUMNS) }
    },
  ),
  onEndpoint('remove', 'remove an endpoint', async (endpoint, { redis }) => {
    await removeEndpoint(redis, endpoint)
    return {
      json: { removed: endpoint.id },
      text: `${endpoint.id} is removed.`,
      acted: actedOn(endpoint, 'remove'),
    }
  }),
  verb({
    usage: 'replay <id>',
    act: 'endpoint.replay',
    summary: 'deliver the events of a time span to an endpoint again',
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

/** A verb for one endpoint. */
function onEndpoint(
  name: string,
  summary: string,
  run: (endpoint: Endpoint, context: CommandContext) => Promise<Answer>,
): Verb {
  return verb({
    usage: `endpoints ${name} <id>`,
    act: ENDPOINT_ACT,
    summary,
    example: 'ep_5f0c2a7d9b1e4f6a8c --account 1',
    values: { id: z.string(), account: option(accountId, 'id', 'account of the endpoint') },
    run: async ({ id, account }, context) => run(await existing(context.redis, account, id), context),
  })
}

async function existing(redis: Redis, account: number, id: string): Promise<Endpoint> {
  const endpoint = await findEndpoint(redis, account, id)
  if (endpoint === undefined) {
    throw new CliFailure(`Account ${account} has no endpoint ${id}, see \`events endpoints list\`.`)
  }
  return endpoint
}

const sealOf = ({ config }: CommandContext) => createSeal(secretKeysOf(config))

const commandsOf = (context: CommandContext) => ({
  redis: context.redis,
  seal: sealOf(context),
  allowPrivate: context.config.events.allowPrivate,
})

const actedOn = ({ account, id }: Endpoint, detail: string) => ({ account, target: id, detail })

async function setEnabled(endpoint: Endpoint, context: CommandContext, enabled: boolean): Promise<Answer> {
  const changed = await alterEndpoint(commandsOf(context), endpoint, { enabled })
  const done = enabled ? 'enable' : 'disable'
  return { json: endpointDocument(changed), text: `${endpoint.id} is ${done}d.`, acted: actedOn(endpoint, done) }
}

async function create(values: NewEndpointTyped, context: CommandContext): Promise<Answer> {
  const { account, url, types, senders, batch, includeContent } = values
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
    throw new CliFailure(faults.map(({ path, message }) => ended(`--${path}: ${message}`)).join(' '), 2)
  }
  const { endpoint, secret } = await addEndpoint(commandsOf(context), account, fields.data)
  return {
    json: { ...endpointDocument(endpoint), secret },
    text: `${secret}\n\nThis is the secret of ${endpoint.id}.\nKeep it now: it is not shown again.\n\n${getsOf(fields.data.types)}`,
    acted: actedOn(endpoint, 'create'),
  }
}

/** What a new endpoint gets, and what it does not. */
function getsOf(types: readonly EventType[]): string {
  const others = EVENT_TYPES.filter((type) => !types.includes(type))
  const rest = others.length === 0 ? '' : `\nIt does not get ${others.join(', ')}; name types with --types.`
  return `It gets ${types.join(', ')}.${rest}`
}
