// Checks a sender: reads everything from WhatsApp, and adds Laneway's own findings. The same over HTTP and on the command line. Changes
// nothing.

import { findSender, type Sender, tokenOf } from '../accounts/senders.ts'
import { webhooksOf } from '../accounts/webhook-arrivals.ts'
import { hasWebhookSecret } from '../accounts/webhook-secrets.ts'
import { cutText } from '../kernel/cut-text.ts'
import type { Seal } from '../kernel/seal.ts'
import { DAY_MS } from '../kernel/time-units.ts'
import { isLanePaused } from '../lanes/stats.ts'
import { type Finding, findingsOf, type SenderCheck, webhooksFinding } from '../model/accounts/sender-check.ts'
import type { GraphApi } from '../providers/graph-api.ts'
import { readSenderFacts } from '../providers/sender-facts.ts'
import type { Redis } from '../redis/connect.ts'

/** A webhook that was verified within this time shows that there is a secret. */

/** Dependencies of a check; `appSecret` is the installation's. */
export interface CheckDeps {
  redis: Redis
  seal: Seal
  graph: Pick<GraphApi, 'ask'>
  appSecret: string | undefined
}

/** Checks in progress in this process, so that a second request gets the same one. */
const underWay = new WeakMap<Redis, Map<number, Promise<SenderCheck>>>()

/** Checks a sender; it takes some 16 s at most. Simultaneous checks of one sender are one. */
export function checkSender(deps: CheckDeps, sender: Sender): Promise<SenderCheck> {
  const running = underWay.get(deps.redis) ?? new Map<number, Promise<SenderCheck>>()
  underWay.set(deps.redis, running)
  const known = running.get(sender.id)
  if (known) return known
  const check = findAll(deps, sender).finally(() => running.delete(sender.id))
  running.set(sender.id, check)
  return check
}

async function findAll(deps: CheckDeps, sender: Sender): Promise<SenderCheck> {
  const findings = [...(await ofProvider(deps, sender)), ...(await ofLaneway(deps, sender))]
  return {
    sender: sender.id,
    checked_at: new Date().toISOString(),
    ok: findings.every(({ state }) => state !== 'missing'),
    findings,
  }
}

async function ofProvider({ seal, graph }: CheckDeps, sender: Sender): Promise<Finding[]> {
  if (sender.provider !== 'cloud-api') {
    const sentence = 'The provider of this sender has nothing that could be asked; send a message to yourself.'
    return [{ what: 'provider', state: 'unknown', sentence, do: null }]
  }
  const token = tokenOf(seal, sender)
  if (token === undefined) {
    const sentence = 'The token of the sender cannot be opened with the keys in LANEWAY_SECRET_KEYS.'
    return [{ what: 'token', state: 'missing', sentence, do: 'Give it again with `senders renew`.' }]
  }
  const { phone_number_id: phoneNumberId, waba_id: wabaId } = sender
  const facts = await readSenderFacts(graph, { baseUrl: sender.base_url, token }, { phoneNumberId, wabaId })
  const { id, number, rate, portfolio } = sender
  return findingsOf({ id, number, phoneNumberId, wabaId, rate, hasPortfolio: portfolio !== null }, facts, Date.now())
}

async function ofLaneway({ redis, appSecret }: CheckDeps, sender: Sender): Promise<Finding[]> {
  const { id, account, provider } = sender
  const findings: Finding[] = []
  if (provider === 'cloud-api') {
    const hasOwn = await hasWebhookSecret(redis, account)
    const nowMs = Date.now()
    const arrivals = await webhooksOf(redis, account, hasOwn, nowMs)
    // The producer may have a secret that this process does not: what it has verified shows that.
    const hasSecret = appSecret !== undefined || hasOwn || (arrivals.lastGoodAtMs ?? 0) > nowMs - DAY_MS
    findings.push(
      hasSecret
        ? { what: 'webhook_secret', state: 'good', sentence: 'Laneway has an app secret to verify webhooks.', do: null }
        : {
            what: 'webhook_secret',
            state: 'missing',
            sentence: 'Laneway has no app secret and refuses all webhooks: no status comes.',
            do: `\`accounts set ${account} webhook.app_secret -\`, or LANEWAY_CLOUD_API_APP_SECRET.`,
          },
      webhooksFinding(account, arrivals, nowMs),
    )
  }
  // The reason alone is no pause: it is written first, and whoever wrote it may have died since.
  const isPaused = await isLanePaused(redis, id)
  const pausedFor = isPaused ? ((await findSender(redis, id))?.paused_for ?? '') : ''
  findings.push(
    isPaused
      ? {
          what: 'lane',
          state: 'missing',
          sentence: pausedFor === '' ? 'Its lane is paused.' : `Its lane is paused: ${cutText(pausedFor, 300)}`,
          do: `Mend the cause, then \`lanes resume ${id}\`.`,
        }
      : { what: 'lane', state: 'good', sentence: 'Its lane is open.', do: null },
  )
  return findings
}
