// The routes of an application as it runs, read from its own router.
import { channel } from 'node:diagnostics_channel'
import { Server } from 'node:http'
import { z } from 'zod'

const layers = z.array(
  z.object({
    route: z.object({ path: z.string(), stack: z.array(z.object({ method: z.string().optional() })) }).optional(),
  }),
)

/** `GET /folders/:id` of every route of the application that this process serves at `url`. */
export async function routesOf(url: string): Promise<string[]> {
  const requests = channel('http.server.request.start')
  let seen: unknown
  const see = (message: unknown) => {
    seen ??= message
  }
  requests.subscribe(see)
  await (await fetch(`${url}/healthz`)).text()
  requests.unsubscribe(see)

  const server: unknown = Reflect.get(Object(seen), 'server')
  if (!(server instanceof Server)) throw new Error(`this process serves nothing at ${url}`)
  const app = server.listeners('request').find((listener) => Reflect.has(listener, 'router'))
  const stack = layers.parse(Reflect.get(Object(Reflect.get(Object(app), 'router')), 'stack'))
  const named = stack.flatMap(({ route }) =>
    // A handler without a method is the one that answers 405 to all others.
    (route?.stack ?? []).flatMap(({ method }) => (method ? [`${method.toUpperCase()} ${route?.path}`] : [])),
  )
  return [...new Set(named)]
}
