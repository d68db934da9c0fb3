// `flow`: a text with a button that opens a form of WhatsApp's own, a flow.

import { z } from 'zod'
import { type Context, nonEmptyTextUpTo } from '../../kernel/bounded.ts'
import { holdsMoreThan } from '../../kernel/json-size.ts'
import { bodySchema, footerSchema, headerSchema } from './interactive-parts.ts'
import { LIMITS } from './limits.ts'

/** The data of the first screen; the flow defines its fields. */
const screenData = z.record(z.string(), z.unknown()).check(({ value, issues }) => {
  if (!holdsMoreThan(value, LIMITS.flowData)) return
  const { values, characters } = LIMITS.flowData
  issues.push({
    code: 'custom',
    message: `at most ${characters} characters and ${values} values, got more`,
    input: value,
  })
})

function judgeParameters({ value, issues }: { value: { flow_id?: unknown; flow_name?: unknown } } & Context): void {
  if ((value.flow_id === undefined) !== (value.flow_name === undefined)) return
  if (value.flow_id === undefined) {
    issues.push({ code: 'invalid_type', expected: 'string', path: ['flow_id'], input: undefined })
  } else {
    issues.push({ code: 'custom', message: 'expected one of flow_id and flow_name, got both', input: value })
  }
}

const parametersSchema = z
  .object({
    flow_message_version: z.literal('3').default('3'),
    flow_id: nonEmptyTextUpTo(LIMITS.flowName).optional(),
    flow_name: nonEmptyTextUpTo(LIMITS.flowName).optional(),
    flow_token: nonEmptyTextUpTo(LIMITS.flowToken)
      .meta({ description: 'A text of your own: it comes back with the answers, and with each request of the flow.' })
      .optional(),
    flow_cta: nonEmptyTextUpTo(LIMITS.flowButton).meta({ description: 'The label of the button.' }),
    flow_action: z.enum(['navigate', 'data_exchange']).optional(),
    flow_action_payload: z
      .object({ screen: nonEmptyTextUpTo(LIMITS.flowName).optional(), data: screenData.optional() })
      .optional(),
    mode: z.enum(['draft', 'published']).optional(),
  })
  .check(judgeParameters)

export const flowSchema = z
  .object({
    type: z.literal('flow'),
    header: headerSchema.optional(),
    body: bodySchema,
    footer: footerSchema.optional(),
    action: z.object({ name: z.literal('flow'), parameters: parametersSchema }),
  })
  .meta({ id: 'InteractiveFlow' })
