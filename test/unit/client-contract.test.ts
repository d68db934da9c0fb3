// Pins: client and service read one contract. The client takes its types from the service; names and answers, of which it
// has a reading of its own, are held equal by the tests below.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import * as client from '../../packages/client/src/contract.ts'
import { contractOf, INTAKE_QUEUE, INTAKE_VERSION, intakeAnswers, intakeJobSchema } from '../../src/jobs/intake.ts'
import { CAMPAIGN_STATES } from '../../src/model/campaigns/lifecycle.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { INTAKE_BEGINS } from '../support/state/queues.ts'

test('queue, version, names of jobs and states are the same', () => {
  expect(client.INTAKE_QUEUE).toBe(INTAKE_QUEUE)
  expect(client.INTAKE_PREFIX).toBe(INTAKE_BEGINS)
  expect(client.INTAKE_VERSION).toBe(INTAKE_VERSION)
  expect(Object.keys(client.isAnswer).sort()).toEqual([...intakeJobSchema.options].sort())
  expect(client.MESSAGE_STATES).toEqual(STATES)
  expect(client.CAMPAIGN_STATES).toEqual(CAMPAIGN_STATES)
})

test('the service reads the version that the client writes', () => {
  expect(contractOf({ v: client.INTAKE_VERSION }).ok).toBe(true)
})

const answers: Record<string, object> = {
  send: { message_id: 'msg_1_x' },
  status: { status: 'sent', error_message: null },
  'campaign-show': { id: 'cmp_1_1', state: 'draft', progress: { total: 0 } },
}
const campaignNow = { campaign_id: 'cmp_1_1', state: 'running' }

test.each(intakeJobSchema.options)('the answer to %s is accepted with fields that a later release adds', (job) => {
  const answer = { ...(answers[job] ?? campaignNow), added_later: 1 }
  expect(intakeAnswers[job].safeParse(answer).success).toBe(true)
  expect(client.isAnswer[job](answer)).toBe(true)
})

test.each(intakeJobSchema.options)('an answer to %s that the service never gives is detected', (job) => {
  const answer = answers[job] ?? campaignNow
  const wrong = Object.keys(answer).map((name) => ({ ...answer, [name]: { odd: true } }))
  for (const odd of [null, 'text', [], ...wrong]) expect(client.isAnswer[job](odd)).toBe(false)
})

test('the packed client has the version of the service', () => {
  const versionOf = (path: string) => z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8')))
  expect(versionOf('packages/client/package.json')).toEqual(versionOf('package.json'))
})
