// Null for a part of a template that may be left out (`components`, `parameters`, `cards`), as programs write it that know no
// other "nothing": it is read as left out. Elsewhere null is a fault: behind a `send_at` or a `sender` that is null may be a wish
// that got lost, and the message would leave at once or from another number.
import { type Fault, valueAt } from './fault.ts'

/** A body has a few of them; one with more faults than are reported is not read again. */
const FAULTS_MAX = 100

/** A copy of a body without the faulty nulls of its template; undefined when there are none. */
export function withoutNulls<T>(body: T, faults: readonly Fault[]): T | undefined {
  if (faults.length > FAULTS_MAX) return undefined
  const nulls = faults
    .map(({ path }) => path)
    .filter((path) => path.startsWith('template.') && valueAt(body, stepsOf(path)) === null)
  if (nulls.length === 0) return undefined
  const copy = structuredClone(body)
  let isChanged = false
  for (const path of nulls) {
    const steps = stepsOf(path)
    const owner = valueAt(copy, steps.slice(0, -1))
    // Removing an item of a list would shift those after it.
    if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) continue
    isChanged = Reflect.deleteProperty(owner, String(steps.at(-1)))
  }
  return isChanged ? copy : undefined
}

/** `cards[0].components` as `cards`, `0`, `components`: names of fields that are known have neither dots nor brackets. */
const stepsOf = (path: string): string[] => path.split(/[.[\]]+/).filter((step) => step !== '')
