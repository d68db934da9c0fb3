// Status updates come before the answer to the request, twice, in the wrong order, and late; some say that a message
// failed after all. Somebody else forges updates, and a flood of repeated ones comes in.
import type { Sent } from '../chat-product.ts'
import { lookUp } from '../lookup.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import type { Random } from '../random.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { onRig, type Run, type Scenario, timeLimit } from '../scenario.ts'
import type { Tenant } from '../tenant.ts'
import { pause } from '../wait.ts'
import { postUpdates, type Update } from '../webhook-forger.ts'

/** Behaviour of the simulator → the state that a message must have in the end. */
const ENDS: Readonly<Record<string, string>> = {
  'webhook-before-answer': 'read',
  'duplicate-webhooks': 'read',
  'disordered-webhooks': 'read',
  'skips-delivered': 'read',
  'failed-after-delivered': 'delivered',
  'late-failure': 'failed',
  undeliverable: 'failed',
}

export const webhooks: Scenario = {
  name: 'webhooks',
  promise: 'Status updates settle messages whenever and however often they come, and only those that are ours.',
  run: (run) =>
    onRig(run, { workers: 1, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      const { tenant } = rig
      const recipients = recipientsOf(0, run.full ? 5_000 : 500)
      const endOf = await drawBehaviours(rig, run.random.fork('behaviours'), recipients)
      await rig.client.post(tenant, recipients, run.full ? 200 : 100)
      const refusedLater = new Set([...endOf].flatMap(([to, end]) => (end === 'failed' ? [to] : [])))
      const found = await testimonyAtQuiescence(rig, run, { flagsEarned: 0, refusedLater })
      const wrong = found.messages.filter(({ to, state }) => state !== (endOf.get(to) ?? 'read'))
      const forgery = await forge(rig, tenant, found.ledger)
      const medianMs = await flood(run, rig, tenant, found.ledger)
      const figure = (what: string, value: number) => ({ what, value, unit: 'messages', atMost: 0 })
      return {
        judgement: found.judgement,
        figures: [
          figure('states that are not what was reported', wrong.length),
          figure('moved by forged updates', forgery.moved),
          {
            what: 'median answer to a webhook while 1,000 updates a second come in',
            value: medianMs,
            unit: 'ms',
            atMost: timeLimit(run, 50),
          },
        ],
        violations: forgery.violations,
      }
    }),
}

/** Gives half of the messages one of the behaviours each; returns what must become of them. */
async function drawBehaviours(rig: Rig, random: Random, recipients: readonly string[]): Promise<Map<string, string>> {
  const endOf = new Map<string, string>()
  for (const to of recipients) {
    if (random.next() < 0.5) continue
    const [behaviour, end] = random.pick(Object.entries(ENDS))
    endOf.set(to, end)
    await rig.chatProduct.control({ match: { to }, behaviour, count: 1 })
  }
  return endOf
}

/** Tries to move every message by updates that are not WhatsApp's, and counts those that moved. */
async function forge(
  rig: Rig,
  tenant: Tenant,
  ledger: readonly Sent[],
): Promise<{ moved: number; violations: string[] }> {
  const ids = ledger.flatMap(({ id }) => (id === undefined ? [] : [{ tenant, id }]))
  const before = await lookUp(rig.liveProducer(), ids)
  const forged = (opaqueOf: (sent: Sent, next: Sent) => string | undefined): Update[] =>
    ledger.flatMap((sent, n) => {
      const opaque = opaqueOf(sent, ledger[(n + 1) % ledger.length] ?? sent)
      const update = { providerId: sent.providerId, to: sent.to, opaque }
      return [
        { ...update, status: 'failed' as const },
        { ...update, status: 'read' as const },
      ]
    })
  const genuine = forged(({ opaque }) => opaque ?? undefined)
  const unsigned = await postUpdates(rig.frontUrl, tenant.phoneNumberId, genuine.slice(0, 500), 'another secret')
  const kinds = [
    forged(() => undefined),
    forged(({ opaque }) => opaque?.replace(/.{6}$/, 'AAAAAA')),
    // The signature of another message of ours.
    forged(({ opaque }, next) => `${opaque?.slice(0, -16)}${next.opaque?.slice(-16)}`),
  ]
  for (const updates of kinds) {
    for (let n = 0; n < updates.length; n += 1_000) {
      await postUpdates(rig.frontUrl, tenant.phoneNumberId, updates.slice(n, n + 1_000))
    }
  }
  const after = await lookUp(rig.liveProducer(), ids)
  const moved = [...before].filter(([id, state]) => after.get(id) !== state).length
  return {
    moved,
    violations: unsigned === 401 ? [] : [`a webhook with a wrong signature was answered ${unsigned}, not 401`],
  }
}

/** Repeats genuine updates, 1,000 a second in posts of 100, and gives the median time to the answer. */
async function flood(run: Run, rig: Rig, tenant: Tenant, ledger: readonly Sent[]): Promise<number> {
  const updates = ledger
    .slice(0, 100)
    .map(({ providerId, to, opaque }): Update => ({ providerId, to, status: 'sent', opaque: opaque ?? undefined }))
  const took: number[] = []
  const posts: Promise<void>[] = []
  for (let post = 0; post < (run.full ? 200 : 20); post += 1) {
    const begunAt = performance.now()
    posts.push(
      postUpdates(rig.frontUrl, tenant.phoneNumberId, updates).then(() => {
        took.push(performance.now() - begunAt)
      }),
    )
    await pause(100)
  }
  await Promise.all(posts)
  return took.sort((a, b) => a - b)[Math.floor(took.length / 2)] ?? 0
}
