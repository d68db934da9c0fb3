// A set of phone numbers for lists of millions. A Set of JavaScript numbers takes some 60 bytes each and leaves a large
// heap behind, and ends at 2^24, 16.7 million; a file of 1 GB may hold four times as many. This takes 16 to 32, outside the
// heap, and all of it goes away at once. Measured with a million: 16 MB.

/** When it is more than half full, probing gets long. */
const FILL = 0.5

/** A set of positive safe integers, empty at first. */
export function createNumberSet() {
  // Open addressing: a number is in the slot of its hash, or in the next free one. 0 is free.
  let slots = new Float64Array(1 << 12)
  let size = 0

  const slotOf = (number: number): number => {
    const mask = slots.length - 1
    // Numbers of one country differ in their last digits, which the low half holds; the multiplication spreads them.
    const mixed = Math.imul((number % 2 ** 32) ^ Math.floor(number / 2 ** 32), 0x9e3779b1)
    let slot = ((mixed ^ (mixed >>> 15)) >>> 0) & mask
    while (slots[slot] !== 0 && slots[slot] !== number) slot = (slot + 1) & mask
    return slot
  }

  function grow(): void {
    const before = slots
    slots = new Float64Array(before.length * 2)
    for (const number of before) if (number !== 0) slots[slotOf(number)] = number
  }

  return {
    size: (): number => size,

    /** Adds the number; false when it is there already. */
    add(number: number): boolean {
      const slot = slotOf(number)
      if (slots[slot] === number) return false
      slots[slot] = number
      size += 1
      if (size > slots.length * FILL) grow()
      return true
    },
  }
}
