// Transactions whose results are looked at: Redis runs the other commands of a MULTI when one fails, and ioredis then
// resolves all the same, with the error among the results.
import type { Transaction } from './connect.ts'

/** Runs a transaction; rejects with the first error among its results, and when it was not run at all. */
export async function execOrThrow(transaction: Transaction): Promise<void> {
  const results = await transaction.exec()
  if (results === null) throw new Error('The transaction was not run.')
  for (const [error] of results) if (error) throw error
}
