// Business portfolios of an account.
import { dropPortfolio, existingPortfolio } from '../../../portfolios/commands/portfolios.ts'
import {
  createPortfolio,
  findPortfolio,
  listPortfolios,
  newPortfolioId,
  setPortfolio,
} from '../../../portfolios/portfolios.ts'
import { showPortfolio } from '../../../portfolios/usage.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import type { ContextOf } from '../../route.ts'
import { created, lists, says, shows } from '../answers.ts'
import { byId, makeOnceById, pageOfAll } from '../requests.ts'
import { portfolios } from './routes.ts'

export function portfolioRoutes({ redis }: { redis: Redis }): Route[] {
  /** The portfolio of the path, if it is the caller's. Acts on it go to the audit log of its account. */
  async function own({
    params,
    caller,
    audit,
  }: Pick<ContextOf<typeof portfolios.show>, 'params' | 'caller' | 'audit'>) {
    const portfolio = await existingPortfolio(redis, params.id, accountOf(caller))
    audit({ account: portfolio.account })
    return portfolio
  }

  return bind(portfolios)({
    async list({ caller, query }) {
      const { data, next } = pageOfAll(await listPortfolios(redis, caller.account), byId, query)
      return lists({ data: await Promise.all(data.map((each) => showPortfolio(redis, each))), next })
    },

    async create(call) {
      const { account } = call.caller
      const portfolio = await makeOnceById(redis, call, 'portfolio', {
        newId: newPortfolioId,
        make: (id) => createPortfolio(redis, { id, account, ...call.body }),
        find: (id) => findPortfolio(redis, id),
      })
      call.audit({ target: String(portfolio.id) })
      return created(await showPortfolio(redis, portfolio))
    },

    async show(call) {
      return shows('portfolio', await showPortfolio(redis, await own(call)))
    },

    async change(call) {
      const { id, account } = await own(call)
      await setPortfolio(redis, id, call.body)
      call.audit({ detail: Object.keys(call.body).join(',') })
      return shows('changed', await showPortfolio(redis, await existingPortfolio(redis, id, account)))
    },

    async remove(call) {
      await dropPortfolio(redis, await own(call))
      return says('removed')
    },
  })
}
