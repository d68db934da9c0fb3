// top: lanes and campaigns live in the terminal, the same as the console shows. Without a terminal, or with --once, how
// everything stands now.
import { setTimeout as sleep } from 'node:timers/promises'
import { laneOf, pauseLane, resumeLane } from '../lanes/control.ts'
import { parseCampaignId } from '../model/campaigns/campaign-id.ts'
import { NO_REASON } from '../model/lanes/pause-reason.ts'
import { findCampaign } from '../recipients/campaigns.ts'
import { isRedisAway } from '../redis/errors.ts'
import { createSnapshots } from '../telemetry/live/snapshots.ts'
import type { Snapshot } from '../telemetry/snapshot.ts'
import { explain } from './failure.ts'
import { laneQueues, personHere, recordActs } from './session.ts'
import { drawScreen, type Item, isSame, itemsOf } from './top-screen.ts'
import { isTerminal, type Pressed, takeTerminal } from './top-terminal.ts'
import { accountId } from './values.ts'
import { type CommandContext, flag, option, type Verb, verb } from './verb.ts'

const EVERY_MS = 1_000
/** Without a terminal, lines are not cut. */
const NO_SCREEN = { columns: 200, rows: 1_000 }

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show',
    isDefault: true,
    summary: 'follow all lanes and campaigns, those in trouble first',
    example: '--account 1',
    values: {
      account: option(accountId.optional(), 'id', 'only those of one account'),
      once: flag('print their present state and exit, as without a terminal'),
    },
    async run({ account, once }, context) {
      const { take } = createSnapshots(context.redis)
      const isLive = !once && isTerminal(context.stdin) && isTerminal(context.stderr)
      const whose = { account, senders: [] }
      const last = isLive ? await follow(context, () => take(whose)) : await take(whose)
      const text = drawScreen(last, { ...NO_SCREEN, selected: undefined, note: ' ', ageMs: 0 })
      return { json: last, text: isLive ? '' : text.slice(0, -1).join('\n') }
    },
  }),
]

/** Draws until somebody quits; returns what was drawn last. */
async function follow(context: CommandContext, take: () => Promise<Snapshot>): Promise<Snapshot> {
  let snapshot = await take()
  let takenAt = performance.now()
  let selected: Item | undefined = itemsOf(snapshot)[0]
  let note = ''
  /** Why the last look brought nothing; over with the next one that does. */
  let away = ''
  let acting: Promise<void> = Promise.resolve()
  const quit = new AbortController()
  const terminal = takeTerminal(context.stdin, context.stderr, onPressed)

  function draw(): void {
    const ageMs = performance.now() - takenAt
    terminal.draw(drawScreen(snapshot, { ...terminal.size(), selected, note: away || note, ageMs }))
  }

  function onPressed(pressed: Pressed): void {
    if (pressed === 'quit') quit.abort()
    else if (pressed === 'up' || pressed === 'down') {
      const items = itemsOf(snapshot)
      const at = items.findIndex((item) => isSame(item, selected))
      selected = items[Math.min(items.length - 1, Math.max(0, at + (pressed === 'up' ? -1 : 1)))]
      draw()
    } else if (selected) {
      const item = selected
      // One after the other, in the order in which they were pressed.
      acting = acting.then(async () => {
        note = await act(context, item, pressed).catch(sentenceOf)
        await refresh()
      })
    }
  }

  async function refresh(): Promise<void> {
    try {
      snapshot = await take()
      takenAt = performance.now()
      away = ''
    } catch (error) {
      away = isRedisAway(error) ? 'Redis cannot be reached and is tried again each second.' : sentenceOf(error)
    }
    if (!quit.signal.aborted) draw()
  }

  try {
    draw()
    while (!quit.signal.aborted) {
      await sleep(EVERY_MS, undefined, { signal: quit.signal }).catch(() => undefined)
      if (!quit.signal.aborted) await refresh()
    }
    await acting
  } finally {
    terminal.leave()
  }
  return snapshot
}

/** Pauses or resumes it and reports that. */
async function act(context: CommandContext, { kind, id }: Item, what: 'pause' | 'resume'): Promise<string> {
  const { redis } = context
  const done = what === 'pause' ? 'paused' : 'resumed'
  if (kind === 'lane') {
    const lane = Number(id)
    const sender = await laneOf(redis, lane)
    if (!sender) return `There is no lane ${id} any more.`
    const queues = await laneQueues(context)
    if (what === 'pause') await pauseLane(redis, queues, lane, { reason: NO_REASON, by: personHere() })
    else await resumeLane(redis, queues, lane)
    await recordActs(redis, `lane.${what}`, { account: sender.account, target: id })
    return `Lane ${id} is ${done}.`
  }
  const campaign = parseCampaignId(id)
  const found = campaign && (await findCampaign(redis, campaign))
  if (found === undefined) return `There is no campaign ${id} any more.`
  // BullMQ takes longer to load than all else.
  const [{ pauseCampaign, resumeCampaign }, { openCampaignQueue }] = await Promise.all([
    import('../campaigns/commands/moves.ts'),
    import('../campaigns/store/queue.ts'),
  ])
  const queue = context.use(openCampaignQueue(redis))
  const deps = { redis, queue, retentionMs: context.config.retentionMs }
  await (what === 'pause' ? pauseCampaign(deps, found, `by ${personHere()}`) : resumeCampaign(deps, found))
  await recordActs(redis, `campaign.${what}`, { account: found.account, target: id })
  return `Campaign ${id} is ${done}.`
}

const sentenceOf = (error: unknown): string => {
  const known = explain(error)
  if (known === undefined) throw error
  return known.sentence
}
