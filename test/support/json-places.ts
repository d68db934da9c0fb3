// Walks and changes JSON bodies by path: what the property tests break a good body with.

export type Path = readonly (string | number)[]

/** `['action', 'buttons', 0, 'id']` as the faults write it: `action.buttons[0].id`. */
export function written(path: Path): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? key : `${text}.${key}`
  }, '')
}

/** Every place inside a JSON value with what stands there, parents first, the value itself not among them. */
export function placesOf(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  if (typeof value !== 'object' || value === null) return []
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return entries.flatMap(([key, inner]) => [{ path: [...path, key], value: inner }, ...placesOf(inner, [...path, key])])
}

/** A copy with another value at one place; `undefined` leaves the place out. */
export function changed(value: unknown, path: Path, to: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return to
  if (Array.isArray(value)) return value.map((item, i) => (i === key ? changed(item, rest, to) : item))
  const copy = Object.entries(value ?? {}).map(([name, item]) => [name, name === key ? changed(item, rest, to) : item])
  return Object.fromEntries(copy.filter(([, item]) => item !== undefined))
}
