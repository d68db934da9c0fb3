// A secret that was just made: the only time that it is shown.
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'

/** The secret, until it is closed. `secret` is null when the answer to the first request was lost. */
export function ShownOnce({
  what,
  secret,
  hint,
  onClose,
}: {
  what: 'key' | 'secret'
  secret: string | null
  hint?: string
  onClose: () => void
}) {
  return (
    <Dialog title={`The new ${what}`} onClose={onClose}>
      {secret === null ? (
        <p role="status">It was made before and its answer was lost: nobody can see it any more. Revoke it.</p>
      ) : (
        <>
          <p role="status">Keep it now: it is not shown again.</p>
          <p class="secret">
            <code>{secret}</code> <Copy what={what} text={secret} />
          </p>
          {hint !== undefined && <p class="help">{hint}</p>}
        </>
      )}
      <div class="actions">
        <button type="button" onClick={onClose}>
          I have kept it
        </button>
      </div>
    </Dialog>
  )
}
