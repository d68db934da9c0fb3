// What a script that took a step of many things answered for each of them.
import { replyError } from './errors.ts'
import { NotReplicatedError } from './replication.ts'

/** The primary has taken the step, and too few replicas have it. */
export interface Unreplicated {
  unreplicated: true
  reply: unknown
}

/** Whether a result is one of `repliesOrUnreplicated` that too few replicas have. */
export const isUnreplicated = (result: unknown): result is Unreplicated =>
  typeof result === 'object' && result !== null && 'unreplicated' in result && 'reply' in result

/**
 * The same as `repliesOf`; each is `Unreplicated` when too few replicas have them. `spread` makes the list of a script that answers
 * more briefly when all came to the same.
 */
export async function repliesOrUnreplicated(
  replies: Promise<unknown>,
  spread = (reply: unknown): unknown => reply,
): Promise<readonly unknown[]> {
  try {
    return repliesOf(spread(await replies))
  } catch (error) {
    if (!(error instanceof NotReplicatedError)) throw error
    return repliesOf(spread(error.reply)).map((reply) =>
      reply instanceof Error ? reply : { unreplicated: true, reply },
    )
  }
}

/** What a script of many came to for each of them; an Error for one that failed. By hand: each message has one. */
export function repliesOf(replies: unknown): readonly unknown[] {
  if (!Array.isArray(replies)) throw new Error('the answer to a step of many is no list')
  return replies.map((reply: unknown) => {
    if (!Array.isArray(reply)) throw new Error('the result for one of many is no list')
    return reply[0] === 'error' ? replyError(String(reply[1])) : reply
  })
}
