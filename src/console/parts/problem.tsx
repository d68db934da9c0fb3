// What went wrong, in the server's words, with each fault in its own line.
import { plainText } from '../logic/plain-text.ts'
import type { Refused } from '../state/http.ts'

/** A refusal; nothing when there is none. */
export function Problem({ refusal, onRetry }: { refusal: Refused | undefined; onRetry?: () => void }) {
  if (refusal === undefined) return null
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
