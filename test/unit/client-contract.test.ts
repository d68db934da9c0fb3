// Pins: client and service read one contract, although neither imports the other. What has a type is held equal by the
// compiler (npm run check), names and answers by the tests below.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { CampaignDefinition, CampaignDescription } from '../../packages/client/src/campaign.ts'
import * as client from '../../packages/client/src/contract.ts'
import type { ServiceContent, TemplateContent } from '../../packages/client/src/messages.ts'
import type { OptOut } from '../../packages/client/src/opt-outs.ts'
import type { ReceivedParts } from '../../packages/client/src/received-parts.ts'
import { CAMPAIGN_STATES } from '../../src/campaigns/campaign.ts'
import type { describeCampaign } from '../../src/campaigns/commands/describe.ts'
import type { definitionSchema } from '../../src/campaigns/definition.ts'
import {
  contractOf,
  FORMER_INTAKE_QUEUE,
  INTAKE_QUEUE,
  INTAKE_VERSION,
  type IntakeContract,
  intakeAnswers,
  intakeJobSchema,
  type intakeRefusalSchema,
} from '../../src/jobs/intake.ts'
import type { serviceContentSchema, templateMessageContent } from '../../src/messages/content.ts'
import { STATES } from '../../src/messages/lifecycle.ts'
import type { receivedPartsSchema } from '../../src/messages/received.ts'
import type { optOutSchema } from '../../src/people/opt-outs/opt-out.ts'
import { INTAKE_BEGINS } from '../support/state/queues.ts'

/** `true` when each of two types can stand for the other. */
type Alike<A, B> = [A] extends [B] ? ([B] extends [A] ? true : 'the service takes less') : 'the client takes more'
type Fields<J extends client.IntakeJob> = Omit<z.input<IntakeContract[J]>, 'v' | 'api_key'>
type Described = Awaited<ReturnType<typeof describeCampaign>>

/** Does not compile when one of them differs. */
const alike: [
  Alike<ServiceContent, z.input<typeof serviceContentSchema>>,
  Alike<TemplateContent, z.input<typeof templateMessageContent>>,
  Alike<CampaignDefinition, z.input<typeof definitionSchema>>,
  Alike<client.IntakeJob, z.infer<typeof intakeJobSchema>>,
  Alike<client.Refusal, z.infer<typeof intakeRefusalSchema>>,
  Described extends CampaignDescription ? true : 'the description promises more than the service tells',
  Alike<client.IntakeRequests['send'], Fields<'send'>>,
  Alike<client.IntakeRequests['status'], Fields<'status'>>,
  Alike<client.IntakeRequests['campaign-schedule'], Fields<'campaign-schedule'>>,
  Alike<client.IntakeRequests['campaign-pause'], Fields<'campaign-pause'>>,
  Alike<client.IntakeRequests['campaign-start'], Fields<'campaign-start'>>,
  Alike<client.IntakeAnswers['send'], z.infer<typeof intakeAnswers.send>>,
  Alike<client.IntakeAnswers['status'], z.infer<typeof intakeAnswers.status>>,
  Alike<client.IntakeAnswers['campaign-start'], z.infer<(typeof intakeAnswers)['campaign-start']>>,
  Alike<OptOut, z.infer<typeof optOutSchema>>,
  Alike<keyof ReceivedParts, keyof z.infer<typeof receivedPartsSchema>>,
] = [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]

test('queue, version, names of jobs and states are the same', () => {
  expect(new Set(alike)).toEqual(new Set([true]))
  expect(client.INTAKE_QUEUE).toBe(INTAKE_QUEUE)
  expect(client.FORMER_INTAKE_QUEUE).toBe(FORMER_INTAKE_QUEUE)
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

test.each(intakeJobSchema.options)('the answer to %s is taken with fields that a later release adds', (job) => {
  const answer = { ...(answers[job] ?? campaignNow), added_later: 1 }
  expect(intakeAnswers[job].safeParse(answer).success).toBe(true)
  expect(client.isAnswer[job](answer)).toBe(true)
})

test.each(intakeJobSchema.options)('what the service would not answer to %s is found', (job) => {
  const answer = answers[job] ?? campaignNow
  const wrong = Object.keys(answer).map((name) => ({ ...answer, [name]: { odd: true } }))
  for (const odd of [null, 'text', [], ...wrong]) expect(client.isAnswer[job](odd)).toBe(false)
})

test('the packed client has the version of the service', () => {
  const versionOf = (path: string) => z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8')))
  expect(versionOf('packages/client/package.json')).toEqual(versionOf('package.json'))
})
