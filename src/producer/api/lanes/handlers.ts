// Running the service: lanes. Commands are the same as those of the command line.

import { listSenders, type Sender } from '../../../accounts/store/senders.ts'
import { laneOf, lanesOf, pauseLane, resumeLane, setLaneRate } from '../../../lanes/control.ts'
import { endLaneCooldown } from '../../../lanes/cooldown.ts'
import { deadLettersOf } from '../../../lanes/dead-letters.ts'
import { assertForSender } from '../../../messages/accept/check-key.ts'
import type { LaneQueues } from '../../../queue/lane/queues.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-for.ts'
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import type { CallOf } from '../../route.ts'
import { byId, pageOfAll } from '../pages.ts'
import { admin } from './routes.ts'

interface AdminDeps {
  redis: Redis
  queues: LaneQueues
}

type LaneCall = Pick<CallOf<typeof admin.resume>, 'params' | 'caller' | 'note'>

/** The routes of routes/admin.ts. */
export function adminRoutes({ redis, queues }: AdminDeps): Route[] {
  /** The lane of the path, when it is the caller's; what is done to it is told to its account. */
  async function ownSender({ params, caller, note }: LaneCall): Promise<Sender> {
    const sender = await laneOf(redis, params.lane, accountOf(caller))
    if (sender === undefined) throw notFound('The lane')
    assertForSender(caller, sender.id)
    note({ account: sender.account })
    return sender
  }
  const ownLane = async (call: LaneCall): Promise<number> => (await ownSender(call)).id

  return bind(admin)({
    async lanes({ caller, query }) {
      const all = await listSenders(redis, accountOf(caller))
      const { data: senders, next } = pageOfAll(all, byId, query)
      return { body: { status: true, data: await lanesOf(redis, queues, senders), next } }
    },
    async show(call) {
      const [lane] = await lanesOf(redis, queues, [await ownSender(call)])
      if (lane === undefined) throw notFound('The lane')
      return { body: { status: true, message: 'lane', data: lane } }
    },
    async deadLetters(call) {
      const { limit, cursor: offset = 0 } = call.query
      const { letters, isLast } = await deadLettersOf(queues, await ownLane(call), { offset, limit })
      return { body: { status: true, data: letters, next: isLast ? null : String(offset + limit) } }
    },
    async endCooldown(call) {
      await endLaneCooldown(redis, await ownLane(call))
      return { body: { status: true, message: 'cooldown ended' } }
    },
    async pause(call) {
      const { name, id } = call.caller
      await pauseLane(redis, queues, await ownLane(call), { reason: call.body.reason, by: name || id })
      return { body: { status: true, message: 'paused' } }
    },
    async resume(call) {
      await resumeLane(redis, queues, await ownLane(call))
      return { body: { status: true, message: 'resumed' } }
    },
    async rate(call) {
      const { rate } = call.body
      call.note({ detail: `${rate}/s` })
      await setLaneRate(redis, queues, await ownLane(call), rate)
      return { body: { status: true, message: `${rate} messages per second` } }
    },
  })
}
