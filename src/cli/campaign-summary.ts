// A campaign at the command line: the one that was typed, how it is shown, and how it is followed.
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SingleBar } from 'cli-progress'
import type { CampaignDescription, RunPlan } from '../campaigns/commands/campaign-document.ts'
import { describeCampaign } from '../campaigns/commands/describe.ts'
import type { LifecycleDeps } from '../campaigns/commands/moves.ts'
import { counted } from '../kernel/fault.ts'
import { type CampaignId, parseCampaignId } from '../model/campaigns/campaign-id.ts'
import { isBeforeStart } from '../model/campaigns/lifecycle.ts'
import { STATES } from '../model/messages/lifecycle.ts'
import { type Campaign, findCampaign, idOf } from '../recipients/campaigns.ts'
import type { Redis } from '../redis/connect.ts'
import { spanText } from '../telemetry/durations.ts'
import { keyValueTable } from './print.ts'
import { startBar } from './progress.ts'
import { noCampaign } from './session.ts'
import { parser } from './values.ts'
import { type Answer, type CommandContext, verb } from './verb.ts'

export const campaignArgument = parser('the id of a campaign such as cmp_1_7, see `campaigns list`', parseCampaignId)

/** The campaign's record, or a CliFailure when there is none. */
export async function existing(redis: Redis, id: CampaignId): Promise<Campaign> {
  const campaign = await findCampaign(redis, id)
  if (campaign === undefined) throw noCampaign(id)
  return campaign
}

export type Lifecycle = Awaited<ReturnType<typeof lifecycleOf>>

/** What moves a campaign, with what it needs. Loaded only for that: BullMQ takes longer to load than all else. */
export async function lifecycleOf({ redis, config, use }: CommandContext) {
  const [moves, runs, { openCampaignQueue }] = await Promise.all([
    import('../campaigns/commands/moves.ts'),
    import('../campaigns/commands/run-again.ts'),
    import('../campaigns/store/queue.ts'),
  ])
  const deps: LifecycleDeps = { redis, queue: use(openCampaignQueue(redis)), retentionMs: config.retentionMs }
  return { ...moves, ...runs, deps }
}

/** The campaign as it is now; the target of what was done, where the verb did something. */
export async function shown(redis: Redis, id: CampaignId): Promise<Answer & { json: object }> {
  const campaign = await existing(redis, id)
  const json = await describeCampaign(redis, campaign)
  return { json, text: campaignSummary(json), acted: { account: campaign.account, target: idOf(id) } }
}

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

const ASK_EVERY_MS = 200
/** Between two lines in a log, unless the state changes. */
const LINE_EVERY_MS = 5_000

export const watchVerb = verb({
  usage: 'watch <id>',
  summary: 'follow a campaign until it is done, paused or cancelled',
  example: 'cmp_1_7',
  values: { id: campaignArgument },
  run: async ({ id }, { redis, stderr }) => {
    const bar = startBar(stderr, BAR, 0, { state: '', rate: 0, left: '-', badly: '' })
    const report = 'isTTY' in stderr && stderr.isTTY === true ? () => {} : lineReporter(stderr)
    try {
      for (;;) {
        const now = await describeCampaign(redis, await existing(redis, id))
        show(bar, now)
        report(now)
        if (!['checking', 'scheduled', 'running'].includes(now.state)) break
        await sleep(ASK_EVERY_MS)
      }
    } finally {
      bar.stop()
    }
    return shown(redis, id)
  },
})

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
