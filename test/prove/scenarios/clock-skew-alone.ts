// One worker, so that no other one helps out, on a machine whose clock is wrong: all along, set while messages wait, and
// put right with a worker that takes its place. Messages with a send_at wait meanwhile, and single ones and those of a
// campaign whose messages the provider refuses at first, every other one.
import { describeCampaign, exportCampaign, startCampaign } from '../campaign.ts'
import { clockOf, preloading, setClock } from '../departures.ts'
import { lookInside } from '../lookup.ts'
import { type KnownMessage, testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Figure, onRig, type Run, type Scenario } from '../scenario.ts'
import { eventually } from '../wait.ts'

const HOUR_MS = 3_600_000
const SKEW_MS = 90_000

/** What happens to the worker: its clock from its start on, and what comes once messages wait for another try. */
interface Play {
  what: string
  startsAt: number
  later?: { setTo: number } | { replacedBy: number }
}

const PLAYS: readonly Play[] = [
  { what: 'an hour ahead', startsAt: HOUR_MS },
  { what: 'an hour behind', startsAt: -HOUR_MS },
  { what: '90 s ahead', startsAt: SKEW_MS },
  { what: '90 s behind', startsAt: -SKEW_MS },
  { what: 'set an hour ahead', startsAt: 0, later: { setTo: HOUR_MS } },
  { what: 'set an hour back', startsAt: 0, later: { setTo: -HOUR_MS } },
  { what: '90 s ahead, then right', startsAt: SKEW_MS, later: { replacedBy: 0 } },
  { what: '90 s behind, then right', startsAt: -SKEW_MS, later: { replacedBy: 0 } },
]

/** Messages of each kind in each play. */
const EACH = 5
const PUT_OFF_MS = 6_000
/** How the provider refuses, see docs/guides/simulator.md. */
const [REFUSED_ONCE, REFUSAL] = ['unavailable-once', '131016']
/** A play is over by then; what waits for a clock has not been sent. */
const PLAY_LIMIT_MS = 30_000
/** The first wait of a message is 2 to 2.5 s, and history tells whole milliseconds. */
const LEAST_WAIT_MS = 1_999
/** Far below every skew; a replaced worker takes a while to start. */
const MOST_LATE_MS = 15_000

export const clockSkewAlone: Scenario = {
  name: 'clock-skew-alone',
  promise:
    'With one worker whose clock is wrong, set or put right, nothing is sent before its time and nothing waits for the clock.',
  run: (run) => {
    const tenants = [{ wire: 'cloud-api', policy: 'at_least_once', rate: 80 }] as const
    const workerEnv = (worker: number) => ({
      NODE_OPTIONS: preloading('clock-skew'),
      ...clockOf(run.folder, worker),
    })
    setClock(run.folder, 1, 0)
    return onRig(run, { workers: 1, tenants, workerEnv }, async (rig) => {
      const played: Played[] = []
      for (const [at, play] of PLAYS.entries()) {
        run.say(`the clock of the worker: ${play.what}`)
        played.push(await playOnce(rig, run, play, 3 * at))
      }
      const { judgement, messages, ledger } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const sentAt = new Map(ledger.map(({ to, atMs }) => [to, atMs]))
      return { judgement, figures: played.flatMap((each) => figuresOf(each, messages, sentAt)) }
    })
  },
}

interface Played {
  what: string
  putOff: readonly string[]
  sendAtMs: number
  refused: readonly string[]
  /** Not sent when the play was over. */
  late: number
}

async function playOnce(rig: Rig, run: Run, { what, startsAt, later }: Play, range: number): Promise<Played> {
  const [worker] = rig.workers
  const restart = async (skewMs: number): Promise<void> => {
    await worker?.terminate()
    setClock(run.folder, 1, skewMs)
    await worker?.start()
  }
  await restart(startsAt)
  const [putOff, single, people] = [0, 1, 2].map((at) => recipientsOf(range + at, EACH))
  if (!putOff || !single || !people) throw new Error('no recipients')
  const refused = [...single, ...people]
  for (const to of refused) {
    await rig.chatProduct.control({ match: { to }, behaviour: REFUSED_ONCE, count: 1 })
  }
  const sendAtMs = Date.now() + PUT_OFF_MS
  await rig.client.post(rig.tenant, putOff, 100, new Date(sendAtMs).toISOString())
  await rig.client.post(rig.tenant, single, 100)
  const campaign = await startCampaign(rig, people, `list ${range}`)
  const lines = await exportCampaign(rig, campaign)
  for (const { recipient, message_id } of lines) rig.client.note(rig.tenant, recipient, message_id)
  const ids = lines.map(({ message_id }) => message_id)
  const isRefused = async () =>
    [...(await lookInside(rig.store, ids)).values()].some(({ history }) =>
      history.some(({ detail }) => detail === REFUSAL),
    )
  if (!(await eventually(isRefused, PLAY_LIMIT_MS, 50))) throw new Error('the campaign is refused nothing')
  if (later !== undefined && 'setTo' in later) setClock(run.folder, 1, later.setTo)
  if (later !== undefined && 'replacedBy' in later) await restart(later.replacedBy)

  const expected = [...putOff, ...refused]
  const left = async (): Promise<number> => {
    const taken = new Set((await rig.chatProduct.ledger()).map(({ to }) => to))
    return expected.filter((to) => !taken.has(to)).length
  }
  await eventually(async () => (await left()) === 0, PLAY_LIMIT_MS, 250)
  const late = await left()
  await eventually(async () => (await describeCampaign(rig, campaign)).state === 'done', late === 0 ? PLAY_LIMIT_MS : 0)
  return { what, putOff, sendAtMs, refused, late }
}

function figuresOf(
  { what, putOff, sendAtMs, refused, late }: Played,
  messages: readonly KnownMessage[],
  sentAt: ReadonlyMap<string, number>,
): Figure[] {
  const afterMs = putOff.flatMap((to) => (sentAt.get(to) ?? Number.NaN) - sendAtMs).filter((ms) => !Number.isNaN(ms))
  const waits = messages
    .filter(({ to }) => refused.includes(to))
    .flatMap(({ inside }) => {
      const refusedAt = inside?.history.find(({ code, detail }) => code === 'u' && detail === REFUSAL)?.atMs
      if (refusedAt === undefined) return []
      const again = inside?.history.find(({ code, atMs }) => code === 'c' && atMs > refusedAt)?.atMs
      return again === undefined ? [] : [again - refusedAt]
    })
  const of = `, the clock ${what}`
  return [
    { what: `not sent within ${PLAY_LIMIT_MS / 1_000} s${of}`, value: late, unit: 'messages', atMost: 0 },
    { what: `tried again${of}`, value: waits.length, unit: 'messages', atLeast: EACH - 1 },
    { what: `earliest after its send_at${of}`, value: Math.min(...afterMs), unit: 'ms', atLeast: 0 },
    { what: `latest after its send_at${of}`, value: Math.max(...afterMs), unit: 'ms', atMost: MOST_LATE_MS },
    { what: `shortest wait for another try${of}`, value: Math.min(...waits), unit: 'ms', atLeast: LEAST_WAIT_MS },
    { what: `longest wait for another try${of}`, value: Math.max(...waits), unit: 'ms', atMost: MOST_LATE_MS },
  ]
}
