// Making something once per Idempotency-Key: the order of steps for campaigns, folders and lists. Messages are accepted in the
// same order (messages/accept).
//
// The name of what shall be made is kept under the key before it is made, and making it under a name twice changes
// nothing. If the process dies
// - before the name is kept: nothing was made, and the repeat is a first request;
// - after that: the repeat finds the name, finds nothing of that name, and makes it then;
// - after it was made: the repeat finds it.
// Of several requests at once all get the name of the first. A request that makes something under another request's name
// prepares it for that name: what it prepared for its own name may be wrong for this one.

import type { Redis } from './connect.ts'
import { checkedKey, forgetKey, recallKey, rememberKey } from './idempotency.ts'

/** A key of an account on one route. `digest` is called only if there is a key. */
export interface OnceKey {
  account: number
  route: string
  /** As the client sent it. */
  key: string | undefined
  digest: () => string | Promise<string>
}

/** The steps. A Refusal that one of them throws is the answer. */
export interface OnceSteps<W, T> {
  /**
   * Checks the request and returns what to make under which name; with `kept`, the name that the key maps to already,
   * the work for that one. Nobody checks a repeat again whose thing exists: it gets its answer even when it would be
   * refused by now.
   */
  prepare: (kept: string | undefined) => Promise<{ name: string; work: W }>
  /** Makes it under that name, also while another request does; what exists already stays as it is. */
  make: (name: string, work: W) => Promise<T>
  /** What there is under the name; undefined when it was never made. Not asked without a key. */
  find: (name: string) => Promise<T | undefined>
  /** Whether nothing can ever be made under the name any more. Then the key is free for another name. */
  isSpent?: (name: string) => Promise<boolean>
}

/** Does the steps once per key; without a key, once per call. Throws a Refusal when the key came with another body. */
export async function once<W, T>(
  redis: Redis,
  { account, route, key: given, digest }: OnceKey,
  { prepare, make, find, isSpent }: OnceSteps<W, T>,
): Promise<T> {
  const key = checkedKey(given)
  if (key === undefined) {
    const { name, work } = await prepare(undefined)
    return make(name, work)
  }
  const use = { account, route, key, digest: await digest() }
  for (let kept = await recallKey(redis, use); ; kept = await recallKey(redis, use)) {
    if (kept === undefined) {
      const { name, work } = await prepare(undefined)
      kept = await rememberKey(redis, use, name)
      if (kept === name) return make(name, work)
    }
    // Checked before the search: if nothing is found after that, nothing will ever come.
    const isOver = await isSpent?.(kept)
    const found = await find(kept)
    if (found !== undefined) return found
    if (!isOver) return make(kept, (await prepare(kept)).work)
    await forgetKey(redis, use, kept)
  }
}
