// A field that filters a list by the address bar, so that a filtered list can be kept and shared.
import type { ComponentProps } from 'preact'
import { addressOf } from '../state/http.ts'
import { go, place } from '../state/router.ts'
import { Field } from './fields.tsx'

/** Shows a parameter of the address, and changes it with each input. */
export function Filter({ name, ...field }: { name: string } & Omit<ComponentProps<typeof Field>, 'value' | 'onValue'>) {
  const { path, query } = place.value
  return (
    <Field
      {...field}
      value={query.get(name) ?? ''}
      onValue={(value) => go(addressOf(`/console${path}`, { ...Object.fromEntries(query), [name]: value.trim() }))}
    />
  )
}
