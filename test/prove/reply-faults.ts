// What is done to replies on their way back, wherever a line ends: they are held back or swallowed, and somebody looks on.
import type { Random } from './random.ts'

/** What passes a proxy, as text, each piece as it comes; `link` is the connection that it comes on. */
export interface Observer {
  request(piece: string, link: object): void
  reply(piece: string, link: object): void
  /** The connection has ended. */
  closed?(link: object): void
}

/** How it is told what to do. */
export interface ReplyFaults {
  /** Each reply is held back for so long; drawn anew for each. */
  delayReplies(lowMs: number, highMs: number): void
  /** With this chance a request passes, its reply is swallowed and the connection is reset. */
  swallowReplies(chance: number): void
  /** Tells of each piece of a request and of a reply, before anything is done to it. */
  observe(observer: Observer): void
  /** How many replies were swallowed so far. */
  swallowed(): number
}

/** `faults` to decide on them; the rest for the line that has them. */
export function createReplyFaults(random: Random) {
  let delay = { lowMs: 0, highMs: 0 }
  let chance = 0
  let swallowed = 0
  let observer: Observer | undefined
  const faults: ReplyFaults = {
    delayReplies(lowMs, highMs) {
      delay = { lowMs, highMs }
    },
    swallowReplies(of) {
      chance = of
    },
    observe(by) {
      observer = by
    },
    swallowed: () => swallowed,
  }
  return {
    faults,
    observer: () => observer,
    /** Draws whether the reply to a request that comes now is swallowed. */
    isToSwallow: (): boolean => chance > 0 && random.next() < chance,
    countSwallowed() {
      swallowed += 1
    },
    /** Draws for how long a reply that comes now is held back; undefined while none are. */
    delayMs: (): number | undefined => (delay.highMs === 0 ? undefined : random.between(delay.lowMs, delay.highMs)),
  }
}
