// campaigns watch: a progress bar until the campaign stops; where nobody looks at a terminal, a line now and then.
import type { Writable } from 'node:stream'
import { SingleBar } from 'cli-progress'
import { z } from 'zod'
import type { CampaignDescription } from '../../campaigns/commands/campaign-document.ts'
import { describeCampaign } from '../../campaigns/commands/describe.ts'
import { formatDuration } from '../duration.ts'
import { verb } from '../verb.ts'
import { campaignArgument, existing, shown } from './campaign-context.ts'

const ASK_EVERY_MS = 200
/** Between two lines in a log, unless the state changes. */
const LINE_EVERY_MS = 5_000

export const watchVerb = verb({
  usage: 'watch <id>',
  summary: 'follow a campaign until it is done, paused or cancelled',
  example: 'cmp_1_7',
  options: {},
  values: z.strictObject({ id: campaignArgument }),
  run: async ({ id }, { redis, stderr }) => {
    const bar = startBar(stderr)
    const report = 'isTTY' in stderr && stderr.isTTY === true ? () => {} : lineReporter(stderr)
    try {
      for (;;) {
        const now = await describeCampaign(redis, await existing(redis, id))
        show(bar, now)
        report(now)
        if (!['checking', 'scheduled', 'running'].includes(now.state)) break
        await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
      }
    } finally {
      bar.stop()
    }
    return shown(redis, id)
  },
})

/** On standard error, and only when a person looks at it. */
function startBar(stream: Writable): SingleBar {
  const bar = new SingleBar({
    stream,
    format: '{state} {bar} {percentage} % | {value} of {total} | {rate} a second | {left} to go | {badly} failed',
    clearOnComplete: true,
    // Its own handling of Ctrl-C would keep the watch running; so it must not change what it would have to put back.
    gracefulExit: false,
    linewrap: true,
  })
  bar.start(0, 0, { state: '', rate: 0, left: '-', badly: 0 })
  return bar
}

/** Writes a line for what a bar would show. */
function lineReporter(stream: Writable): (now: CampaignDescription) => void {
  let last = { state: '', at: Number.NEGATIVE_INFINITY }
  return ({ state, progress }) => {
    const at = performance.now()
    if (state === last.state && at - last.at < LINE_EVERY_MS) return
    last = { state, at }
    const { total, queued } = progress
    stream.write(`${state}: ${total - queued} of ${total} processed, ${badly(progress)} failed\n`)
  }
}

const badly = ({ failed, unknown, expired }: CampaignDescription['progress']): number => failed + unknown + expired

function show(bar: SingleBar, { state, progress }: CampaignDescription): void {
  bar.setTotal(progress.total)
  bar.update(progress.total - progress.queued, {
    state,
    rate: Math.round(progress.rate_per_second),
    left: progress.seconds_left === null ? '-' : formatDuration(progress.seconds_left),
    badly: badly(progress),
  })
}
