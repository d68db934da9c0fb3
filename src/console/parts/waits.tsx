// Why something does not leave yet, and until when where that is known.
import { Said, Until } from './text.tsx'

interface WaitsFor {
  /** Of the message or the campaign: either names its lane. */
  id: string
  waits: { why: string; sentence: string; until: string | null } | null
}

/** A line that says so, with a way to the lane that stands; nothing where nothing waits. */
export function Waits({ id, waits }: WaitsFor) {
  if (waits === null) return null
  const [, lane] = id.split('_')
  return (
    <p class="held">
      Why it waits: <Said text={waits.sentence} />
      {waits.until && (
        <>
          {' '}
          Until <Until at={waits.until} />.
        </>
      )}
      {waits.why.startsWith('lane_') && (
        <>
          {' '}
          <a href={`/console/lanes/${lane}`}>Lane {lane}</a>
        </>
      )}
    </p>
  )
}
