// Whether the process lives (GET /healthz) and whether the service works (GET /readyz: Redis answers and at least one
// worker is alive).
import type { Redis } from '../../redis/connect.ts'
import { workersAlive } from '../../redis/heartbeats.ts'
import { ApiError } from '../errors.ts'
import type { Route } from '../route.ts'

export function healthRoutes(deps: { redis: Redis }): Route[] {
  const access = { in: 'open', why: 'tells nothing but whether the service works' } as const
  return [
    {
      method: 'get',
      path: '/healthz',
      access,
      body: { as: 'ignored' },
      handle: async () => ({ body: { status: true, message: 'alive' } }),
    },
    {
      method: 'get',
      path: '/readyz',
      access,
      body: { as: 'ignored' },
      handle: async () => {
        const workers = await workersAlive(deps.redis)
        if (workers === 0) {
          throw new ApiError(503, 'no_worker', 'No worker is alive: messages are accepted and wait.', {
            headers: { 'Retry-After': '5' },
          })
        }
        return { body: { status: true, message: 'ready', data: { workers } } }
      },
    },
  ]
}
