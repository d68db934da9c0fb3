// Deletes erased people from WhatsApp's contact book, as part of the job `erase` and after everything of ours is gone: whatever WhatsApp
// does, the erasure is done after one short try. Requests are idempotent, so a process may die anywhere.
import { z } from 'zod'
import { listSenders, type Sender, tokenOf } from '../accounts/senders.ts'
import type { Log } from '../kernel/log.ts'
import type { Seal } from '../kernel/seal.ts'
import { namesOf } from '../people/names/names.ts'
import type { GraphApi } from '../providers/graph-api.ts'
import type { Redis } from '../redis/connect.ts'
import { type BookAnswer, bookNames, bookWaitMs, outcomeOf } from './contact-book.ts'
import { countBookTry, type Erasure, endBook, noteBook } from './erasures.ts'

/** Businesses at WhatsApp that one account may have numbers of; the rest are skipped. */
const MOST_ASKED = 20
const ANSWER_BYTES = 64 * 1024
/** How long WhatsApp may take; at the first try the erasure waits for it. */
const FIRST_MS = 2_000
const LATER_MS = 5_000
/** After WhatsApp did not answer, this process asks for nobody of the account for so long: other erasures wait behind. */
const BACKOFF_MS = 60_000

export interface BookDeps {
  redis: Redis
  log: Log
  seal: Seal
  graph: GraphApi
}

const deleted = z.object({ success: z.literal(true), deleted: z.boolean() })

/** The requests for the erasures of this process. */
export function createContactBook(deps: BookDeps) {
  const { redis, log, seal, graph } = deps
  const backoffUntil = new Map<number, number>()

  async function ask(sender: Sender, userId: string, ms: number): Promise<BookAnswer> {
    const token = tokenOf(seal, sender)
    // Another worker, or this one later, may have the right key.
    if (token === undefined) return 'unreachable'
    const path = `${encodeURIComponent(sender.phone_number_id)}/contact_book`
    const query = { messaging_product: 'whatsapp', bsuid: userId }
    const end = await graph.remove({ baseUrl: sender.base_url, token }, path, query, { ms, bytes: ANSWER_BYTES })
    if (end.kind === 'refused' && !end.isThrottled && end.status < 500) {
      log.warn({ lane: sender.id, status: end.status, code: end.code }, 'contact_book.refused')
      return 'refused'
    }
    const said = end.kind === 'answer' ? deleted.safeParse(end.body).data : undefined
    if (said === undefined) return 'unreachable'
    return said.deleted ? 'deleted' : 'not_found'
  }

  return {
    /** Stores the user ids to delete, before the names of the person are deleted. */
    async prepare(id: string, { account, person = '', contact_book: state }: Erasure): Promise<void> {
      if (state !== undefined) return
      const ids = bookNames(await namesOf(redis, account, person))
      const isNeeded = (await numbersOf(redis, account)).length > 0
      await noteBook(redis, id, !isNeeded ? 'none' : ids.length === 0 ? 'no_user_id' : ids)
    },

    /** One try for an erasure that has erased everything of ours. Returns the wait (ms) before the next try, undefined if there is none. */
    async ask(id: string, erasure: Erasure): Promise<number | undefined> {
      const { account, contact_book_ids: ids, contact_book_tries: before } = erasure
      if (ids === undefined) return undefined
      const backoffMs = (backoffUntil.get(account) ?? 0) - performance.now()
      if (backoffMs > 0) return backoffMs
      backoffUntil.delete(account)
      const numbers = await numbersOf(redis, account)
      const answers = await Promise.all(
        numbers.flatMap((sender) =>
          ids.split(' ').map((userId) => ask(sender, userId, before === 0 ? FIRST_MS : LATER_MS)),
        ),
      )
      const outcome = outcomeOf(answers)
      if (outcome !== 'unreachable') {
        await endBook(redis, id, outcome)
        return undefined
      }
      backoffUntil.set(account, performance.now() + BACKOFF_MS)
      const waitMs = bookWaitMs(before + 1)
      if (waitMs === undefined) {
        log.error({ job: id }, 'contact_book.given_up')
        await endBook(redis, id, 'failed')
        return undefined
      }
      await countBookTry(redis, id, before + 1)
      log.warn({ job: id, wait_ms: waitMs }, 'contact_book.waits')
      return waitMs
    },
  }
}

/** One number on the Cloud API for each of the account's businesses at WhatsApp: all of its numbers share the contact book. */
async function numbersOf(redis: Redis, account: number): Promise<Sender[]> {
  const senders = (await listSenders(redis, account)).filter(({ provider }) => provider === 'cloud-api')
  const byBusiness = new Map(senders.map((sender) => [sender.waba_id || sender.phone_number_id, sender]))
  return [...byBusiness.values()].slice(0, MOST_ASKED)
}
