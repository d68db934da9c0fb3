// The states of lanes in words: what each is called, how bad it is, and what holds a lane back.
import { boundSentence, type LaneBound } from '../../../../src/telemetry/lane-bound.ts'
import { type LaneState, secondsToGo } from '../../../../src/telemetry/lane-state.ts'
import type { Snapshot, SnapshotLane } from '../../../../src/telemetry/snapshot.ts'
import { counted, spanText } from './numbers.ts'

interface Words {
  word: string
  tone: 'good' | 'busy' | 'wait' | 'bad' | 'quiet'
  /** The meaning, for a lane that gives no reason of its own. */
  means: string
}

const WORDS: Readonly<Record<LaneState, Words>> = {
  sending: { word: 'Sending', tone: 'good', means: 'Messages leave it.' },
  idle: { word: 'Idle', tone: 'quiet', means: 'Nothing waits.' },
  paused: { word: 'Paused', tone: 'wait', means: 'Nothing leaves it until somebody resumes it.' },
  cooldown: { word: 'Cooldown', tone: 'wait', means: 'The provider asked for a break, or cannot be reached.' },
  resting: { word: 'Campaigns rest', tone: 'wait', means: 'Its campaigns wait for a rule of WhatsApp.' },
  waiting_for_pace: { word: 'At its pace', tone: 'busy', means: 'It sends as fast as its rate allows.' },
  no_worker: { word: 'No worker', tone: 'bad', means: 'No worker is alive that could send.' },
  redis_full: { word: 'Redis full', tone: 'bad', means: 'Redis takes no more writes: nothing can be claimed.' },
  stuck: { word: 'Stuck', tone: 'bad', means: 'Messages wait, nothing holds them, and none leaves.' },
}

/** Word, tone and meaning of a state; an unknown state is shown as it came. */
export const laneWords = (state: LaneState): Words => WORDS[state] ?? { word: state, tone: 'quiet', means: '' }

/** Whether somebody should do something: nothing leaves, and not because nothing waits. */
export const isInTrouble = ({ state }: Pick<SnapshotLane, 'state'>): boolean =>
  !['sending', 'idle', 'resting', 'waiting_for_pace'].includes(state)

/** The number of messages that wait on a lane. */
export const waitingOf = ({ waiting }: Pick<SnapshotLane, 'waiting'>): number =>
  waiting.transactional + waiting.campaign

const BOUNDS: Readonly<Record<LaneBound, string>> = {
  pause: 'a pause',
  cooldown: 'a cooldown',
  rule: 'a rule of WhatsApp',
  pace: 'its rate',
  memory: 'a full worker',
  share: 'its share of the worker',
  answer_time: 'slow answers',
  nothing: 'nothing',
}

/** What holds the lane back, in a few words and in a sentence. */
export const boundWords = (
  lane: Pick<SnapshotLane, 'bound' | 'state' | 'waiting'>,
): { word: string; means: string } => ({
  word: BOUNDS[lane.bound] ?? lane.bound,
  means: boundSentence({ bound: lane.bound, state: lane.state, waiting: waitingOf(lane) }) ?? '',
})

/** Why the lane is in its state, and how long its backlog takes. */
export function laneSentence(lane: SnapshotLane, nowMs: number): string {
  const { means } = laneWords(lane.state)
  const because = lane.reason === null || lane.reason === '' ? means : sentence(lane.reason)
  const pause = pauseText(lane)
  const by = pause === '' ? '' : ` ${sentence(pause)}`
  const waits = waitingOf(lane)
  if (lane.state === 'idle' || waits === 0) return because + by
  const left = secondsToGo(lane, nowMs)
  const drain = left === null ? '' : ` ${counted(waits, 'message')} to go, ${spanText(left.seconds)} at ${left.at}.`
  return because + by + drain
}

/** Who paused the lane, and since when: `by Ada, since 2026-11-23T02:00:00.000Z`; empty for one that runs. */
export const pauseText = ({ by, since }: Pick<SnapshotLane, 'by' | 'since'>): string =>
  [by && `by ${by}`, since && `since ${since}`].filter(Boolean).join(', ')

const sentence = (text: string): string => {
  const trimmed = text.trim()
  const first = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}

const HAS_BEGUN: ReadonlySet<string> = new Set(['running', 'paused', 'done'])

/** Whether anything was or will be sent. Messages of a campaign are listed only once they are taken up, so it counts, too. */
export const hasTraffic = ({ totals, campaigns }: Pick<Snapshot, 'totals' | 'campaigns'>): boolean =>
  totals.waiting > 0 || totals.unconfirmed > 0 || campaigns.some(({ state }) => HAS_BEGUN.has(state))
