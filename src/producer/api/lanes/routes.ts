// Lanes: one per sender. An admin key sees and controls those of its account.
import { z } from 'zod'
import { MAX_RATE, MIN_RATE } from '../../../model/accounts/sender.ts'
import { deadLetterSchema, laneStatusSchema } from '../../../model/lanes/lane-status.ts'
import { one, page } from '../answers.ts'
import { orNothing, routesOf } from '../define.ts'
import { idPageQuery, pauseFields, senderField } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin', withoutAccount: true } as const
const params = z.object({ lane: senderField.describe('Id, number or name of its sender.') })
const route = routesOf({ access })
const lane = routesOf({ access, forSenders: true, params, shown: { lane: '1' } })

export const lanes = {
  lanes: route.get('/admin/lanes', 'Lists all lanes and their status.', {
    mcp: 'read',
    query: idPageQuery,
    answers: page(laneStatusSchema),
  }),
  show: lane.get('/admin/lanes/:lane', 'Shows a lane and its status.', {
    mcp: 'read',
    answers: one(laneStatusSchema),
    examples: [{ says: 'lane' }],
  }),
  deadLetters: lane.get('/admin/lanes/:lane/dead-letters', 'Lists the dead letters of a lane, the latest first.', {
    mcp: 'read',
    query: idPageQuery,
    answers: page(deadLetterSchema),
  }),
  endCooldown: lane.post('/admin/lanes/:lane/end-cooldown', 'Ends the cooldown of a lane; a pause stays.', {
    act: 'lane.end_cooldown',
    answers: one(laneStatusSchema),
    examples: [{ body: {}, says: 'cooldown ended' }],
  }),
  pause: lane.post('/admin/lanes/:lane/pause', 'Pauses a lane: only what is in flight still leaves.', {
    act: 'lane.pause',
    body: orNothing(pauseFields),
    answers: one(laneStatusSchema),
    examples: [{ body: { reason: 'the shop is closed' }, says: 'paused' }],
  }),
  resume: lane.post('/admin/lanes/:lane/resume', 'Ends the pause and the cooldown of a lane.', {
    act: 'lane.resume',
    answers: one(laneStatusSchema),
    examples: [{ body: {}, says: 'resumed' }],
  }),
  rate: lane.post(
    '/admin/lanes/:lane/rate',
    'Sets how many messages leave the lane per second, at once for every worker.',
    {
      act: 'lane.rate',
      body: z.strictObject({ rate: z.number().min(MIN_RATE).max(MAX_RATE) }),
      answers: one(laneStatusSchema),
      examples: [{ body: { rate: 40 }, says: '40 messages per second' }],
    },
  ),
}
