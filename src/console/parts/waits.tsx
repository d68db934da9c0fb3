// Why something does not leave yet, and until when where that is known.
import { Said, Until } from './text.tsx'

/** A line that says so; nothing where nothing waits. */
export function Waits({ waits }: { waits: { sentence: string; until: string | null } | null }) {
  if (waits === null) return null
  return (
    <p class="held">
      Why it waits: <Said text={waits.sentence} />
      {waits.until && (
        <>
          {' '}
          Until <Until at={waits.until} />.
        </>
      )}
    </p>
  )
}
