// What a key must permit for a page, by the address of the page. Whoever lacks it is not led there, and who comes by an
// address all the same is told so in place of the page: its buttons would be refused one by one.
import type { Deed } from '../logic/may.ts'

const DEEDS: readonly (readonly [RegExp, Deed])[] = [
  [/^\/messages$/, 'look'],
  [/^\/campaigns\/new$/, 'sendMany'],
  [/^\/campaigns$/, 'see'],
  [/^\/start$/, 'send'],
  [/^\/(contacts|opt-outs)$/, 'readContacts'],
  [/^\/(people|senders|keys|limits|activity)$/, 'run'],
  [/^\/templates$/, 'readTemplates'],
  [/^\/gallery$/, 'gallery'],
  [/^\/endpoints(\/|$)/, 'events'],
]

/** The deed of a page below /console; undefined for one that everybody sees, or that decides by what it shows. */
export const deedOf = (path: string): Deed | undefined => DEEDS.find(([pattern]) => pattern.test(path))?.[1]
