// From a request to what its handler makes of it, the same for both ways that requests take (Express and fast-path.ts). A
// body of the usual size is read and parsed, bounded, before the key is checked, wherever that travels; a larger one is
// read only for a key that is good.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { JSON_LIMIT_BYTES } from '../messages/accept/body-limits.ts'
import { KeyRefusal } from '../messages/accept/check-key.ts'
import { type AccountTurns, createAccountTurns } from './account-turns.ts'
import { authorise, tellRefusal } from './authorise.ts'
import type { Arrived, Route } from './bind.ts'
import { assertBody, bodyBytes, isUsualBody, jsonObject } from './body.ts'
import { ApiError } from './errors.ts'
import type { Gate } from './gate.ts'
import { SMALL_BYTES } from './read-bytes.ts'
import type { Caller } from './route.ts'
import { createShares, type Shares } from './shares.ts'
import { tellLimit } from './tell-limit.ts'
import { createTurns, type Turns } from './turns.ts'

/** Bytes of bodies that the process holds at once, besides the small ones: 250 of the usual limit, 16 of a batch's. */
const HELD_MAX_BYTES = 64 * 1024 * 1024
/** And those of one account, or of all who have shown no key: bodies that are complete wait for their turn. */
const HELD_OF_ONE_BYTES = 48 * 1024 * 1024
/** Large bodies that are worked on at once: enough to be busy while some wait for Redis. */
const LARGE_AT_ONCE = 4
/** And of those above the usual limit, whose values can be 30 MB; in a queue of their own, so that they hold up no other. */
const HUGE_AT_ONCE = 2

/** What all requests of a process share. */
export interface Edge {
  gate: Gate
  held: Shares
  turns: { large: Turns; huge: Turns }
  accounts: AccountTurns
}

/** `HEAD` costs as much as the `GET` whose head it asks for. */
const READING: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD'])

/** What requests share, with nothing held and nobody in line yet. One for each process. */
export const createEdge = (gate: Gate): Edge => ({
  gate,
  held: createShares(HELD_MAX_BYTES, HELD_OF_ONE_BYTES),
  turns: { large: createTurns(LARGE_AT_ONCE), huge: createTurns(HUGE_AT_ONCE) },
  accounts: createAccountTurns(),
})

/** What of a call the request brings by itself. */
export type Taken = Pick<Arrived, 'sent' | 'raw' | 'caller' | 'acted' | 'mayStill' | 'peer' | 'inPieces'>

/**
 * Takes the request in and gives what `handle` answers; throws what is to be refused. Undefined, or never settled, when
 * the client has gone.
 */
export async function exchange<A>(
  { gate, held, turns, accounts }: Edge,
  {
    access,
    body: rule,
    admit,
    forSenders,
    takesRoom,
    query,
  }: Pick<Route, 'access' | 'body' | 'admit' | 'forSenders' | 'takesRoom' | 'query'>,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  handle: (taken: Taken) => Promise<A>,
): Promise<A | undefined> {
  admit?.(request.headers)
  const check = (): Promise<Caller> => authorise(gate, access, request, {}, requestId)
  assertBody(request, rule)
  const isKeyFirst = access.in === 'open' || (access.in === 'bearer' && !isUsualBody(rule))
  const early = isKeyFirst ? await check() : undefined
  if (early !== undefined) await admitCaller(early)
  const came = await bodyBytes(request, response, rule, held)
  const work = async (leave = (): void => {}): Promise<A | undefined> => {
    const bytes = came.take()
    const sent = rule.as === 'json' ? await jsonObject(request, rule, bytes) : {}
    // A refusal that is held back needs neither its turn nor its bytes.
    const late = (): void => {
      leave()
      came.drop()
    }
    const caller = early ?? (await authorise(gate, access, request, sent, requestId, late))
    if (early === undefined) await admitCaller(caller)
    const acted: Taken['acted'] = (act) => gate.security.acted({ actor: actorOf(caller), requestId, ...act })
    try {
      if (caller.senders.length > 0 && !forSenders) throw notForSenders()
      const raw = rule.as === 'raw' ? bytes : NOTHING
      const { account } = caller
      const isWanted = (): boolean => !response.destroyed
      const inPieces: Taken['inPieces'] = (source) => accounts.inPieces(account, source, isWanted)
      const taken = { sent, raw, caller, acted, mayStill: check, peer: () => gate.addressOf(request), inPieces }
      // What takes no query is one thing, and cheap.
      const isRead = query !== undefined && READING.has(request.method) && access.in !== 'open'
      return await (isRead ? accounts.read(account, () => handle(taken), isWanted) : handle(taken))
    } catch (error) {
      tellLimit(gate, error, { request, requestId, caller })
      if (error instanceof KeyRefusal) tellRefusal(gate, error, request, requestId)
      else if (error instanceof ApiError && error.status === 403) {
        gate.security.forbidden({ key: caller, why: error.code, requestId, address: gate.addressOf(request) })
      } else if (error instanceof ApiError && error.code === 'bad_signature') {
        gate.security.keyRefused({ key: undefined, why: error.code, requestId, address: gate.addressOf(request) })
      }
      throw error
    }
  }
  if (came.length <= SMALL_BYTES) return work()
  const queue = came.length <= JSON_LIMIT_BYTES ? turns.large : turns.huge
  return queue.run(work, () => !response.destroyed)

  /** Whoever asks too often, or for what there is no room for now, is refused before anything is done for it. */
  async function admitCaller(caller: Caller): Promise<void> {
    try {
      const counted = access.in === 'open' ? undefined : gate.rates.ofCaller(caller, response)
      if (counted !== undefined) await counted
      if (takesRoom) await gate.room.assertForLarge()
    } catch (error) {
      tellLimit(gate, error, { request, requestId, caller })
      throw error
    }
  }
}

const notForSenders = (): ApiError =>
  new ApiError(
    403,
    'forbidden',
    'This key is for some senders only: it may send from them, look up their messages and control their lanes.',
  )

const actorOf = ({ id, name }: Caller) => ({ key_id: id, key_name: name })

const NOTHING = Buffer.alloc(0)
