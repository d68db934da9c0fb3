// Metrics of an account's lanes, or of the whole installation.
import { Readable } from 'node:stream'
import type { Redis } from '../../../redis/connect.ts'
import type { Telemetry } from '../../../telemetry/telemetry.ts'
import { accountOf } from '../../authorise.ts'
import { bind, type Route } from '../../bind.ts'
import { metrics } from './routes.ts'

export const metricsRoutes = ({ redis, telemetry }: { redis: Redis; telemetry: Telemetry }): Route[] =>
  bind(metrics)({
    async metrics({ caller }) {
      const account = accountOf(caller)
      const text = await (account === undefined ? telemetry.text(redis) : telemetry.textOfAccount(redis, account))
      return { headers: { 'Content-Type': telemetry.contentType }, stream: Readable.from([text]) }
    },
  })
