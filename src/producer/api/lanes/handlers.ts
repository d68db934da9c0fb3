// Lanes. The command line calls the same functions.

import { assertForSender } from '../../../accounts/check-key.ts'
import { findNamedSender } from '../../../accounts/named-senders.ts'
import { findSender, listSenders, type Sender, setSenderRate } from '../../../accounts/senders.ts'
import { laneStatuses, pauseLane, resumeLane } from '../../../lanes/control.ts'
import { endLaneCooldown } from '../../../lanes/cooldown.ts'
import { deadLettersOf } from '../../../lanes/dead-letters.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { reasonForActivity } from '../../../model/lanes/pause-reason.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import type { ContextOf } from '../../route.ts'
import { lists, shows } from '../answers.ts'
import { byId, found, pageOfAll } from '../requests.ts'
import { lanes } from './routes.ts'

type LaneCall = Pick<ContextOf<typeof lanes.resume>, 'params' | 'caller' | 'audit'>

export function laneRoutes({ redis, queues }: { redis: Redis; queues: LaneQueues }): Route[] {
  /** The lane of the path, if it is the caller's. Acts on it go to the audit log of its account. */
  async function ownSender({ params, caller, audit }: LaneCall): Promise<Sender> {
    const sender = found(await findNamedSender(redis, params.lane, { account: accountOf(caller) }), 'The lane')
    assertForSender(caller, sender.id)
    audit({ account: sender.account, target: String(sender.id) })
    return sender
  }
  const ownLane = async (call: LaneCall): Promise<number> => (await ownSender(call)).id

  /** The lane of the path as it is once this is done. */
  async function after(message: string, call: LaneCall, act: (lane: number) => Promise<unknown>) {
    const { id } = await ownSender(call)
    await act(id)
    const [now] = await laneStatuses(redis, [found(await findSender(redis, id), 'The lane')])
    return shows(message, found(now, 'The lane'))
  }

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
    endCooldown: (call) => after('cooldown ended', call, (lane) => endLaneCooldown(redis, lane)),
    async pause(call) {
      const { caller, body } = call
      call.audit({ detail: reasonForActivity(body.reason) })
      const by = caller.name || caller.id
      return after('paused', call, (lane) => pauseLane(redis, queues, lane, { reason: body.reason, by }))
    },
    resume: (call) => after('resumed', call, (lane) => resumeLane(redis, queues, lane)),
    async rate(call) {
      const { rate } = call.body
      call.audit({ detail: `${rate}/s` })
      return after(`${rate} messages per second`, call, (lane) => setSenderRate(redis, lane, rate))
    },
  })
}
