// Whether the process lives and whether the service works; metrics of an account's lanes, or of the whole installation.
import { Readable } from 'node:stream'
import type { Redis } from '../../../redis/connect.ts'
import { workersAlive } from '../../../redis/heartbeats.ts'
import { assertSameInstallation } from '../../../redis/installation.ts'
import type { Telemetry } from '../../../telemetry/telemetry.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import { says, shows } from '../answers.ts'
import { health, metrics } from './routes.ts'

export const metricRoutes = ({ redis, telemetry }: { redis: Redis; telemetry: Telemetry }): Route[] =>
  bind(metrics)({
    async metrics({ caller }) {
      const account = accountOf(caller)
      const text = await (account === undefined ? telemetry.text(redis) : telemetry.textOfAccount(redis, account))
      return { headers: { 'Content-Type': telemetry.contentType }, stream: Readable.from([text]) }
    },
  })

export const healthRoutes = ({ redis, isStopping }: { redis: Redis; isStopping: () => boolean }): Route[] =>
  bind(health)({
    alive: async () => says('alive'),
    async ready() {
      // Load balancers see this before the port closes, so that no request is refused.
      if (isStopping()) throw new ApiError(503, 'stopping', 'This producer is stopping: use another one.')
      await assertSameInstallation(redis)
      const workers = await workersAlive(redis)
      if (workers > 0) return shows('ready', { workers })
      throw new ApiError(503, 'no_worker', 'No worker is alive: messages are accepted and wait.', {
        headers: { 'Retry-After': '5' },
      })
    },
  })
