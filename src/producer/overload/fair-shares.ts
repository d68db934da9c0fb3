// Fair shares of a process's limited resources: connections, bytes of bodies and answers, live pages, downloads. Anybody may take what is
// free. When nothing is free, something is taken back: from clients without a key while these hold more than a quarter together, else from
// the account that holds most. So one account, however many keys and addresses it has, takes nothing from others, and neither do clients
// without a key.

import { clientOf } from '../../kernel/networks.ts'

/** Share that clients without a key always have together, whatever accounts hold. */
const KEYLESS_SHARE = 1 / 4
/** Pieces of a holder that are checked for one that is not busy. */
const CHECKED_AT_MOST = 64

/** A holder: the account of the key that was used, or else an address. */
export type Holder = `account ${number}` | `address ${string}`

/** The account as a holder; NO_ACCOUNT is all operators together. */
export const accountHolder = (account: number): Holder => `account ${account}`

/** The address as a holder: of an IPv6 address its network of 64 bits. */
export const addressHolder = (address = ''): Holder => `address ${clientOf(address)}`

/** One piece of what is shared. */
export interface Share {
  /** Takes so much more; others, or this one, may lose theirs. */
  add(amount: number): void
  /** It cannot be taken back any more, such as a complete body. */
  keep(): void
  /** From now on this holder has it, as its youngest. */
  moveTo(holder: Holder): void
  holder(): Holder
  /** Releases all of it. Idempotent. */
  release(): void
}

interface Piece {
  holder: Holder
  size: number
  isKept: boolean
  isBusy: () => boolean
  takeBack: () => void
}

/** All pieces of one holder. `loose` are those that can be taken back, the oldest first. */
interface Holding {
  holder: Holder
  size: number
  pieces: number
  loose: Set<Piece>
}

/**
 * Shares of `most`, in any unit. One account may hold up to `mostOfOne`, and so may all clients without a key together. Make
 * it less than `most` where pieces can be kept. Only kept pieces can exceed the limits, by at most the last amount added.
 */
export function createFairShares(most: number, mostOfOne = most) {
  const holdings = new Map<Holder, Holding>()
  let held = 0
  let keyless = 0

  function grow(holding: Holding, by: number): void {
    holding.size += by
    held += by
    if (isKeyless(holding.holder)) keyless += by
  }

  function enter(piece: Piece): void {
    const { holder } = piece
    const holding = holdings.get(holder) ?? { holder, size: 0, pieces: 0, loose: new Set() }
    holdings.set(holder, holding)
    holding.pieces += 1
    if (!piece.isKept) holding.loose.add(piece)
    grow(holding, piece.size)
  }

  function leave(piece: Piece): void {
    const holding = holdings.get(piece.holder)
    if (holding === undefined) return
    holding.pieces -= 1
    holding.loose.delete(piece)
    grow(holding, -piece.size)
    if (holding.pieces === 0) holdings.delete(piece.holder)
  }

  /** The largest holder with a key, or without one, that has something to take back. */
  function largest(withoutKey: boolean): Holding | undefined {
    let most: Holding | undefined
    for (const holding of holdings.values()) {
      if (isKeyless(holding.holder) !== withoutKey || holding.loose.size === 0) continue
      if (holding.size > (most?.size ?? -1)) most = holding
    }
    return most
  }

  /** The holder that must give something up when nothing is free. */
  function giving(): Holding | undefined {
    const isKeylessFirst = keyless > most * KEYLESS_SHARE
    return largest(isKeylessFirst) ?? largest(!isKeylessFirst)
  }

  /** What the holder has together with those it shares a limit with. */
  const crowdOf = (holder: Holder): number => (isKeyless(holder) ? keyless : (holdings.get(holder)?.size ?? 0))

  /** Takes back until there is room again, for what this holder has just taken. */
  function makeRoom(holder: Holder): void {
    while (held > most || crowdOf(holder) > mostOfOne) {
      const own = isKeyless(holder) ? largest(true) : holdings.get(holder)
      const piece = oldestOf(held > most ? giving() : own)
      if (piece === undefined) return
      leave(piece)
      piece.takeBack()
    }
  }

  return {
    held: () => held,

    /** Whether one more would be free, or be taken from somebody who holds more than this one. */
    hasRoomFor(holder: Holder): boolean {
      const own = holdings.get(holder)?.size ?? 0
      return held < most || (giving()?.size ?? 0) > own + 1
    },

    /**
     * Begins to hold nothing yet. `takeBack` is called when it is taken back; it is released already then.
     * Busy pieces are taken back last.
     */
    hold(holder: Holder, takeBack: () => void, isBusy = (): boolean => false): Share {
      let isOver = false
      const over = (): void => {
        isOver = true
      }
      const piece: Piece = {
        ...{ holder, size: 0, isKept: false, isBusy },
        takeBack: () => {
          over()
          takeBack()
        },
      }
      enter(piece)
      return {
        holder: () => piece.holder,
        add(amount) {
          const holding = holdings.get(piece.holder)
          if (isOver || holding === undefined) return
          piece.size += amount
          grow(holding, amount)
          makeRoom(piece.holder)
        },
        keep() {
          piece.isKept = true
          holdings.get(piece.holder)?.loose.delete(piece)
        },
        moveTo(next) {
          if (isOver) return
          leave(piece)
          piece.holder = next
          enter(piece)
          makeRoom(next)
        },
        release() {
          if (isOver) return
          over()
          leave(piece)
        },
      }
    },
  }
}

/** Whether the holder has shown no key. */
export const isKeyless = (holder: Holder): boolean => holder.startsWith('address')

function oldestOf(holding: Holding | undefined): Piece | undefined {
  let oldest: Piece | undefined
  let checked = 0
  for (const piece of holding?.loose ?? []) {
    if (!piece.isBusy()) return piece
    oldest ??= piece
    checked += 1
    if (checked === CHECKED_AT_MOST) break
  }
  return oldest
}
