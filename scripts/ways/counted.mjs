// Which pieces of work count for a part of a way: those that go the usual way. What a piece enters depends on how long ago the
// last one was, since answers of Redis are kept for a second, and so on how busy the machine is. One file tells each such piece.
// Measured in 17 runs, ten of them with busy loops or each other beside them: those that count entered the same files in the same
// order, in every run. Of those that do not, the most met a cache that had run out: half of all messages.

/** Entered when a cache of what Redis answered takes in an answer. */
const CACHE = 'kernel/most-entries.ts'

/** Part → file that a piece enters which does not count, and why. */
const WITHOUT = {
  accept: {
    [CACHE]: 'what is kept of the key, the account, the sender and the template is a second old, and is read again',
    'lanes/stats.ts': 'the messages that wait are counted again after five seconds',
    'kernel/networks.ts': 'the address of the client is noted once a second',
  },
  send: { [CACHE]: 'what is kept of the sender and the template is a second old, and is read again' },
  webhook: {
    [CACHE]: 'what is kept of the sender is a second old, and is read again',
    'model/messages/dated-pricing.ts': 'the status brings a price, as `delivered` does; `read` brings none',
  },
  'rows uploaded': {
    [CACHE]: 'the campaign was created more than a second ago, and the key is read again',
    'kernel/networks.ts': 'the address of the client is noted once a second',
  },
  'check asked for': {
    [CACHE]: 'the campaign was created more than a second ago, and the key is read again',
    'kernel/networks.ts': 'the address of the client is noted once a second',
  },
  checked: { [CACHE]: 'the key that people who were erased are kept under is read again after a minute' },
  started: {
    [CACHE]: 'the campaign was created more than a second ago, and the key or what room is left is read again',
    'kernel/networks.ts': 'the address of the client is noted once a second',
  },
}

/** Part → file that a piece does not enter which does not count, and why. */
const WITH = {
  'fanned out': { 'recipients/scripts/campaign-move.lua': 'the campaign was parked first, and a later job ended it' },
  'message sent': { 'recipients/files.ts': 'an earlier turn of the lane had opened the list of the campaign' },
}

/** Why the piece does not count; undefined if it does. */
function reasonAgainst(part, { files }) {
  const [entered] = Object.entries(WITHOUT[part] ?? {}).filter(([file]) => files.includes(file))
  const [left] = Object.entries(WITH[part] ?? {}).filter(([file]) => !files.includes(file))
  if (entered !== undefined) return `entered ${entered[0]}: ${entered[1]}`
  return left && `did not enter ${left[0]}: ${left[1]}`
}

/** Gathers the pieces that count of these parts, until there are `enough` of each. */
export function gathering(parts, enough) {
  const counted = new Map(parts.map((part) => [part, []]))
  const reasons = new Map(parts.map((part) => [part, new Map()]))
  return {
    add(part, work) {
      const reason = reasonAgainst(part, work)
      if (reason === undefined) counted.get(part).push(work)
      else reasons.get(part).set(reason, (reasons.get(part).get(reason) ?? 0) + 1)
    },
    isDone: () => parts.every((part) => counted.get(part).length >= enough),
    /** What there was too little of, and why. */
    missing: () =>
      parts
        .filter((part) => counted.get(part).length < enough)
        .map((part) => {
          const why = [...reasons.get(part)].map(([reason, times]) => `\n  ${times} ${reason}`)
          return `${part}: only ${counted.get(part).length} pieces of work count${why.join('')}`
        })
        .join('\n'),
    usual: (part) => usualOf(counted.get(part)),
  }
}

/** The piece that is like most others. `seen`: the different lists of files, in their order. */
function usualOf(pieces) {
  const alike = new Map()
  for (const piece of pieces) {
    const key = piece.files.join()
    alike.set(key, [...(alike.get(key) ?? []), piece])
  }
  const [[usual]] = [...alike.values()].sort((a, b) => b.length - a.length)
  return { ...usual, seen: [...alike.values()].map(([{ files }]) => files) }
}
