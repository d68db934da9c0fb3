// Business portfolios: the numbers that share one daily limit of people at WhatsApp.
import { z } from 'zod'
import { DAILY_LIMIT_MAX, RESERVE_PERCENT } from '../../../model/portfolio.ts'
import { nameField, textIdField } from '../fields.ts'
import { resource, shapeOf } from '../resource.ts'

const shape = shapeOf('Portfolio', {
  fixed: { id: z.int(), account: z.int() },
  fields: {
    name: nameField(100),
    daily_limit: z
      .int()
      .min(1)
      .max(DAILY_LIMIT_MAX)
      .nullable()
      .describe(
        'People in a moving 24 hours to whom its numbers may write first; null: no limit, and nobody is counted.',
      )
      .default(null),
    reserve_percent: z
      .int()
      .min(0)
      .max(100)
      .meta({
        title: 'Reserve in percent',
        description: 'Share of it that campaigns leave to transactional messages.',
      })
      .default(RESERVE_PERCENT),
  },
  facts: {
    used: z.int().describe('People counted in the last 24 hours.'),
    free_at: z.iso
      .datetime()
      .nullable()
      .describe('When campaigns can write to somebody new again; null while they can.'),
    held: z.int().describe('Messages that WhatsApp holds back now to see how people like a template.'),
  },
})

const portfolio = resource({
  ...shape,
  noun: 'portfolio',
  at: '/admin/portfolios',
  params: z.object({ id: textIdField }),
  shown: { id: '1' },
  look: { in: 'bearer', permission: 'admin' },
  knowsItsAccount: true,
  mcp: 'read',
})

export const portfolios = {
  list: portfolio.list("Lists the account's portfolios.", {}),
  create: portfolio.create('Creates a portfolio; senders are put into it one by one.', {
    examples: [{ body: { name: 'Shop Ltd', daily_limit: 10_000 }, says: 'created' }],
  }),
  show: portfolio.show('Shows a portfolio, and how much of its limit is used.', {}),
  change: portfolio.change('Changes the name, limit or reserve of a portfolio.', {
    details: 'In force within 2 s; people who are counted stay counted.',
    examples: [{ body: { daily_limit: 100_000 }, says: 'changed' }],
  }),
  remove: portfolio.remove('Removes a portfolio that no sender belongs to.', {
    errors: { 409: ['portfolio_in_use'] },
  }),
}

export const portfolioDocumentSchema = shape.document
export type PortfolioDocument = z.output<typeof portfolioDocumentSchema>
