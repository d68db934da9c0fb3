// Lanes. The command line calls the same functions.

import { assertForSender } from '../../../accounts/check-key.ts'
import { listSenders, type Sender, setSenderRate } from '../../../accounts/senders.ts'
import { laneOf, laneStatuses, pauseLane, resumeLane } from '../../../lanes/control.ts'
import { endLaneCooldown } from '../../../lanes/cooldown.ts'
import { deadLettersOf } from '../../../lanes/dead-letters.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { reasonForActivity } from '../../../model/lanes/pause-reason.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import type { ContextOf } from '../../route.ts'
import { lists, says, shows } from '../answers.ts'
import { byId, found, pageOfAll } from '../requests.ts'
import { lanes } from './routes.ts'

type LaneCall = Pick<ContextOf<typeof lanes.resume>, 'params' | 'caller' | 'audit'>

export function laneRoutes({ redis, queues }: { redis: Redis; queues: LaneQueues }): Route[] {
  /** The lane of the path, if it is the caller's. Acts on it go to the audit log of its account. */
  async function ownSender({ params, caller, audit }: LaneCall): Promise<Sender> {
    const sender = found(await laneOf(redis, params.lane, accountOf(caller)), 'The lane')
    assertForSender(caller, sender.id)
    audit({ account: sender.account })
    return sender
  }
  const ownLane = async (call: LaneCall): Promise<number> => (await ownSender(call)).id

  return bind(lanes)({
    async lanes({ caller, query }) {
      const { data, next } = pageOfAll(await listSenders(redis, accountOf(caller)), byId, query)
      return lists({ data: await laneStatuses(redis, data), next })
    },
    async show(call) {
      const [lane] = await laneStatuses(redis, [await ownSender(call)])
      return shows('lane', found(lane, 'The lane'))
    },
    async deadLetters(call) {
      const { limit, cursor: offset = 0 } = call.query
      const { letters, isLast } = await deadLettersOf(queues, await ownLane(call), { offset, limit })
      return lists({ data: letters, next: isLast ? null : String(offset + limit) })
    },
    async endCooldown(call) {
      await endLaneCooldown(redis, await ownLane(call))
      return says('cooldown ended')
    },
    async pause(call) {
      const { caller, body } = call
      call.audit({ detail: reasonForActivity(body.reason) })
      await pauseLane(redis, queues, await ownLane(call), { reason: body.reason, by: caller.name || caller.id })
      return says('paused')
    },
    async resume(call) {
      await resumeLane(redis, queues, await ownLane(call))
      return says('resumed')
    },
    async rate(call) {
      const { rate } = call.body
      call.audit({ detail: `${rate}/s` })
      await setSenderRate(redis, await ownLane(call), rate)
      return says(`${rate} messages per second`)
    },
  })
}
