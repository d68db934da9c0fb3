// The judge: compares what the client was told, what WhatsApp took, and what the service says, and finds every
// message whose case is not one of the three promised: proven sent, proven unsent, flagged. Pure.

/** One message as the client knows it. */
export interface Request {
  /** Recipient; tells messages apart, in whatever shape and number they arrive. */
  to: string
  /** Every id that it was acknowledged with: more than one means that a repeated request made a new message. */
  ids: readonly string[]
}

/** One line of WhatsApp's ledger. */
export interface LedgerLine {
  to: string
  /** Our message id in it. */
  id: string | undefined
}

export interface Case {
  requests: readonly Request[]
  ledger: readonly LedgerLine[]
  /** Message id → what its lookup says. */
  states: ReadonlyMap<string, string>
  /** Ids with the flag possible_duplicate. */
  possibleDuplicates: ReadonlySet<string>
  /** Recipients whose message WhatsApp took and reported as failed afterwards: `failed` is the truth then. */
  refusedLater: ReadonlySet<string>
  /** Whether WhatsApp was still being sent messages when the time was over: what is open then is late, not lost. */
  atWork?: boolean
  /** Most messages that may end flagged: killed attempts and answers that prove nothing. */
  flagsEarned: number
}

export interface Judgement {
  accepted: number
  inLedger: number
  /** Accepted, never taken by WhatsApp, and the service does not say so; nor is it still about to be sent. */
  lostSilently: string[]
  /** Taken more than once without the flag. */
  sentTwiceSilently: string[]
  /** Taken more than once, flagged or not. */
  sentTwice: string[]
  /** Ended unknown or unconfirmed, or with the flag possible_duplicate. */
  flagged: string[]
  /** More are flagged than can have earned it. */
  unearned: boolean
  /** Taken although nobody asked for it. */
  invented: string[]
  /** The service says that it went out and it did not, or the other way round. */
  contradictions: string[]
  /** Neither settled nor flagged when the time was over; breaks no promise while others were still being sent. */
  unsettled: string[]
  /** One sentence for each way in which the promise was broken; empty when it was kept. */
  violations: string[]
}

const WENT_OUT = new Set(['sent', 'delivered', 'read'])
const DID_NOT_GO_OUT = new Set(['failed', 'expired', 'cancelled'])
const FLAGGED = new Set(['unknown', 'unconfirmed'])
const OPEN = new Set(['queued', 'sending'])
/** Those that get on by themselves: in doubt, a message waits for evidence. */
const ON_THE_WAY = new Set([...OPEN, 'unconfirmed'])

export function judge(given: Case): Judgement {
  const taken = countBy(given.ledger, ({ to }) => to)
  const requested = new Map(given.requests.map((request) => [request.to, request]))
  const idsOf = new Map<string, Set<string>>()
  for (const { to, ids } of given.requests) idsOf.set(to, new Set(ids))
  for (const { to, id } of given.ledger) if (id !== undefined) idsOf.get(to)?.add(id)

  const accepted = given.requests.filter(({ ids }) => ids.length > 0)
  const stateOf = (request: Request): string => given.states.get(request.ids[0] ?? '') ?? 'missing'
  const isFlagged = (to: string): boolean =>
    [...(idsOf.get(to) ?? [])].some((id) => given.possibleDuplicates.has(id) || FLAGGED.has(given.states.get(id) ?? ''))

  const lostSilently = accepted
    .filter((request) => !taken.has(request.to))
    .filter((request) => !DID_NOT_GO_OUT.has(stateOf(request)) && !FLAGGED.has(stateOf(request)))
    .filter((request) => !(given.atWork && OPEN.has(stateOf(request))))
  const sentTwice = [...taken].filter(([, times]) => times > 1).map(([to]) => to)
  const contradictions = accepted.filter((request) =>
    taken.has(request.to)
      ? DID_NOT_GO_OUT.has(stateOf(request)) && !given.refusedLater.has(request.to)
      : WENT_OUT.has(stateOf(request)),
  )
  const unsettled = accepted
    .filter((request) => !WENT_OUT.has(stateOf(request)) && !DID_NOT_GO_OUT.has(stateOf(request)))
    .filter((request) => stateOf(request) !== 'unknown')
  const named = (request: Request): string => `${request.to} ${stateOf(request)}`
  const flagged = accepted.map(({ to }) => to).filter(isFlagged)
  const judgement: Judgement = {
    accepted: accepted.length,
    inLedger: given.ledger.length,
    lostSilently: lostSilently.map(({ to }) => to),
    sentTwiceSilently: sentTwice.filter((to) => !isFlagged(to)),
    sentTwice,
    flagged,
    unearned: flagged.length > given.flagsEarned,
    invented: [...taken.keys()].filter((to) => !requested.has(to)),
    contradictions: contradictions.map(named),
    unsettled: unsettled.map(named),
    violations: [],
  }
  const reborn = given.requests.filter(({ ids }) => new Set(ids).size > 1).map(({ to }) => to)
  judgement.violations = violationsOf(judgement, {
    reborn,
    stuck: unsettled.filter((each) => !(given.atWork && ON_THE_WAY.has(stateOf(each)))).map(named),
    flagsEarned: given.flagsEarned,
  })
  return judgement
}

function violationsOf(
  judgement: Judgement,
  { reborn, stuck, flagsEarned }: { reborn: readonly string[]; stuck: readonly string[]; flagsEarned: number },
): string[] {
  const all: [readonly string[], string][] = [
    [judgement.lostSilently, 'lost silently'],
    [judgement.sentTwiceSilently, 'sent twice silently'],
    [judgement.invented, 'sent although nobody asked for it'],
    [judgement.contradictions, 'with a state that the ledger contradicts'],
    [stuck, 'neither settled nor flagged when the time was over'],
    [reborn, 'acknowledged under two ids for one Idempotency-Key'],
  ]
  const sentences = all.filter(([found]) => found.length > 0).map(([found, what]) => sentence(found, what))
  if (judgement.unearned) {
    sentences.push(`${judgement.flagged.length} flagged, but only ${flagsEarned} can have earned it`)
  }
  return sentences
}

const sentence = (found: readonly string[], what: string): string =>
  `${found.length} ${what}: ${found.slice(0, 5).join(', ')}${found.length > 5 ? ' …' : ''}`

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}
