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

/** What a script answered. */
export interface ScriptAnswer {
  reply: unknown
  /** Enough replicas have taken the step. */
  isReplicated: boolean
}

/** The same, where too few replicas having it is no reason to reject. */
export async function answerOf(script: Promise<unknown>): Promise<ScriptAnswer> {
  try {
    return { reply: await script, isReplicated: true }
  } catch (error) {
    if (!(error instanceof NotReplicatedError)) throw error
    return { reply: error.reply, isReplicated: false }
  }
}

/** The same as `repliesOf`; each is `Unreplicated` when too few replicas have them. */
export function repliesOrUnreplicated({ reply, isReplicated }: ScriptAnswer): readonly unknown[] {
  const replies = repliesOf(reply)
  if (isReplicated) return replies
  return replies.map((each) => (each instanceof Error ? each : { unreplicated: true, reply: each }))
}

/** What a script of many came to for each of them; an Error for one that failed. By hand: each message has one. */
export function repliesOf(replies: unknown): readonly unknown[] {
  if (!Array.isArray(replies)) throw new Error('the answer to a step of many is no list')
  return replies.map((reply: unknown) => {
    if (!Array.isArray(reply)) throw new Error('the result for one of many is no list')
    return reply[0] === 'error' ? replyError(String(reply[1])) : reply
  })
}
