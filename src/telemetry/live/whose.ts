// Whose figures somebody looks at: those of one account, of some of its senders, or of the whole installation.

/** Without an account, of all; `senders` are the only ones that are told of, none: all of the account's. */
export interface Whose {
  account: number | undefined
  senders: readonly number[]
}

/** Of everything there is. */
export const OF_ALL: Whose = Object.freeze({ account: undefined, senders: [] })

/** A text that is the same for all who look at the same. */
export const keyOf = ({ account, senders }: Whose): string =>
  `${account ?? 'all'}${senders.length === 0 ? '' : ` ${[...senders].sort((one, other) => one - other).join()}`}`

/** Whether they are told of this sender's lane, which is their account's. */
export const isShown = ({ senders }: Whose, lane: number): boolean => senders.length === 0 || senders.includes(lane)
