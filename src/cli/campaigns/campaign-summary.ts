// A campaign as lines for a terminal.

import { isBeforeStart } from '../../campaigns/campaign.ts'
import type { CampaignDescription } from '../../campaigns/commands/campaign-document.ts'
import { counted } from '../../messages/fault.ts'
import { STATES } from '../../messages/lifecycle.ts'
import { formatDuration } from '../duration.ts'
import { keyValueTable } from '../table.ts'

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
    ['To', recipientsOf(campaign)],
    ['Scheduled', campaign.scheduled_at ?? ''],
    ['Started', campaign.started_at ?? ''],
    ['Ended', campaign.ended_at ?? ''],
    ['Valid until', campaign.valid_until ?? ''],
    ...(preflight === undefined ? [] : preflightFacts(preflight, campaign.ended_at ?? campaign.started_at)),
    ['Recipients', String(progress.total)],
    // Before the start nobody is in a queue, and a line that says so would have people look for their messages.
    ...(isBeforeStart(campaign.state)
      ? []
      : STATES.map((state) => [`  ${state}`, progress[state] === 0 ? '' : String(progress[state])] as const)),
    ['Pace', pace === 0 ? '' : `${counted(pace, 'message')} a second`],
    [
      'Throttled to',
      progress.held_to === null ? '' : `${Math.round(progress.held_to)} a second, throttled by the provider`,
    ],
    [
      'To go',
      campaign.state === 'running' && progress.seconds_left !== null ? formatDuration(progress.seconds_left) : '',
    ],
  ])
}

function preflightFacts(
  preflight: NonNullable<CampaignDescription['preflight']>,
  begun: string | null,
): [string, string][] {
  const refused = Object.entries(preflight.refused).filter(([, count]) => count > 0)
  return [
    ['Checked', preflight.checked_at ?? ''],
    ...preflight.problems.map(({ path, message }): [string, string] => ['Problem', `${path}: ${message}`]),
    ['Rejected', refused.map(([reason, count]) => wordsFor(reason, count)).join(', ')],
    ['Excluded', preflight.excluded === 0 ? '' : `${preflight.excluded} by tag`],
    // Once it has begun, its progress says when it ends.
    [
      'Estimated',
      begun === null && preflight.problems.length === 0
        ? `${formatDuration(preflight.seconds)} at ${preflight.rate} messages a second, until ${preflight.estimated_end}`
        : '',
    ],
    ['Would expire', preflight.would_expire === 0 ? '' : `${preflight.would_expire} before their turn`],
  ]
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
