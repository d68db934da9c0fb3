// lanes: list, pause, resume, end-cooldown, dead-letters, rate. A lane has the id of its sender, and is named like it.

import { grantedRate, setSenderRate } from '../accounts/senders.ts'
import { counted } from '../kernel/fault.ts'
import { laneStatuses, listLanes, pauseLane, resumeLane } from '../lanes/control.ts'
import { endLaneCooldown } from '../lanes/cooldown.ts'
import { deadLettersOf } from '../lanes/dead-letters.ts'
import { countPlaces } from '../lanes/places.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { waitingOn } from '../lanes/stats.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { LaneStatus } from '../model/lanes/lane-status.ts'
import { NO_REASON, reasonForActivity } from '../model/lanes/pause-reason.ts'
import type { Redis } from '../redis/connect.ts'
import { CLOCK_CHECK_MS, trustClock } from '../redis/trusted-clock.ts'
import { spanText } from '../telemetry/durations.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { confirm, laneQueues, personHere, senderNamed } from './session.ts'
import { accountId, nameUpTo, rate, senderName } from './values.ts'
import { type Answer, type CommandContext, flag, option, type Verb, verb } from './verb.ts'

const DEAD_LETTERS_SHOWN = 50

const COLUMNS: Columns<LaneStatus> = {
  LANE: ({ lane }) => lane,
  ACCOUNT: ({ account }) => account,
  NUMBER: ({ number }) => number,
  NAME: ({ name }) => name,
  RATE: ({ rate }) => rate,
  WAITING: ({ waiting }) => waiting,
  OLDEST: ({ oldest_waiting_at: oldest }) => (oldest === null ? '' : ageOf(oldest)),
  DELAYED: ({ delayed }) => delayed,
  ACTIVE: ({ active }) => active,
  'DEAD LETTERS': ({ set_aside }) => set_aside,
  'COOLDOWN UNTIL': (lane) => cooldownOf(lane),
  'CAMPAIGNS WAIT': ({ campaigns_wait: rest }) => (rest === null ? 'no' : `${rest.why} until ${clockTime(rest.until)}`),
  // A reason may be long: last, it pushes nothing off the screen.
  PAUSED: (lane) => (lane.paused ? pauseOf(lane) : 'no'),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list lanes with their backlog',
    example: '--account 1',
    values: { account: option(accountId.optional(), 'id', 'only those of one account') },
    run: async ({ account }, context) =>
      listed(await listLanes(context.redis, account), COLUMNS, 'There is no sender yet.'),
  }),
  verb({
    usage: 'pause <lane>',
    summary: 'stop sending from a lane; what is in flight still goes out',
    act: 'lane.pause',
    example: '1',
    values: {
      lane: senderName,
      reason: option(nameUpTo(200).default(NO_REASON), 'text', 'reason shown in `lanes list`'),
    },
    run: ({ lane: name, reason }, context) =>
      actOn(name, context, async (redis, queues, lane) => {
        await pauseLane(redis, queues, lane, { reason, by: personHere() })
        return { text: `Lane ${lane} is paused; messages are accepted and wait.`, detail: reasonForActivity(reason) }
      }),
  }),
  onLane('resume', 'end the pause and the cooldown of a lane', async (redis, queues, lane) => {
    const waiting = (await waitingOn(redis, [lane])) + (await countPlaces(redis, lane))
    await resumeLane(redis, queues, lane)
    return { text: `Lane ${lane} is resumed; ${counted(waiting, 'message')} ${waiting === 1 ? 'waits' : 'wait'}.` }
  }),
  onLane('end-cooldown', 'end the cooldown of a lane; a pause stays', async (redis, _queues, lane) => {
    await endLaneCooldown(redis, lane)
    return { text: `The cooldown of lane ${lane} is over, unless its provider asks for another one.` }
  }),
  verb({
    usage: 'dead-letters <lane>',
    summary: `list the latest ${DEAD_LETTERS_SHOWN} dead letters of a lane with their reasons`,
    example: '1',
    values: { lane: senderName },
    async run({ lane: name }, context) {
      const { id: lane } = await senderNamed(context.redis, name)
      const { letters } = await deadLettersOf(await laneQueues(context), lane, {
        offset: 0,
        limit: DEAD_LETTERS_SHOWN,
      })
      const columns: Columns<(typeof letters)[number]> = {
        MESSAGE: ({ id }) => id,
        SINCE: ({ failed_at }) => failed_at,
        REASON: ({ reason }) => reason,
      }
      return listed(letters, columns, `Lane ${lane} has no dead letter.`)
    },
  }),
  verb({
    usage: 'trust-clock',
    summary:
      'go on by the clock of Redis after it has leapt by hours or days; ask for it only once that clock is right',
    act: 'redis.trust_clock',
    example: '',
    values: {},
    async run(_values, { redis }) {
      const off = (await trustClock(redis)).map((ms) => Math.round(ms / 1_000))
      const [first] = off
      return {
        json: { trusted_seconds: off },
        text:
          first === undefined
            ? 'No part doubts the clock of Redis.'
            : `The clock of Redis, which leapt by ${spanText(Math.abs(first))}, is believed within ${CLOCK_CHECK_MS / 1_000} s.`,
        acted: first === undefined ? undefined : { account: NO_ACCOUNT, detail: `${first} s` },
      }
    },
  }),
  verb({
    usage: 'rate <lane> <number>',
    summary: 'change the pace of a lane at once, in messages per second',
    act: 'lane.rate',
    example: '1 20',
    values: {
      lane: senderName,
      number: rate,
      yes: flag('do not ask before a rate that is above what WhatsApp grants to the number'),
    },
    async run({ lane: name, number, yes }, context) {
      const sender = await senderNamed(context.redis, name)
      const { id: lane, account } = sender
      if (!yes) await confirmRate(context, number, grantedRate(sender))
      await setSenderRate(context.redis, lane, number)
      return {
        json: { lane, rate: number },
        text: `Lane ${lane} sends up to ${number} messages a second.`,
        acted: { account, target: String(lane), detail: `${number}/s` },
      }
    },
  }),
]

