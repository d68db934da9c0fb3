// Business portfolios: the numbers that share one daily limit of people at WhatsApp.
import { z } from 'zod'
import { DAILY_LIMIT_MAX, portfolioDocumentSchema, RESERVE_PERCENT } from '../../../model/portfolio.ts'
import { made, one, page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { changesOf, idPageQuery, nameField, textIdField } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin' } as const
const route = routesOf({ access })
/** A portfolio says whose it is. */
const ofOne = routesOf({
  access: { ...access, withoutAccount: true },
  params: z.object({ id: textIdField }),
  shown: { id: '1' },
})

const fields = {
  name: nameField(100),
  daily_limit: z
    .int()
    .min(1)
    .max(DAILY_LIMIT_MAX)
    .nullable()
    .describe('People in a moving 24 hours to whom its numbers may write first; null: no limit.'),
  reserve_percent: z.int().min(0).max(100).describe('Share of it that campaigns leave to transactional messages.'),
}
const newPortfolio = z.strictObject({
  ...fields,
  daily_limit: fields.daily_limit.default(null),
  reserve_percent: fields.reserve_percent.default(RESERVE_PERCENT),
})

export const portfolios = {
  list: route.get('/admin/portfolios', "Lists the account's portfolios.", {
    mcp: 'read',
    query: idPageQuery,
    answers: page(portfolioDocumentSchema),
  }),
  create: route.post('/admin/portfolios', 'Creates a portfolio; senders are put into it one by one.', {
    act: 'portfolio.create',
    idempotent: true,
    body: newPortfolio,
    answers: made(portfolioDocumentSchema),
    examples: [{ body: { name: 'Shop Ltd', daily_limit: 10_000 }, says: 'created' }],
  }),
  show: ofOne.get('/admin/portfolios/:id', 'Shows a portfolio, and how much of its limit is used.', {
    mcp: 'read',
    answers: one(portfolioDocumentSchema),
    examples: [{ says: 'portfolio' }],
  }),
  change: ofOne.patch('/admin/portfolios/:id', 'Changes the name, limit or reserve of a portfolio.', {
    details: 'In force within 2 s; people who are counted stay counted.',
    act: 'portfolio.change',
    body: changesOf(fields),
    answers: one(portfolioDocumentSchema),
    examples: [{ body: { daily_limit: 100_000 }, says: 'changed' }],
  }),
  remove: ofOne.delete('/admin/portfolios/:id', 'Removes a portfolio that no sender belongs to.', {
    act: 'portfolio.remove',
    errors: { 409: ['portfolio_in_use'] },
    examples: [{ says: 'removed' }],
  }),
}
