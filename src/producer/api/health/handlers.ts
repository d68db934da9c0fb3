// Whether the process lives and whether the service works.
import type { Redis } from '../../../redis/connect.ts'
import { workersAlive } from '../../../redis/heartbeats.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import { says, shows } from '../answers.ts'
import { health } from './routes.ts'

export const healthRoutes = ({ redis, isStopping }: { redis: Redis; isStopping: () => boolean }): Route[] =>
  bind(health)({
    alive: async () => says('alive'),
    async ready() {
      // Load balancers see this before the port closes, so that no request is refused.
      if (isStopping()) throw new ApiError(503, 'stopping', 'This producer is stopping: use another one.')
      const workers = await workersAlive(redis)
      if (workers > 0) return shows('ready', { workers })
      throw new ApiError(503, 'no_worker', 'No worker is alive: messages are accepted and wait.', {
        headers: { 'Retry-After': '5' },
      })
    },
  })
