// The other way round: which fillings made these components. For a copy of a campaign.
import { componentsOf, type Filling, type Fillings, slotsOf, type Template } from './template-slots.ts'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What tells apart the members of a list of components, cards or parameters. */
const nameOf = (member: unknown, place: number): string => {
  if (!isObject(member)) return String(place)
  if (member.card_index !== undefined) return `card ${String(member.card_index)}`
  if (member.index !== undefined) return `${String(member.type)} ${String(member.index)}`
  return member.parameters !== undefined || member.cards !== undefined ? String(member.type) : String(place)
}

/**
 * The fillings of components that were made for this template. What the template has no place for is left out, and a
 * place that the components do not fill stays open.
 */
export function fillingsOf(template: Template, components: unknown): Fillings {
  const slots = slotsOf(template)
  const marked = componentsOf(template, new Map(slots.map(({ id }) => [id, { fixed: `\u0000${id}` }])))
  const found = new Map<string, Filling>()
  const walk = (mark: unknown, given: unknown): void => {
    if (typeof mark === 'string' && mark.startsWith('\u0000')) {
      if (typeof given === 'string') found.set(mark.slice(1), { fixed: given })
      else if (isObject(given) && typeof given.from === 'string') found.set(mark.slice(1), { from: given.from })
    } else if (Array.isArray(mark) && Array.isArray(given)) {
      const byName = new Map(given.map((member: unknown, i) => [nameOf(member, i), member]))
      for (const [i, member] of mark.entries()) walk(member, byName.get(nameOf(member, i)))
    } else if (isObject(mark) && isObject(given)) {
      for (const [field, member] of Object.entries(mark)) walk(member, given[field])
    }
  }
  walk(marked, components)
  return found
}
