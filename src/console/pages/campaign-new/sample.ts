// The person whose values preview and test send use: the first of the recipients, where there is one already.
import { plainText } from '../../logic/plain-text.ts'
import { firstContact } from '../../state/library.ts'
import { useLoad } from '../../state/load.ts'
import { may } from '../../state/session.ts'
import type { Draft } from './draft.ts'

/** The values by source, and who that is in words. */
export interface Sample {
  values: ReadonlyMap<string, string>
  words: string
}

const NOBODY: Sample = {
  values: new Map([
    ['contact.name', 'Ada Example'],
    ['contact.phone', '447700900123'],
    ['contact.email', 'ada@shop.example'],
  ]),
  words: 'With the values of a made-up person, until recipients are chosen.',
}

/** The sample of a draft; it changes with the recipients. */
export function useSample({ source, tags, head }: Pick<Draft, 'source' | 'tags' | 'head'>): Sample {
  const tag = source === 'tags' ? tags[0] : undefined
  const wanted = tag !== undefined && may('readContacts') ? `first of ${tag}` : undefined
  const first = useLoad(wanted, (signal) => firstContact(tag ?? 0, signal))
  if (source === 'file') {
    if (head === undefined) return { values: new Map(), words: NOBODY.words }
    const values = new Map([...head.first].map(([column, value]) => [`row.${column}`, value]))
    return { values, words: 'With the values of the first row.' }
  }
  const contact = first.value
  if (contact === undefined) return NOBODY
  return {
    values: new Map([
      ['contact.name', contact.name ?? ''],
      ['contact.phone', contact.phone],
      ['contact.email', contact.email ?? ''],
    ]),
    words: `With the values of ${plainText(contact.name ?? contact.phone)}, the first on the list.`,
  }
}
