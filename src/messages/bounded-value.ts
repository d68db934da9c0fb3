// How much a value from outside holds, counted no further than to the limit.

/** What is too much. Characters are UTF-16 code units, of texts and of the names of fields. */
interface Most {
  values: number
  characters?: number
}

/** Whether a value of JSON holds more than that, itself counted. Stops as soon as it is sure. */
export function holdsMoreThan(value: unknown, { values, characters = Number.POSITIVE_INFINITY }: Most): boolean {
  let valuesLeft = values
  let charactersLeft = characters
  const count = (each: unknown): boolean => {
    valuesLeft -= 1
    if (typeof each === 'string') charactersLeft -= each.length
    else if (Array.isArray(each)) return each.some(count) || isOver()
    else if (typeof each === 'object' && each !== null) {
      for (const name in each) {
        charactersLeft -= name.length
        // A value of JSON has own fields only.
        if (count(Reflect.get(each, name))) return true
      }
    }
    return isOver()
  }
  const isOver = (): boolean => valuesLeft < 0 || charactersLeft < 0
  return count(value)
}
