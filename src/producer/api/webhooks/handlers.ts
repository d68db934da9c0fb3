// Webhooks of WhatsApp's Cloud API: GET is the verification handshake, POST brings statuses and received messages. And the
// secrets of an account's own webhooks.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { noteWebhook, webhooksOf } from '../../../accounts/webhook-arrivals.ts'
import {
  addWebhookSecret,
  countWebhookSecrets,
  removeWebhookSecrets,
  webhookSecrets as secretsOf,
} from '../../../accounts/webhook-secrets.ts'
import { createCampaignRefusals } from '../../../campaigns/fan-out/circuit-breaker.ts'
import type { Config } from '../../../kernel/config.ts'
import { isoOrNull } from '../../../kernel/instant.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Seal } from '../../../kernel/seal.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { NO_ACCOUNT } from '../../../model/accounts/permissions.ts'
import { looksSigned } from '../../../providers/cloud-webhook.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import type { AnswerOf, ContextOf } from '../../route.ts'
import { says, shows } from '../answers.ts'
import { createLearning, type LearnDeps } from './learn.ts'
import { createRareWarnings } from './rare-warnings.ts'
import { badSignature, receive, type Source } from './receive.ts'
import { webhookSecrets, webhooks } from './routes.ts'

/** Dependencies of receiving webhooks. */
interface WebhookSettings extends LearnDeps {
  config: Pick<Config, 'cloudApi' | 'receivedRetentionMs' | 'capMs' | 'retentionMs'>
  log: Log
  seal: Seal
  queues: LaneQueues
}

export function webhookRoutes(given: WebhookSettings): Route[] {
  const reports = { ...given, lanes: given.queues, refusals: createCampaignRefusals(given) }
  const deps = { ...given, learning: createLearning(given), rareWarnings: createRareWarnings(given.log), reports }
  const { redis, seal, config } = given
  const ofInstallation = { account: undefined, secrets: onlyGiven(config.cloudApi.appSecret) }
  const installationTokens = onlyGiven(config.cloudApi.verifyToken)

  // Up to 4 MB are read only of a request that claims to be signed.
  const refuseUnsigned = (headers: IncomingHttpHeaders): void => {
    if (!looksSigned(headers)) throw badSignature()
  }
  const report = async (
    call: Pick<ContextOf<typeof webhooks.report>, 'raw' | 'headers'>,
    source: Source,
  ): Promise<AnswerOf<typeof webhooks.report>> => {
    await receive(deps, call, source)
    return says('received')
  }
  return bind(webhooks)(
    {
      handshake: async ({ query }) => shake(query, installationTokens),
      report: (call) => report(call, ofInstallation),
      async accountHandshake({ params, query }) {
        return shake(query, await secretsOf(redis, seal, Number(params.account), 'verify_token'))
      },
      async accountReport({ params, ...call }) {
        const account = Number(params.account)
        return report(call, { account, secrets: await secretsOf(redis, seal, account, 'app_secret') })
      },
    },
    {
      report(headers) {
        if (ofInstallation.secrets.length === 0) {
          // WhatsApp may have been given this address for one of an account.
          if (looksSigned(headers)) noteWebhook(redis, NO_ACCOUNT, 'refused', Date.now())
          throw badSignature()
        }
        refuseUnsigned(headers)
      },
      accountReport: refuseUnsigned,
    },
  )
}

const onlyGiven = (secret: string | undefined): string[] => (secret === undefined ? [] : [secret])

function shake(query: ContextOf<typeof webhooks.handshake>['query'], tokens: readonly string[]): { text: string } {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query
  const isOurs = typeof token === 'string' && tokens.some((each) => isSame(token, each))
  if (mode !== 'subscribe' || !isOurs || typeof challenge !== 'string') {
    throw new ApiError(403, 'forbidden', 'The verify token is not the configured one.')
  }
  return { text: challenge }
}

/** Compares digests in constant time, whatever the lengths. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digestOf(a), digestOf(b))

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Secrets of an account's own webhooks. */
export const webhookSecretRoutes = ({ redis, seal }: { redis: Redis; seal: Seal }): Route[] =>
  bind(webhookSecrets)({
    async list({ caller: { account } }) {
      const counts = await countWebhookSecrets(redis, account)
      const came = await webhooksOf(redis, account, counts['webhook.app_secret'] > 0, Date.now())
      const { lastGoodAtMs, refusedLastHour, refusedLastDay } = came
      return shows('webhook secrets', {
        ...counts,
        last_good_at: isoOrNull(lastGoodAtMs ?? undefined),
        refused_last_hour: refusedLastHour,
        refused_last_day: refusedLastDay,
      })
    },
    async add({ caller: { account }, params, body }) {
      await addWebhookSecret(redis, seal, account, params.name, body.secret)
      return shows('added', await countWebhookSecrets(redis, account))
    },
    async remove({ caller: { account }, params, query, audit }) {
      const removed = await removeWebhookSecrets(redis, account, params.name, query.all === 'true')
      if (removed === 0) audit('nothing')
      return shows(removed === 0 ? 'nothing to remove' : 'removed', await countWebhookSecrets(redis, account))
    },
  })
