// Running the service: lanes. An admin key sees and moves what belongs to its account.
import { z } from 'zod'
import { MAX_RATE, MIN_RATE } from '../../accounts/sender-settings.ts'
import { laneStatusSchema } from '../../lanes/lane-status.ts'
import { noFields, pauseFields, textIdField } from '../fields.ts'
import { route } from '../route.ts'
import { done, doneWith } from './answers.ts'

const access = { in: 'bearer', permission: 'admin', withoutAccount: true } as const
const params = z.object({ lane: textIdField })
const errors = { 404: ['not_found'] } as const

export const admin = {
  lanes: route({
    method: 'get',
    path: '/admin/lanes',
    summary: 'Lists all lanes and their status.',
    access,
    body: { as: 'ignored' },
    answers: { 200: doneWith(z.array(laneStatusSchema)) },
    examples: [
      {
        status: 200,
        answer: {
          status: true,
          message: 'lanes',
          data: [
            {
              lane: 1,
              account: 1,
              number: '447700900001',
              name: 'shop',
              provider: 'partner-api',
              rate: 80,
              paused: false,
              paused_for: '',
              paused_by: '',
              cooldown_until: null,
              cooldown_code: '',
              cooldown_for: '',
              waiting: 0,
              oldest_waiting_at: null,
              delayed: 0,
              active: 0,
              reopened: 0,
              set_aside: 0,
            },
          ],
        },
      },
    ],
  }),
  pause: route({
    method: 'post',
    path: '/admin/lanes/:lane/pause',
    summary: 'Lets nothing more leave the lane but what is in flight.',
    access,
    act: 'lane.pause',
    params,
    body: { as: 'json', schema: pauseFields, mayBeAbsent: true },
    answers: { 200: done },
    errors,
    examples: [
      {
        params: { lane: '1' },
        body: { reason: 'the shop is closed' },
        status: 200,
        answer: { status: true, message: 'paused' },
      },
    ],
  }),
  resume: route({
    method: 'post',
    path: '/admin/lanes/:lane/resume',
    summary: 'Ends the pause and the cooldown of the lane.',
    access,
    act: 'lane.resume',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers: { 200: done },
    errors,
    examples: [{ params: { lane: '1' }, body: {}, status: 200, answer: { status: true, message: 'resumed' } }],
  }),
  rate: route({
    method: 'post',
    path: '/admin/lanes/:lane/rate',
    summary: 'Sets how many messages a second leave the lane, in force for every worker at once.',
    access,
    act: 'lane.rate',
    params,
    body: { as: 'json', schema: z.strictObject({ rate: z.number().min(MIN_RATE).max(MAX_RATE) }) },
    answers: { 200: done },
    errors,
    examples: [
      {
        params: { lane: '1' },
        body: { rate: 40 },
        status: 200,
        answer: { status: true, message: '40 messages per second' },
      },
    ],
  }),
}
