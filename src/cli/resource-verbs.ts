// The verbs of a resource: its routes as they are, and what a noun says in other words.
import type { FamilyId } from '../producer/api/table.ts'
import type { RouteSpec } from '../producer/route.ts'
import { type RouteVerb, routeVerb, type Said } from './route-verb.ts'

/** A verb for each route of a family, in their order. `own`: what is said of some of them; null leaves one out. */
export function resourceVerbs<R extends Readonly<Record<string, RouteSpec>>>(
  family: FamilyId,
  routes: R,
  own: { readonly [N in keyof R]?: Said | null } = {},
): RouteVerb[] {
  return Object.entries<RouteSpec>(routes).flatMap(([name, spec]) => {
    const said = own[name]
    return said === null ? [] : [routeVerb(family, name, spec, { ...usual(spec), ...said })]
  })
}

/** A list of things that are not many is shown whole. */
const usual = ({ query }: RouteSpec): Said =>
  'cursor' in (query?.shape ?? {}) ? { pages: 'all', none: 'None yet.' } : {}
