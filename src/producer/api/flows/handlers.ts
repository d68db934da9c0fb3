// Requests of flows: checked, opened, answered by the account's own server, encrypted. Neither request nor answer is ever
// logged. A request that cannot be opened is 421, upon which WhatsApp fetches the public key anew; a wrong signature is 432.

import { webhookSecrets } from '../../../accounts/webhook-secrets.ts'
import { changeFlowAddress, rotateFlowSecret } from '../../../flows/flow-address.ts'
import { isTokenSigned, type OpenedRequest, openRequest } from '../../../flows/flow-crypto.ts'
import { ACKNOWLEDGED, ALIVE, type FlowRequest, flowRequestSchema, isErrorReport } from '../../../flows/flow-request.ts'
import {
  addFlowKey,
  flowKeys,
  flowTarget,
  removeFlowKeys,
  flowSettings as settingsOf,
} from '../../../flows/flow-settings.ts'
import type { Config } from '../../../kernel/config.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Seal } from '../../../kernel/seal.ts'
import { isSigned, looksSigned } from '../../../providers/cloud-webhook.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { parseRaw } from '../../body.ts'
import { ApiError, overloaded } from '../../errors.ts'
import { accountHolder, createFairShares } from '../../overload/fair-shares.ts'
import type { AnswerOf, ContextOf } from '../../route.ts'
import { created, shows } from '../answers.ts'
import { ASKED_AT_ONCE, type AskAccount } from './ask-account.ts'
import { flowSettings, flows } from './routes.ts'

interface FlowDeps {
  redis: Redis
  seal: Seal
  log: Log
  config: Pick<Config, 'cloudApi' | 'events'>
  asking: Pick<AskAccount, 'ask'>
}

export function flowRoutes(deps: FlowDeps): Route[] {
  const shares = createFairShares(ASKED_AT_ONCE)

  return bind(flows)(
    {
      async exchange(call) {
        const account = Number(call.params.account)
        const secrets = await appSecrets(deps, account)
        const { raw, headers } = call
        if (!secrets.some((secret) => isSigned(raw, headers['X-Hub-Signature-256'], secret))) throw notSigned()
        const holder = accountHolder(account)
        if (!shares.hasRoomFor(holder)) throw overloaded()
        const share = shares.hold(holder, () => {})
        share.add(1)
        try {
          return await exchange(deps, account, call, secrets)
        } finally {
          share.release()
        }
      },
    },
    {
      // A body of a megabyte is read only of a request that claims to be signed.
      exchange(headers) {
        if (!looksSigned(headers)) throw notSigned()
      },
    },
  )
}

/** The app secrets of the account, or else the one of the installation. */
async function appSecrets({ redis, seal, config }: FlowDeps, account: number): Promise<string[]> {
  const own = await webhookSecrets(redis, seal, account, 'app_secret')
  const { appSecret } = config.cloudApi
  return own.length > 0 || appSecret === undefined ? own : [appSecret]
}

async function exchange(
  deps: FlowDeps,
  account: number,
  { raw, params }: Pick<ContextOf<typeof flows.exchange>, 'raw' | 'params'>,
  secrets: readonly string[],
): Promise<AnswerOf<typeof flows.exchange>> {
  const { opened, asked } = await open(deps, account, raw)
  const answers = (answer: object) => ({ text: opened.seal(JSON.stringify(answer)) })
  if (asked.action === 'ping') return answers(ALIVE)
  const { flow_token_signature: signature, flow_token: token } = asked
  if (signature !== undefined && !isTokenSigned(signature, token, secrets)) throw notSigned()

  const target = await flowTarget(deps.redis, deps.seal, account)
  const answer = target ? await deps.asking.ask(target, params.flow, asked) : { problem: 'no_address' }
  if ('problem' in answer) deps.log.warn({ account, problem: answer.problem }, 'flow.unanswered')
  // WhatsApp only expects an acknowledgement.
  if (isErrorReport(asked)) return answers(ACKNOWLEDGED)
  if ('problem' in answer)
    throw new ApiError(502, 'flow_unanswered', 'The server of the account gave no answer that a flow can use.')
  if (answer.status === 427) return { ...answers(answer.body), status: 427 }
  return answers({ ...(asked.version !== undefined && { version: asked.version }), ...answer.body })
}

/** Throws an ApiError when no key opens it, or when what it holds is no request of a flow. */
async function open(
  { redis, seal }: FlowDeps,
  account: number,
  raw: Buffer,
): Promise<{ opened: OpenedRequest; asked: FlowRequest }> {
  const envelope = flows.exchange.body.schema.safeParse(await parseRaw(raw))
  const opened = envelope.success ? openRequest(envelope.data, await flowKeys(redis, seal, account)) : undefined
  if (opened === undefined) throw unreadable()
  const asked = flowRequestSchema.safeParse(await parseRaw(Buffer.from(opened.text)))
  if (!asked.success) throw unreadable()
  return { opened, asked: asked.data }
}

const notSigned = (): ApiError =>
  new ApiError(432, 'flow_not_signed', 'X-Hub-Signature-256 or the flow token’s signature does not match.')
const unreadable = (): ApiError =>
  new ApiError(421, 'flow_unreadable', 'No key of the account opens this request: upload its present public key.')

/** How an account's flows are served. */
export function flowSettingsRoutes({ redis, seal, config }: Omit<FlowDeps, 'asking' | 'log'>): Route[] {
  const commands = { redis, seal, allowPrivate: config.events.allowPrivate }
  return bind(flowSettings)({
    show: async ({ caller: { account } }) => shows('flows', await settingsOf(redis, seal, account)),
    async change({ caller: { account }, body: { address } }) {
      return shows('changed', { address, secret: await changeFlowAddress(commands, account, address) })
    },
    async addKey({ caller: { account } }) {
      return created(await addFlowKey(redis, seal, account, await redisNowMs(redis)), 'made')
    },
    async removeKeys({ caller: { account }, query, audit }) {
      const removed = await removeFlowKeys(redis, account, query.all === 'true')
      if (removed === 0) audit('nothing')
      return shows(removed === 0 ? 'nothing to remove' : 'removed', await settingsOf(redis, seal, account))
    },
    rotateSecret: async ({ caller: { account } }) =>
      shows('rotated; the old secret signs as well', { secret: await rotateFlowSecret(redis, seal, account) }),
  })
}
