// A key that was just made: the only time that it is shown.
import { Copy } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'

/** The key, until it is closed. `secret` is null when the answer to the first request was lost. */
export function ShownOnce({ secret, onClose }: { secret: string | null; onClose: () => void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      {secret === null ? (
        <p role="status">It was made before and its answer was lost: nobody can see it any more. Revoke it.</p>
      ) : (
        <>
          <p role="status">Keep it now: it is not shown again.</p>
          <p class="secret">
            <code>{secret}</code> <Copy what="key" text={secret} />
          </p>
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
