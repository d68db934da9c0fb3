// Plays one world from the start of its campaign until nothing of it is open any more: reads the progress all the time, asks
// for codes meanwhile, tries to send to people who have had enough, and ends by hand what waits for a person.
import { z } from 'zod'
import { type Described, describeCampaign, type ExportedLine, exportCampaign, postCampaign } from '../campaign.ts'
import { postJson } from '../http.ts'
import type { Rig } from '../rig.ts'
import type { Run } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'
import type { Business } from './business.ts'
import { type Code, sendCodes } from './codes.ts'

/** A world that is ready to be played. */
export interface Ready {
  business: Business
  /** The rig as the account of this business sees it. */
  rig: Rig
  people: readonly string[]
  codePeople: readonly string[]
  campaign: string
  /** The same people by the other number, where the world has it. */
  second: string | undefined
}

/** What came of a world. */
export interface Seen {
  ready: Ready
  startedMs: number
  codes: Code[]
  /** Of all its campaigns. */
  lines: ExportedLine[]
  readings: number
  /** People whom a requeue of ours has left alone since they were capped. */
  skipped: number
  /** Why its campaign did not run through, if it did not. */
  reason: string | null
  violations: string[]
}

/** Often enough to see every stage of the shortest campaign. */
const READ_EVERY_MS = 250
/** A number that is closed for maintenance is asked again after a minute, and a portfolio may need three days. */
const OVER_LIMIT_MS = 300_000
/** The last of them have read by then. */
const AGREE_WITHIN_MS = 30_000
/** A campaign that waits for a person is watched for so long before it is cancelled. */
const STANDS_MS = 2_000

const OPEN = ['queued', 'sending', 'unconfirmed'] as const

export async function playWorld(ready: Ready, run: Run): Promise<Seen> {
  const { rig, business, campaign, second, codePeople } = ready
  const { world, tenant } = business
  const seen: Seen = {
    ...{ ready, startedMs: Date.now(), codes: [], lines: [], readings: 0, skipped: 0, reason: null, violations: [] },
  }
  const violate = (what: string): void => void seen.violations.push(`world ${world.place} (${world.kind}): ${what}`)
  const read = async (id: string, total: number): Promise<Described> => {
    const described = await describeCampaign(rig, id)
    const { sum, capped, held, shares } = described
    if (sum !== total) violate(`the figures added up to ${sum} instead of ${total}`)
    if (capped > (shares.get('failed') ?? 0)) violate(`${capped} capped, but only ${shares.get('failed')} failed`)
    if (held > (shares.get('sent') ?? 0)) violate(`${held} held, but only ${shares.get('sent')} sent`)
    seen.readings += 1
    return described
  }
  const isSettled = ({ shares, held }: Described): boolean =>
    held === 0 && OPEN.every((state) => (shares.get(state) ?? 0) === 0)
  const total = ready.people.length

  await postCampaign(rig, `/${campaign}/start`)
  seen.startedMs = Date.now()
  const codes = sendCodes(rig, business, codePeople)
  let stoodMs = 0
  const isOver = async (): Promise<boolean> => {
    const described = await read(campaign, total)
    if (described.state === 'done' && isSettled(described)) return true
    // Nobody resumes it, or the number is held back for an hour: a person would end it.
    const stands = described.state === 'paused' || (world.kind === 'held_back' && described.waits !== null)
    stoodMs = stands ? stoodMs || performance.now() : 0
    seen.reason = described.reason
    return stands && performance.now() - stoodMs >= STANDS_MS
  }
  if (!(await eventually(isOver, OVER_LIMIT_MS, READ_EVERY_MS))) violate('its campaign is not over in time')
  if (world.secondCampaign && second !== undefined) {
    seen.skipped = await requeueFailed(rig, tenant.apiKey, campaign)
    await postCampaign(rig, `/${second}/start`)
    const isDone = async () => {
      const described = await read(second, total)
      return described.state === 'done' && isSettled(described)
    }
    if (!(await eventually(isDone, run.quiescenceLimitMs, READ_EVERY_MS))) violate('the second one is not over in time')
  }
  seen.codes = await codes
  const { state } = await read(campaign, total)
  if (state !== 'done') await postCampaign(rig, `/${campaign}/cancel`)
  for (const id of second === undefined ? [campaign] : [campaign, second]) {
    const rests = async () => isSettled(await read(id, total))
    if (!(await eventually(rests, run.quiescenceLimitMs, READ_EVERY_MS))) violate('messages of it stay open')
    // The counters and the messages themselves are two things; people go on reading meanwhile.
    let lines: ExportedLine[] = []
    let wrong: string[] = []
    const agree = async (): Promise<boolean> => {
      const { shares } = await read(id, total)
      lines = await exportCampaign(rig, id)
      wrong = [...shares].flatMap(([each, counted]) => {
        const found = lines.filter((line) => line.state === each).length
        return found === counted ? [] : [`${counted} are counted as ${each}, and ${found} recipients are`]
      })
      return wrong.length === 0
    }
    if (!(await eventually(agree, AGREE_WITHIN_MS, READ_EVERY_MS))) for (const each of wrong) violate(each)
    seen.lines.push(...lines)
  }
  return seen
}

/** Sends to everybody again whose message failed: those whose cap is not over must be left out. */
async function requeueFailed(rig: Rig, apiKey: string, campaign: string): Promise<number> {
  const answered = z.object({ data: z.object({ skipped_capped: z.number() }) })
  const headers = { authorization: `Bearer ${apiKey}` }
  const url = `${rig.liveProducer()}/messages/requeue`
  const dry = await postJson(url, { campaign, state: 'failed', dry_run: true }, headers)
  if (dry.status !== 200) throw new Error(`a requeue was refused: ${JSON.stringify(dry)}`)
  const real = await postJson(url, { campaign, state: 'failed' }, headers)
  if (real.status !== 202) throw new Error(`a requeue was refused: ${JSON.stringify(real)}`)
  // It runs as a job.
  await pause(1_000)
  return answered.parse('body' in dry ? dry.body : {}).data.skipped_capped
}
