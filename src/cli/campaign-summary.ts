// A campaign at the command line: how it is shown, and how it is followed.
import type { Writable } from 'node:stream'
import type { SingleBar } from 'cli-progress'
import {
  type CampaignDescription,
  campaignDocumentSchema,
  type RunPlan,
} from '../campaigns/commands/campaign-document.ts'
import { counted } from '../kernel/fault.ts'
import { isBeforeStart } from '../model/campaigns/lifecycle.ts'
import { STATES } from '../model/messages/lifecycle.ts'
import { spanText } from '../telemetry/durations.ts'
import { keyValueTable } from './print.ts'
import { startBar } from './progress.ts'

/** All that people want to know of a campaign, a line for each name and value; those without a value are left out. */
export function campaignSummary(campaign: CampaignDescription): string {
  const { template, preflight, progress } = campaign
  const pace = Math.round(progress.rate_per_second)
  return keyValueTable([
    ['Campaign', campaign.id],
    ['Name', campaign.name ?? ''],
    ['State', campaign.state + (campaign.reason === null ? '' : `: ${campaign.reason}`)],
    ['Waits', campaign.waits?.sentence ?? ''],
    ['From', campaign.sender ?? 'a sender that is gone'],
    ['Template', `${template.name} (${template.language})`],
    ['Components', template.components?.length ? JSON.stringify(template.components) : ''],
    ['Route', campaign.marketing_route ?? ''],
    ['To', recipientsOf(campaign)],
    ['Scheduled', campaign.scheduled_at ?? ''],
    ['Started', campaign.started_at ?? ''],
    ['Ended', campaign.ended_at ?? ''],
    ['Valid until', campaign.valid_until ?? ''],
    ...(preflight === undefined ? [] : preflightFacts(preflight, campaign.ended_at ?? campaign.started_at)),
    ['Recipients', String(progress.total)],
    ...funnelFacts(progress),
    // Before the start nobody is in a queue, and a line about it would make people search for their messages.
    ...(isBeforeStart(campaign.state)
      ? []
      : STATES.map((state) => [`  now ${state}`, progress[state] === 0 ? '' : String(progress[state])] as const)),
    ['  capped', progress.capped === 0 ? '' : `${progress.capped} of the failed have had enough marketing`],
    ['  held', progress.held === 0 ? '' : `${progress.held} of the sent are held by WhatsApp`],
    ['Pace', pace === 0 ? '' : `${counted(pace, 'message')} a second`],
    [
      'Throttled to',
      progress.held_to === null ? '' : `${Math.round(progress.held_to)} a second, throttled by the provider`,
    ],
    ['To go', campaign.state === 'running' && progress.seconds_left !== null ? spanText(progress.seconds_left) : ''],
  ])
}

/** How far the messages came: one that was read was delivered, and one that was delivered was sent. */
function funnelFacts({
  sent,
  delivered_total: delivered,
  read,
  replied,
}: CampaignDescription['progress']): [string, string][] {
  const all = sent + delivered
  if (all === 0) return []
  return [
    ['Sent', String(all)],
    ['Delivered', `${delivered}, ${shareOf(delivered, all)} of the sent`],
    ['Read', delivered === 0 ? '' : `${read}, ${shareOf(read, delivered)} of the delivered`],
    ['Replied', replied === 0 ? '' : String(replied)],
  ]
}

const shareOf = (part: number, whole: number): string => `${Math.round((1_000 * part) / whole) / 10} %`

function preflightFacts(
  preflight: NonNullable<CampaignDescription['preflight']>,
  begun: string | null,
): [string, string][] {
  return [
    ['Checked', preflight.checked_at ?? ''],
    ...preflight.problems.map(({ path, message }): [string, string] => ['Problem', `${path}: ${message}`]),
    ...preflight.warnings.map(({ path, message }): [string, string] => ['Warning', `${path}: ${message}`]),
    ['Gallery files', filesText(preflight.files)],
    ['Rejected', refusedWords(preflight.refused).join(', ')],
    ['Excluded', preflight.excluded === 0 ? '' : `${preflight.excluded} by tag`],
    ['Skipped', skippedWords(preflight).join(', ')],
    // Once it has begun, its progress shows when it ends.
    [
      'Estimated',
      begun === null && preflight.problems.length === 0
        ? `${spanText(preflight.seconds)} at ${preflight.rate} messages a second, until ${preflight.estimated_end}`
        : '',
    ],
    ['Takes', begun === null && preflight.problems.length === 0 ? daysText(preflight) : ''],
    ['Would expire', preflight.would_expire === 0 ? '' : `${preflight.would_expire} before their turn`],
  ]
}

