// How old the figures on the page are, and where they come from. Always visible: an old number that looks like a new one
// is worse than none.
import { spanText } from '../logic/spans.ts'
import { type Link, link, snapshotAt } from '../state/live.ts'
import { now } from '../state/now.ts'

const WORDS: Readonly<Record<Link, string>> = {
  connecting: 'Connecting',
  stream: 'Live',
  polling: 'Polling',
  hidden: 'Paused',
  lost: 'No connection',
}
/** Figures that are older than this are said to be old: they should come every second. */
const OLD_S = 5

/** The state of the stream and the age of the latest figures. */
export function LiveState() {
  const at = snapshotAt.value
  const seconds = Math.max(0, (now.value - at) / 1_000)
  const isOld = at > 0 && seconds > OLD_S
  const tone = link.value === 'lost' || isOld ? 'bad' : link.value === 'stream' ? 'good' : 'quiet'
  return (
    <p class={`live ${tone}`}>
      <span aria-hidden="true">{tone === 'bad' ? '! ' : tone === 'good' ? '● ' : '○ '}</span>
      {WORDS[link.value]}
      {at > 0 && (
        <span class="age">
          {' '}
          · {isOld ? 'figures are ' : ''}
          {seconds < 2 ? '1 s old' : `${spanText(seconds)} old`}
        </span>
      )}
    </p>
  )
}
