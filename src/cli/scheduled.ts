// messages scheduled: what is to leave later, messages and campaigns, the next first.
import { sendersNamed } from '../accounts/named-senders.ts'
import { listSenders } from '../accounts/senders.ts'
import { findScheduled, type Scheduled, type ScheduledEntry, showScheduled } from '../admin/scheduled.ts'
import { isAfter } from '../lanes/delayed-jobs.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { noSender } from './session.ts'
import { accountId, instant, limitOption, senderName } from './values.ts'
import { option, verb } from './verb.ts'

const COLUMNS: Columns<Scheduled> = {
  AT: ({ at }) => clockTime(at),
  WHAT: (entry) => (entry.kind === 'message' ? entry.message.id : entry.campaign.id),
  SENDER: (entry) => (entry.kind === 'message' ? entry.message.sender : entry.campaign.sender),
  TO: (entry) => (entry.kind === 'message' ? entry.message.to : peopleOf(entry.campaign.preflight?.recipients)),
  NAME: (entry) => (entry.kind === 'message' ? entry.message.kind : entry.campaign.name),
}

const peopleOf = (count: number | undefined): string => (count === 1 ? '1 person' : `${count ?? 'several'} people`)

export const scheduledVerb = verb({
  usage: 'scheduled',
  summary: 'list what is to leave later, messages and campaigns, the next first',
  example: '--account 1 --since tomorrow --until +7d',
  values: {
    account: option(accountId, 'id', 'account that sends it'),
    sender: option(senderName.optional(), 'sender', 'only what leaves from one sender, by its number, name or id'),
    since: option(instant.optional(), 'time', 'only what leaves at or after this time'),
    until: option(instant.optional(), 'time', 'only what leaves before this time'),
    limit: limitOption(),
  },
  async run({ account, sender, since: sinceMs = 0, until: untilMs = Number.POSITIVE_INFINITY, limit }, context) {
    const { redis, config } = context
    const all = await listSenders(redis, account)
    const senders = sender === undefined ? all : sendersNamed(all, sender)
    if (sender !== undefined && senders.length === 0) throw noSender(sender)
    const found = await findScheduled(redis, { account, senders, sinceMs, untilMs }, { most: limit })
    const inOrder = found.sort((one: ScheduledEntry, other) => (isAfter(one.position, other.position) ? 1 : -1))
    const next = inOrder.slice(0, limit).map((entry) => showScheduled(redis, entry, { senders, lists: config }))
    const shown = (await Promise.all(next)).flatMap((entry) => entry ?? [])
    return listed(shown, COLUMNS, 'Nothing is to leave later.')
  },
})
