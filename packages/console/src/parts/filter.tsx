// A field that filters a list by the address bar, so that a filtered list can be kept and shared.
import type { ComponentProps } from 'preact'
import { addressOf } from '../state/http.ts'
import { go, place } from '../state/router.ts'
import { Field } from './fields.tsx'

/** Shows a parameter of the address, and changes it with each input. The parameters are sorted: a filtered list has one address. */
export function Filter({ name, ...field }: { name: string } & Omit<ComponentProps<typeof Field>, 'value' | 'onValue'>) {
  const { path, query } = place.value
  const filterBy = (value: string): void => {
    const changed = new URLSearchParams(query)
    changed.set(name, value.trim())
    changed.sort()
    go(addressOf(`/console${path}`, Object.fromEntries(changed)))
  }
  return <Field {...field} value={query.get(name) ?? ''} onValue={filterBy} />
}
