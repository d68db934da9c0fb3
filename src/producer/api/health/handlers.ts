// Whether the process lives and whether the service works.
import type { Redis } from '../../../redis/connect.ts'
import { workersAlive } from '../../../redis/heartbeats.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import { health } from './routes.ts'

/** The routes of routes/health.ts. */
export const healthRoutes = ({ redis, isStopping }: { redis: Redis; isStopping: () => boolean }): Route[] =>
  bind(health)({
    alive: async () => ({ body: { status: true, message: 'alive' } }),
    async ready() {
      // Whoever sends requests here is told before the port closes, so that none of them is refused.
      if (isStopping()) throw new ApiError(503, 'stopping', 'This producer stops: use another one.')
      const workers = await workersAlive(redis)
      if (workers === 0) {
        throw new ApiError(503, 'no_worker', 'No worker is alive: messages are accepted and wait.', {
          headers: { 'Retry-After': '5' },
        })
      }
      return { body: { status: true, message: 'ready', data: { workers } } }
    },
  })
