// Running the service: lanes. An admin key sees and moves what belongs to its account.
import { z } from 'zod'
import { MAX_RATE, MIN_RATE } from '../../../accounts/sender-settings.ts'
import { deadLetterSchema } from '../../../lanes/dead-letters.ts'
import { laneStatusSchema } from '../../../lanes/lane-status.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { noFields, pageFields, pauseFields, textIdField } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin', withoutAccount: true } as const
const params = z.object({ lane: textIdField })
const page = z.strictObject({ limit: pageFields.limit, cursor: textIdField.optional() })
const errors = { 404: ['not_found'] } as const

const exampleLane = {
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
}

export const admin = {
  lanes: route({
    method: 'get',
    path: '/admin/lanes',
    summary: 'Lists all lanes and their status.',
    access,
    query: page,
    body: { as: 'ignored' },
    answers: { 200: listOf(laneStatusSchema) },
    examples: [{ status: 200, answer: { status: true, data: [exampleLane], next: null } }],
  }),
  show: route({
    method: 'get',
    path: '/admin/lanes/:lane',
    summary: 'Shows a lane and its status.',
    access,
    forSenders: true,
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(laneStatusSchema) },
    errors,
    examples: [{ params: { lane: '1' }, status: 200, answer: { status: true, message: 'lane', data: exampleLane } }],
  }),
  deadLetters: route({
    method: 'get',
    path: '/admin/lanes/:lane/dead-letters',
    summary: 'Lists the dead letters of a lane with their reasons, the latest first.',
    access,
    forSenders: true,
    params,
    query: page,
    body: { as: 'ignored' },
    answers: { 200: listOf(deadLetterSchema) },
    errors,
    examples: [{ params: { lane: '1' }, status: 200, answer: { status: true, data: [], next: null } }],
  }),
  endCooldown: route({
    method: 'post',
    path: '/admin/lanes/:lane/end-cooldown',
    summary: 'Ends the cooldown of the lane; a pause stays.',
    access,
    forSenders: true,
    act: 'lane.end_cooldown',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers: { 200: done },
    errors,
    examples: [{ params: { lane: '1' }, body: {}, status: 200, answer: { status: true, message: 'cooldown ended' } }],
  }),
  pause: route({
    method: 'post',
    path: '/admin/lanes/:lane/pause',
    summary: 'Lets nothing more leave the lane but what is in flight.',
    access,
    forSenders: true,
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
    forSenders: true,
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
    forSenders: true,
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
