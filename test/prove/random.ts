// Chance that can be repeated: every choice of a run is drawn from its one seed. Each part of a scenario forks a
// generator of its own by name, so that the order in which parts happen to run changes nothing of what each draws.

export interface Random {
  /** From 0 to below 1. */
  next(): number
  /** A whole number from 0 to below `n`. */
  below(n: number): number
  /** From `low` to `high`. */
  between(low: number, high: number): number
  /** Throws when the list is empty. */
  pick<T>(list: readonly T[]): T
  /** A generator of its own, the same for the same name. */
  fork(name: string): Random
}

export function createRandom(seed: number, name = ''): Random {
  let state = hashOf(`${seed} ${name}`)
  // Mulberry32: small, and good enough to choose what goes wrong.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number): number => Math.floor(next() * n)
  return {
    next,
    below,
    between: (low, high) => low + next() * (high - low),
    pick(list) {
      const item = list[below(list.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    fork: (part) => createRandom(seed, `${name}/${part}`),
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}
