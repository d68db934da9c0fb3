// One request to a route, with a key and no more than that in it: the first one makes what a process makes only once.
import type { DeclaredRoute } from '../../support/route-table.ts'

/** The status of the answer, whose body has been read. */
export async function askOnce(
  url: string,
  { method, path, key, body }: DeclaredRoute,
  apiKey: string,
): Promise<number> {
  const hasBody = method !== 'GET' && body !== 'other'
  const answer = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === 'bearer' && { authorization: `Bearer ${apiKey}` }),
      ...(hasBody && { 'content-type': 'application/json' }),
    },
    ...(hasBody && { body: JSON.stringify({ api_key: apiKey }) }),
  })
  await answer.arrayBuffer()
  return answer.status
}