/** Asks before a rate that WhatsApp answers with refusals. */
export async function confirmRate(context: CommandContext, rate: number, granted: number): Promise<void> {
  if (rate <= granted) return
  await confirm(context, {
    sentence:
      `WhatsApp takes ${granted.toLocaleString('en')} messages a second from this number, as far as it has reported; ` +
      `of ${rate.toLocaleString('en')} it refuses some, and the lane cools down`,
    declined: 'The rate is what it was.',
  })
}

/** What was done to a lane, in a sentence; `detail` for the activity. */
type LaneAct = (
  redis: Redis,
  queues: LaneQueues,
  lane: number,
) => Promise<{ text: string; detail?: string | undefined }>

/** A verb that does one thing to one lane. */
function onLane(name: string, summary: string, act: LaneAct): Verb {
  return verb({
    usage: `${name} <lane>`,
    summary,
    act: `lane.${name.replace('-', '_')}`,
    example: '1',
    values: { lane: senderName },
    run: ({ lane }, context) => actOn(lane, context, act),
  })
}

/** Does something to the lane of this name, and shows the lane as it is then. */
async function actOn(name: string, context: CommandContext, act: LaneAct): Promise<Answer> {
  const { redis } = context
  const queues = await laneQueues(context)
  const sender = await senderNamed(redis, name)
  const { id: lane, account } = sender
  const { text, detail } = await act(redis, queues, lane)
  const [now] = await laneStatuses(redis, [sender])
  return { json: now, text, acted: { account, target: String(lane), detail } }
}

/** Of a refusal the reason is a sentence of the provider, with its full stop. */
const pauseOf = ({ paused_for, paused_by, paused_at }: LaneStatus): string =>
  [
    paused_for.replace(/\.$/, '') || 'yes',
    paused_by && `by ${paused_by}`,
    paused_at !== null && `since ${clockTime(paused_at)}`,
  ]
    .filter(Boolean)
    .join(', ')

const cooldownOf = ({ cooldown_until, cooldown_code }: LaneStatus): string =>
  cooldown_until === null ? 'none' : [cooldown_until, cooldown_code].filter(Boolean).join(' ')

const ageOf = (time: string): string => spanText(Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1_000)))
