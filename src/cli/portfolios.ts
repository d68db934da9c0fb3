// portfolios: create, list, set, remove. The numbers of a portfolio share one daily limit of people at WhatsApp.

import { DAILY_LIMIT_MAX, type PortfolioDocument, RESERVE_PERCENT } from '../model/portfolio.ts'
import { dropPortfolio, existingPortfolio } from '../portfolios/commands/portfolios.ts'
import { createPortfolio, listPortfolios, newPortfolioId, setPortfolio } from '../portfolios/portfolios.ts'
import { showPortfolio } from '../portfolios/usage.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { accountId, nameUpTo, numberOf, parser } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const portfolioId = numberOf('a portfolio, see `portfolios list --account <id>`')
const people = parser(`a number of people from 1 to ${DAILY_LIMIT_MAX}, or none`, (text) => {
  if (text === 'none') return null
  return /^[1-9]\d{0,8}$/.test(text) && Number(text) <= DAILY_LIMIT_MAX ? Number(text) : undefined
})
const percent = parser('a percentage from 0 to 100', (text) =>
  /^\d{1,3}$/.test(text) && Number(text) <= 100 ? Number(text) : undefined,
)
const limitMeaning = 'people in a moving 24 hours to whom its numbers may write first, or none'
const reserveMeaning = 'share of the limit that campaigns leave to transactional messages'

const COLUMNS: Columns<PortfolioDocument> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  LIMIT: ({ daily_limit }) => (daily_limit === null ? 'none' : String(daily_limit)),
  USED: ({ used }) => used,
  RESERVE: ({ reserve_percent }) => `${reserve_percent} %`,
  HELD: ({ held }) => (held === 0 ? '' : held),
  'FREE AT': ({ free_at }) => (free_at === null ? '' : clockTime(free_at)),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'create',
    summary: 'create a portfolio; put senders into it with `senders set <id> portfolio <id>`',
    act: 'portfolio.create',
    example: '--account 1 --name "Shop Ltd" --daily-limit 10000',
    values: {
      account: option(accountId, 'id', 'account that owns the numbers'),
      name: option(nameUpTo(100), 'name', 'what people call it'),
      dailyLimit: option(people.default(null), 'people', `${limitMeaning} (default: none)`),
      reservePercent: option(
        percent.default(RESERVE_PERCENT),
        'percent',
        `${reserveMeaning} (default: ${RESERVE_PERCENT})`,
      ),
    },
    async run({ account, name, dailyLimit: daily_limit, reservePercent: reserve_percent }, { redis }) {
      const id = await newPortfolioId(redis)
      const portfolio = await createPortfolio(redis, { id, account, name, daily_limit, reserve_percent })
      return {
        json: await showPortfolio(redis, portfolio),
        text: `Portfolio ${id} was created. Put a sender into it: \`senders set <sender> portfolio ${id}\`.`,
        acted: { account, target: String(id) },
      }
    },
  }),

  verb({
    usage: 'list',
    summary: 'list the portfolios of an account, with how much of each limit is used',
    example: '--account 1',
    values: { account: option(accountId, 'id', 'account that owns them') },
    async run({ account }, { redis }) {
      const portfolios = await listPortfolios(redis, account)
      const shown = await Promise.all(portfolios.map((each) => showPortfolio(redis, each)))
      return listed(shown, COLUMNS, `Account ${account} has no portfolio yet.`)
    },
  }),

  verb({
    usage: 'set <id>',
    summary: 'change the name, the limit or the reserve of a portfolio; in force within 2 s',
    act: 'portfolio.change',
    example: '1 --daily-limit 100000',
    values: {
      id: portfolioId,
      name: option(nameUpTo(100).optional(), 'name', 'what people call it'),
      dailyLimit: option(people.optional(), 'people', limitMeaning),
      reservePercent: option(percent.optional(), 'percent', reserveMeaning),
    },
    check({ name, dailyLimit, reservePercent }, wrong) {
      const isNothing = name === undefined && dailyLimit === undefined && reservePercent === undefined
      if (isNothing) wrong('dailyLimit', 'expected a change, such as --daily-limit, --reserve-percent or --name')
    },
    async run({ id, name, dailyLimit: daily_limit, reservePercent: reserve_percent }, { redis }) {
      await existingPortfolio(redis, id)
      await setPortfolio(redis, id, { name, daily_limit, reserve_percent })
      const changed = await existingPortfolio(redis, id)
      return {
        json: await showPortfolio(redis, changed),
        text: `Portfolio ${id} is changed.`,
        acted: { account: changed.account, target: String(id) },
      }
    },
  }),

  verb({
    usage: 'remove <id>',
    summary: 'remove a portfolio that no sender belongs to',
    act: 'portfolio.remove',
    example: '1',
    values: { id: portfolioId },
    async run({ id }, { redis }) {
      const portfolio = await existingPortfolio(redis, id)
      await dropPortfolio(redis, portfolio)
      return {
        json: { id, removed: true },
        text: `Removed portfolio ${id}.`,
        acted: { account: portfolio.account, target: String(id) },
      }
    },
  }),
]
