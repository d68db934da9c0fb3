// A set of phone numbers for lists of millions. A Set of JavaScript numbers takes some 60 bytes each and leaves a large
// heap behind, and ends at 2^24, 16.7 million; a file of 1 GB may hold four times as many. This takes 16 to 32, outside the
// heap, and all of it goes away at once. Measured with a million: 16 MB.

/** More than half full, the search for a free place gets long. */
const FILL = 0.5

/** A set of positive safe integers, empty at first. */
export function createNumberSet() {
  // Open addressing: a number stands in the place its hash says, or in the next one that was free. 0 is free.
  let places = new Float64Array(1 << 12)
  let size = 0

  const placeOf = (number: number): number => {
    const mask = places.length - 1
    // Numbers of one country differ in their last digits, which the low half holds; the multiplication spreads them.
    const mixed = Math.imul((number % 2 ** 32) ^ Math.floor(number / 2 ** 32), 0x9e3779b1)
    let place = ((mixed ^ (mixed >>> 15)) >>> 0) & mask
    while (places[place] !== 0 && places[place] !== number) place = (place + 1) & mask
    return place
  }

  function grow(): void {
    const before = places
    places = new Float64Array(before.length * 2)
    for (const number of before) if (number !== 0) places[placeOf(number)] = number
  }

  return {
    size: (): number => size,

    /** Adds the number; false when it is there already. */
    add(number: number): boolean {
      const place = placeOf(number)
      if (places[place] === number) return false
      places[place] = number
      size += 1
      if (size > places.length * FILL) grow()
      return true
    },
  }
}
