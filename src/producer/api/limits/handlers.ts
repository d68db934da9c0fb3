// The limits of an account.
import type { Config } from '../../../config.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { limitsInForce } from '../../limits-in-force.ts'
import { limits } from './routes.ts'

export const limitRoutes = ({ redis, config }: { redis: Redis; config: Pick<Config, 'limits'> }): Route[] =>
  bind(limits)({
    list: async ({ caller }) => ({
      body: { status: true, data: await limitsInForce(redis, config, caller.account) },
    }),
  })
