// The size of a JSON value, checked before anything else reads it.

/** What is too much. Characters are UTF-16 code units, of texts and of the names of fields. */
interface Most {
  values: number
  characters?: number
}

/** Whether a value of JSON holds more than that, itself counted. Stops as soon as it is sure. */
export function holdsMoreThan(value: unknown, { values, characters = Number.POSITIVE_INFINITY }: Most): boolean {
  // The usual case: a text.
  if (typeof value === 'string') return value.length > characters || values < 1
  return isMore(value, { values, characters })
}

/** Takes what the value holds off what is `left`; true as soon as nothing is. */
function isMore(value: unknown, left: Required<Most>): boolean {
  left.values -= 1
  if (typeof value === 'string') left.characters -= value.length
  else if (Array.isArray(value)) {
    for (const item of value) if (isMore(item, left)) return true
  } else if (typeof value === 'object' && value !== null) {
    // A value of JSON has own fields only.
    for (const name in value) {
      left.characters -= name.length
      if (isMore(Reflect.get(value, name), left)) return true
    }
  }
  return left.values < 0 || left.characters < 0
}

/**
 * Whether a value of JSON takes more than so many bytes as UTF-8. A walk that stops at the limit comes first: to write out hundreds of
 * megabytes would hold up everything else in the process.
 */
export const takesMoreThan = (value: unknown, bytes: number): boolean =>
  holdsMoreThan(value, { values: bytes, characters: bytes }) || Buffer.byteLength(JSON.stringify(value) ?? '') > bytes
