// What went wrong, in the server's words, with each fault in its own line.
import { plainText } from '../logic/plain-text.ts'
import { NOTHING_CHANGED, type Refused } from '../state/http.ts'

/** A refusal; nothing when there is none. `isBack`: who was away is there again, and what was asked for was not done. */
export function Problem({
  refusal,
  isBack = false,
  onRetry,
}: {
  refusal: Refused | undefined
  isBack?: boolean
  onRetry?: () => void
}) {
  if (refusal === undefined) return null
  if (isBack) {
    return (
      <p class="quiet" role="status">
        Laneway can be reached again. {NOTHING_CHANGED} Press again.
      </p>
    )
  }
  const { details } = refusal
  return (
    <div class="problem" role="alert">
      <p>
        <span aria-hidden="true">! </span>
        {plainText(refusal.message)}
      </p>
      {details.length > 1 && (
        <ul>
          {details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{plainText(path)}</code>: {plainText(message)}
            </li>
          ))}
        </ul>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
