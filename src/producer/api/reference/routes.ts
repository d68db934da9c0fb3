// The description of the interface: for programs and for people.
import { z } from 'zod'
import { routesOf } from '../define.ts'

const route = routesOf({
  access: { in: 'open', why: 'holds what anybody can read in the repository, and nothing of an account' },
})
const headers = z.object({ 'If-None-Match': z.string().optional() })
const served = (type: string) => ({ 200: { contentTypes: [type] }, 304: { contentTypes: ['*'] } })

export const reference = {
  openapi: route.get('/openapi.json', 'Describes every address in OpenAPI 3.1.', {
    headers,
    answers: served('application/json'),
  }),
  docs: route.get('/docs', 'Shows the same as pages with a search, without any other host.', {
    headers,
    answers: served('text/html'),
  }),
}
