// Chance that can be repeated: a draw depends on the seed and on its name, and not on the order of draws.

import { createHash } from 'node:crypto'

/** Whether something happens that has this chance (0 to 1); the same seed and name draw the same. */
export function happens(chance: number, seed: number, name: string): boolean {
  return createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE(0) < chance * 2 ** 32
}