/** How long the limit of the portfolio makes it, where it does. */
function daysText({ days, people }: NonNullable<CampaignDescription['preflight']>): string {
  if (people === null || (days ?? 2) < 2) return ''
  const most = `its portfolio lets campaigns write to ${people.a_day} people a day`
  return days === null ? `for ever: ${most}` : `${days} days: ${most}`
}

function filesText(files: NonNullable<CampaignDescription['preflight']>['files']): string {
  const waiting = files.filter(({ uploaded }) => !uploaded).length
  const uploaded = files.length - waiting
  const texts = [uploaded > 0 && `${uploaded} at the provider`, waiting > 0 && `${waiting} not uploaded yet`]
  return texts.filter(Boolean).join(', ')
}

const refusedWords = (refused: RunPlan['refused']): string[] =>
  Object.entries(refused).flatMap(([reason, count]) => (count > 0 ? [wordsFor(reason, count)] : []))

/** Of an earlier campaign, who is not sent to again. */
const skippedWords = ({
  skipped_capped,
  skipped_erased,
}: Pick<RunPlan, 'skipped_capped' | 'skipped_erased'>): string[] => [
  ...(skipped_capped > 0 ? [`${skipped_capped} who have had enough marketing`] : []),
  ...(skipped_erased > 0 ? [`${skipped_erased} who were erased`] : []),
]

/** Whom a run again would reach, and whom it skips and why. */
export function planText(plan: RunPlan): string {
  const { matched, recipients, complete, problems } = plan
  const skipped = [...skippedWords(plan), ...refusedWords(plan.refused)]
  return [
    `${recipients} of the ${matched} that are ${plan.class.replace('_', ' ')} would get a message`,
    ...(skipped.length === 0 ? [] : [`; not ${skipped.join(', ')}`]),
    ...(complete ? [] : ['; the list is so long that only its beginning was checked']),
    ...problems.map(({ path, message }) => `; it would be blocked: ${path}: ${message}`),
  ].join('')
}

function wordsFor(reason: string, count: number): string {
  return reason === 'duplicate' ? counted(count, 'duplicate') : `${count} ${WORDS[reason] ?? reason}`
}

const WORDS: Readonly<Record<string, string>> = {
  number: 'with an impossible number',
  parameter: 'with a value missing or not fitting',
  unreadable: 'that cannot be read',
  opted_out: 'who want no advertising',
}

function recipientsOf({ recipients, has_rows }: CampaignDescription): string {
  if ('rows' in recipients) return has_rows ? 'uploaded rows' : 'rows, not uploaded yet'
  if ('class' in recipients) return `those of ${recipients.campaign} that are ${recipients.class}`
  const except = recipients.except.length === 0 ? '' : ` but not ${recipients.except.join(', ')}`
  return `tags ${recipients.tags.join(', ')}${except}`
}

/** Between two lines in a log, unless the state changes. */
const LINE_EVERY_MS = 5_000

/** Shows how far a campaign is: as a bar on a terminal, as lines in a log. */
export function campaignWatch(stderr: Writable): { show(data: unknown): void; stop(): void } {
  const bar = startBar(stderr, BAR, 0, { state: '', rate: 0, left: '-', badly: '' })
  const report = 'isTTY' in stderr && stderr.isTTY === true ? () => {} : lineReporter(stderr)
  return {
    show(data) {
      // A service of another release may tell less, or more.
      const now = campaignDocumentSchema.safeParse(data).data
      if (now === undefined) return
      show(bar, now)
      report(now)
    },
    stop: () => bar.stop(),
  }
}

const BAR = '{state} {bar} {percentage} % | {value} of {total} | {rate} a second | {left} to go | {badly}'

/** Writes a line for what a bar would show. */
function lineReporter(stream: Writable): (now: CampaignDescription) => void {
  let last = { state: '', at: Number.NEGATIVE_INFINITY }
  return ({ state, progress }) => {
    const at = performance.now()
    if (state === last.state && at - last.at < LINE_EVERY_MS) return
    last = { state, at }
    const { total, queued } = progress
    stream.write(`${state}: ${total - queued} of ${total} processed, ${badly(progress)}\n`)
  }
}

const badly = ({ failed, unknown, expired, unconfirmed }: CampaignDescription['progress']): string =>
  `${failed + unknown + expired} failed${unconfirmed === 0 ? '' : `, ${unconfirmed} unconfirmed`}`

function show(bar: SingleBar, { state, progress }: CampaignDescription): void {
  bar.setTotal(progress.total)
  bar.update(progress.total - progress.queued, {
    state,
    rate: Math.round(progress.rate_per_second),
    left: progress.seconds_left === null ? '-' : spanText(progress.seconds_left),
    badly: badly(progress),
  })
}
