// Running the service: lanes. An admin key sees and moves what belongs to its account.
//
//   GET  /admin/lanes                  how every lane stands
//   POST /admin/lanes/{lane}/pause     { reason? }: nothing more leaves it but what is in flight
//   POST /admin/lanes/{lane}/resume    ends its pause and its cooldown
//   POST /admin/lanes/{lane}/rate      { rate }: messages per second
import { z } from 'zod'
import { MAX_RATE, MIN_RATE } from '../../accounts/store/senders.ts'
import { laneOf, listLanes, pauseLane, resumeLane, setLaneRate } from '../../lanes/control.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { textUpTo } from '../../messages/bounded-text.ts'
import type { Redis } from '../../redis/connect.ts'
import { notFound } from '../errors.ts'
import { fieldsOf, textIdField } from '../fields.ts'
import type { Access, Call, Route } from '../route.ts'

interface AdminDeps {
  redis: Redis
  queues: LaneQueues
}

const access: Access = { in: 'bearer', permission: 'admin' }
const lanePath = z.object({ lane: textIdField })
const pauseBody = z.strictObject({ reason: textUpTo(200).default('by hand') })
const noFields = z.strictObject({})
const rateBody = z.strictObject({ rate: z.number().min(MIN_RATE).max(MAX_RATE) })

export function adminRoutes({ redis, queues }: AdminDeps): Route[] {
  const onLane = (
    verb: string,
    act: (lane: number, call: Call) => Promise<string>,
    body: Route['body'] = { as: 'json' },
  ): Route => ({
    method: 'post',
    path: `/admin/lanes/:lane/${verb}`,
    access,
    body,
    handle: async (call) => ({ body: { status: true, message: await act(await ownLane(redis, call), call) } }),
  })
  return [
    {
      method: 'get',
      path: '/admin/lanes',
      access,
      body: { as: 'ignored' },
      handle: async (call) => ({
        body: { status: true, message: 'lanes', data: await listLanes(redis, queues, call.caller.account) },
      }),
    },
    onLane(
      'pause',
      async (lane, call) => {
        await pauseLane(redis, queues, lane, fieldsOf(pauseBody, call.body).reason)
        return 'paused'
      },
      { as: 'json', mayBeAbsent: true },
    ),
    onLane(
      'resume',
      async (lane, call) => {
        fieldsOf(noFields, call.body)
        await resumeLane(redis, queues, lane)
        return 'resumed'
      },
      { as: 'json', mayBeAbsent: true },
    ),
    onLane('rate', async (lane, call) => {
      const { rate } = fieldsOf(rateBody, call.body)
      await setLaneRate(redis, queues, lane, rate)
      return `${rate} messages per second`
    }),
  ]
}

/** The lane of the path, when it is the caller's. */
async function ownLane(redis: Redis, call: Call): Promise<number> {
  const { lane } = fieldsOf(lanePath, call.params)
  if (!(await laneOf(redis, lane, call.caller.account))) throw notFound('The lane')
  return lane
}
