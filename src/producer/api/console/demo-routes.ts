// Made-up traffic of the demo.
import { z } from 'zod'
import { route } from '../../route.ts'
import { toLook } from './routes.ts'

const state = z.strictObject({
  status: z.literal(true),
  data: z.strictObject({
    available: z.boolean().describe('Only where `npm start` has made demo data, and never in production.'),
    running: z.boolean().describe('It ends by itself after five minutes.'),
  }),
})

export const consoleDemo = {
  show: route({
    method: 'get',
    path: '/console/demo',
    summary: 'Tells whether there is made-up traffic to be had, and whether it runs.',
    access: toLook,
    forSenders: true,
    body: { as: 'ignored' },
    answers: { 200: state },
    examples: [{ status: 200, answer: { status: true, data: { available: true, running: false } } }],
  }),
  run: route({
    method: 'post',
    path: '/console/demo',
    summary: 'Starts or stops made-up traffic: messages that fail or are throttled, and a campaign.',
    access: { in: 'bearer', permission: 'admin', withoutAccount: true },
    act: 'demo.start',
    body: { as: 'json', schema: z.strictObject({ running: z.boolean() }) },
    answers: { 200: state },
    errors: { 404: ['not_found'] },
    examples: [
      { body: { running: true }, status: 200, answer: { status: true, data: { available: true, running: true } } },
    ],
  }),
}
