// Ids that answers have told, so that later requests meet what is there.
import type { Operation } from './description.ts'

const PATTERNS: Readonly<Record<string, RegExp>> = {
  message: /\bmsg_\d+_[0-9A-Z]{26}\b/g,
  campaign: /\bcmp_\d+_\d+\b/g,
  job: /\brq_[0-9A-Z]{26}\b/g,
  move: /\bmv_[0-9A-Z]{26}\b/g,
  media: /\/media\/[\w-]+\/[\w.%-]+/g,
}
/** Of each kind the latest, besides the first. */
const KEPT = 200

export interface Known {
  learn: (text: string) => void
  /** A known value for a parameter of the operation; `turn` chooses which. */
  param: (operation: Operation, name: string, turn: number) => string
  take: (kind: string, turn: number) => string
}

/** Knows the ids of the demo from the start. */
export function createKnown(): Known {
  const seen = new Map(Object.keys(PATTERNS).map((kind) => [kind, new Set<string>()]))
  const take = (kind: string, turn: number): string => {
    const values = [...(seen.get(kind) ?? [])]
    return values[turn % Math.max(values.length, 1)] ?? 'none-yet'
  }
  const kindOf = (path: string): string =>
    path.startsWith('/campaigns') ? 'campaign' : path.startsWith('/jobs') ? 'job' : 'message'
  return {
    learn(text) {
      for (const [kind, pattern] of Object.entries(PATTERNS)) {
        const values = seen.get(kind)
        for (const [id] of text.matchAll(pattern)) {
          if (values && values.size < KEPT) values.add(id)
        }
      }
    },
    take,
    param({ path }, name, turn) {
      if (name === 'id') return take(kindOf(path), turn)
      if (name === 'job_id') return take('move', turn)
      const [, , token = 'x', file = 'x'] = take('media', turn).split('/')
      if (name === 'token') return token
      if (name === 'name') return file
      // Folders, files and lanes of the demo; the third lane is the other account's.
      return String(name === 'lane' ? 1 + (turn % 2) : 1 + (turn % (name === 'file_id' ? 6 : 4)))
    },
  }
}
