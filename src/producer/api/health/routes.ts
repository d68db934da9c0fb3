// Whether the process lives, and whether the service works.
import { z } from 'zod'
import { route } from '../../route.ts'
import { done, doneWith } from '../answers.ts'

const access = { in: 'open', why: 'tells nothing but whether the service works' } as const

export const health = {
  alive: route({
    method: 'get',
    path: '/healthz',
    summary: 'Answers as long as the process lives.',
    access,
    body: { as: 'ignored' },
    answers: { 200: done },
    examples: [{ status: 200, answer: { status: true, message: 'alive' } }],
  }),
  ready: route({
    method: 'get',
    path: '/readyz',
    summary: 'Tells whether Redis answers, at least one worker is alive, and the producer is not about to stop.',
    access,
    body: { as: 'ignored' },
    answers: { 200: doneWith(z.strictObject({ workers: z.int().positive() })) },
    errors: { 503: ['no_worker', 'stopping'] },
    examples: [{ status: 200, answer: { status: true, message: 'ready', data: { workers: 2 } } }],
  }),
}
