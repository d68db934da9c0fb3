// lanes: list, pause, resume, rate. A lane is what leaves one sender; it has the id of that sender, and is named like it.
import { z } from 'zod'
import { listLanes, pauseLane, resumeLane, setLaneRate } from '../lanes/control.ts'
import { endLaneCooldown } from '../lanes/cooldown.ts'
import { deadLettersOf } from '../lanes/dead-letters.ts'
import type { LaneStatus } from '../lanes/lane-status.ts'
import { counted } from '../messages/fault.ts'
import { type LaneQueues, openLaneQueues } from '../queue/lane/queues.ts'
import { waitingInChunks, waitingOn } from '../queue/lane/waiting.ts'
import type { Redis } from '../redis/connect.ts'
import { existingAccount } from './accounts.ts'
import { formatDuration } from './duration.ts'
import { personHere } from './person.ts'
import { senderNamed } from './sender-named.ts'
import { table } from './table.ts'
import { accountId, nameUpTo, rate, senderName } from './values.ts'
import { type Noun, type Verb, verb } from './verb.ts'

const DEAD_LETTERS_SHOWN = 50

export const lanes: Noun = {
  name: 'lanes',
  summary: 'status of each sender: backlog, pace, pause, cooldown',
  verbs: [
    verb({
      usage: 'list',
      summary: 'list lanes with their backlog',
      example: '--account 1',
      options: { '--account <id>': 'only those of one account' },
      values: z.strictObject({ account: accountId.optional() }),
      run: ({ account }, { redis }) =>
        withQueues(redis, async (queues) => {
          if (account !== undefined) await existingAccount(redis, account)
          const all = await listLanes(redis, queues, account)
          return { json: all, text: all.length === 0 ? 'There is no sender yet.' : tableOf(all) }
        }),
    }),
    onLane(
      'pause <lane>',
      'stop sending from a lane; what is in flight still goes out',
      { '--reason <text>': 'reason shown in `lanes list`' },
      async (redis, queues, lane, { reason }) => {
        await pauseLane(redis, queues, lane, { reason: reason ?? 'by hand', by: personHere() })
        return `Lane ${lane} is paused; messages are accepted and wait.`
      },
    ),
    onLane('resume <lane>', 'end the pause and the cooldown of a lane', {}, async (redis, queues, lane) => {
      const waiting = (await waitingOn(redis, [lane])) + (await waitingInChunks(redis, lane))
      await resumeLane(redis, queues, lane)
      return `Lane ${lane} is resumed; ${counted(waiting, 'message')} ${waiting === 1 ? 'waits' : 'wait'}.`
    }),
    onLane(
      'end-cooldown <lane>',
      'end the cooldown of a lane; a pause stays',
      {},
      async (redis, _queues, lane) => {
        await endLaneCooldown(redis, lane)
        return `The cooldown of lane ${lane} is over, unless its provider asks for another one.`
      },
      'lane.end_cooldown',
    ),
    verb({
      usage: 'dead-letters <lane>',
      summary: `list the latest ${DEAD_LETTERS_SHOWN} dead letters of a lane with their reasons`,
      example: '1',
      options: {},
      values: z.strictObject({ lane: senderName }),
      run: ({ lane: name }, { redis }) =>
        withQueues(redis, async (queues) => {
          const { id: lane } = await senderNamed(redis, name)
          const { letters } = await deadLettersOf(queues, lane, { offset: 0, limit: DEAD_LETTERS_SHOWN })
          const rows = letters.map(({ id, failed_at, reason }) => [id, failed_at ?? '', reason])
          const text =
            rows.length === 0 ? `Lane ${lane} has no dead letter.` : table(['MESSAGE', 'SINCE', 'REASON'], rows)
          return { json: letters, text }
        }),
    }),
    verb({
      usage: 'rate <lane> <number>',
      summary: 'change the pace of a lane at once, in messages per second',
      act: 'lane.rate',
      example: '1 20',
      options: {},
      values: z.strictObject({ lane: senderName, number: rate }),
      run: ({ lane: name, number }, { redis }) =>
        withQueues(redis, async (queues) => {
          const { id: lane, account } = await senderNamed(redis, name)
          await setLaneRate(redis, queues, lane, number)
          return {
            json: { lane, rate: number },
            text: `Lane ${lane} sends up to ${number} messages a second.`,
            acted: { account, target: String(lane), detail: `${number}/s` },
          }
        }),
    }),
  ],
}

/** A verb that does one thing to one lane and says so. */
function onLane(
  usage: string,
  summary: string,
  options: Readonly<Record<string, string>>,
  act: (redis: Redis, queues: LaneQueues, lane: number, how: { reason?: string | undefined }) => Promise<string>,
  action = `lane.${usage.split(' ')[0]}`,
): Verb {
  return verb({
    usage,
    summary,
    act: action,
    example: '1',
    options,
    values: z.strictObject({ lane: senderName, reason: nameUpTo(200).optional() }),
    run: ({ lane: name, reason }, { redis }) =>
      withQueues(redis, async (queues) => {
        const { id: lane, account } = await senderNamed(redis, name)
        const text = await act(redis, queues, lane, { reason })
        const [now] = (await listLanes(redis, queues)).filter((each) => each.lane === lane)
        return { json: now, text, acted: { account, target: String(lane) } }
      }),
  })
}

/** Opens the queues for one piece of work and closes them again. */
export async function withQueues<T>(redis: Redis, work: (queues: LaneQueues) => Promise<T>): Promise<T> {
  const queues = openLaneQueues(redis)
  try {
    return await work(queues)
  } finally {
    await queues.close()
  }
}

const tableOf = (all: readonly LaneStatus[]): string =>
  table(
    [
      'LANE',
      'ACCOUNT',
      'NUMBER',
      'NAME',
      'RATE',
      'WAITING',
      'OLDEST',
      'DELAYED',
      'ACTIVE',
      'DEAD LETTERS',
      'COOLDOWN UNTIL',
      // A reason may be long: last, it pushes nothing off the screen.
      'PAUSED',
    ],
    all.map((lane) => [
      ...[lane.lane, lane.account, lane.number, lane.name, lane.rate].map(String),
      String(lane.waiting),
      lane.oldest_waiting_at === null ? '' : ageOf(lane.oldest_waiting_at),
      ...[lane.delayed, lane.active, lane.set_aside].map(String),
      cooldownOf(lane),
      lane.paused ? pauseOf(lane) : 'no',
    ]),
  )

/** Of a refusal the reason is a sentence of the provider, with its full stop. */
const pauseOf = ({ paused_for, paused_by }: LaneStatus): string =>
  [paused_for.replace(/\.$/, '') || 'yes', paused_by && `by ${paused_by}`].filter(Boolean).join(', ')

const cooldownOf = ({ cooldown_until, cooldown_code }: LaneStatus): string =>
  cooldown_until === null ? 'none' : [cooldown_until, cooldown_code].filter(Boolean).join(' ')

const ageOf = (time: string): string => formatDuration(Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1_000)))
