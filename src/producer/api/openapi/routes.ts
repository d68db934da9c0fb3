// What the interface is, told by the service itself: for programs and for people.
import { z } from 'zod'
import { route } from '../../route.ts'

const access = { in: 'open', why: 'says what anybody can read in the repository, and nothing of an account' } as const
const headers = z.object({ 'If-None-Match': z.string().optional() })

export const description = {
  openapi: route({
    method: 'get',
    path: '/openapi.json',
    summary: 'Describes every address in OpenAPI 3.1.',
    access,
    headers,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['application/json'] }, 304: { contentTypes: ['*'] } },
    examples: [{ status: 200 }],
  }),
  docs: route({
    method: 'get',
    path: '/docs',
    summary: 'Shows the same as a page for people, without scripts and without any other host.',
    access,
    headers,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/html'] }, 304: { contentTypes: ['*'] } },
    examples: [{ status: 200 }],
  }),
}
