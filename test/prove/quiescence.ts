// Waits until a service has come to rest, then gathers the three testimonies and has them judged.
import { writeCaseFiles } from './case-files.ts'
import type { Sent } from './chat-product.ts'
import type { Judgement } from './checker.ts'
import { acceptedId, type Posted } from './client.ts'
import { type Inside, laneOf, lookInside, lookUp } from './lookup.ts'
import { untilOver } from './rest.ts'
import type { Rig } from './rig.ts'
import type { Run } from './scenario.ts'
import type { Tenant } from './tenant.ts'
import { judgeInOrder, type Named } from './testimonies.ts'

const RESTING = new Set(['sent', 'delivered', 'read', 'failed', 'expired', 'cancelled', 'unknown'])

/** A build without a safeguard is at rest once WhatsApp has taken nothing for so long: work is taken up again within 15 s. */
export const STILL_MS = 20_000

/** As long as one of the first is at work there is no use in asking for the rest, and asking for all costs the service. */
const LOOKED_UP_AT_ONCE = 50

export interface Testimony {
  judgement: Judgement
  posted: readonly Posted[]
  ledger: readonly Sent[]
  /** What became of each accepted message. */
  messages: readonly KnownMessage[]
}

export interface KnownMessage {
  to: string
  id: string
  /** What its lookup says. */
  state: string
  /** How often WhatsApp took it. */
  taken: number
  /** The attempts that it took, where its ledger tells them apart. */
  attempts: string[]
  /** Undefined for a message that was never claimed. */
  inside: Inside | undefined
}

/**
 * Rest: every accepted message has a state that it may keep, nothing stands on a lane and no status update is under way.
 * When that does not come in time the judge sees things as they are then. What is open is lost where nothing moves any
 * more; else the run was too slow to tell.
 */
export async function testimonyAtQuiescence(
  rig: Rig,
  run: Pick<Run, 'quiescenceLimitMs' | 'stillMs' | 'late'>,
  options: { flagsEarned: number; refusedLater?: ReadonlySet<string> },
): Promise<Testimony> {
  let open = rig.client.log.flatMap(messageOf)
  let waiting = 0
  let taken = -1
  let movedAt = performance.now()
  const end = await untilOver(run.quiescenceLimitMs, async () => {
    const count = await rig.chatProduct.count()
    if (count !== taken) movedAt = performance.now()
    taken = count
    if (run.stillMs !== undefined && performance.now() - movedAt >= run.stillMs) return true
    const howFar = () => `${taken} taken, ${open.length} messages open or not looked up, ${waiting} waiting`
    while (open.length > 0) {
      const looked = open.slice(0, LOOKED_UP_AT_ONCE)
      const states = await lookUp(rig.liveProducer(), looked)
      const atWork = looked.filter(({ id }) => !RESTING.has(states.get(id) ?? ''))
      open = [...atWork, ...open.slice(looked.length)]
      if (atWork.length > 0) return howFar()
    }
    waiting = await rig.chatProduct.updatesWaiting()
    for (const tenant of rig.tenants) {
      const lane = await laneOf(rig.liveProducer(), tenant)
      waiting += lane ? lane.backlog : 1
    }
    return waiting === 0 || howFar()
  })
  if (end === 'late') run.late(`not at rest in time: ${taken} taken, ${open.length} open, ${waiting} waiting`)
  return testimony(rig, { ...options, atWork: end === 'late' })
}

async function testimony(
  rig: Rig,
  {
    flagsEarned,
    refusedLater = new Set(),
    atWork,
  }: { flagsEarned: number; refusedLater?: ReadonlySet<string>; atWork: boolean },
): Promise<Testimony> {
  const posted = rig.client.log
  const tenantOf = new Map(posted.map(({ to, tenant }) => [to, tenant]))
  const { judgement, ledger, states, inside } = await judgeInOrder(
    {
      states: (messages) => lookUp(rig.liveProducer(), messages.flatMap(asTheirTenant(tenantOf))),
      ledger: rig.chatProduct.ledger,
      inside: (ids) => lookInside(rig.store, ids),
    },
    {
      requests: posted.map(({ to, answers }) => ({
        to,
        ids: answers.flatMap(({ id }) => (id === undefined ? [] : [id])),
      })),
      refusedLater,
      atWork,
      flagsEarned: flagsEarned + rig.providerLine.lostBeside(),
    },
  )
  const refused = posted.filter((each) => acceptedId(each) === undefined)
  if (refused.length > 0) {
    const last = refused[0]?.answers.at(-1)?.status ?? 'no answer'
    judgement.violations.push(`${refused.length} requests were never accepted (the last answer to one: ${last})`)
  }
  judgement.violations.push(...rig.deaths)
  writeCaseFiles(rig.folder, judgement, { posted, ledger, states, inside })
  const takenOf = new Map<string, Sent[]>()
  for (const sent of ledger) takenOf.set(sent.to, [...(takenOf.get(sent.to) ?? []), sent])
  const known = posted.flatMap((each) => {
    const id = acceptedId(each)
    if (id === undefined) return []
    const { to } = each
    const taken = takenOf.get(to) ?? []
    const attempts = taken.flatMap(({ attempt }) => (attempt === undefined ? [] : [attempt]))
    return [{ to, id, state: states.get(id) ?? 'missing', taken: taken.length, attempts, inside: inside.get(id) }]
  })
  return { judgement, posted, ledger, messages: known }
}

const messageOf = (posted: Posted) => {
  const id = acceptedId(posted)
  return id === undefined ? [] : [{ tenant: posted.tenant, id }]
}

/** A message that nobody asked for has no tenant who could look it up. */
const asTheirTenant =
  (tenantOf: ReadonlyMap<string, Tenant>) =>
  ({ to, id }: Named) => {
    const tenant = tenantOf.get(to)
    return tenant === undefined ? [] : [{ tenant, id }]
  }
