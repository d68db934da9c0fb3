// Revoking a key: whoever uses it is locked out within a second.
import type { KeyDocument as Key } from '../../../accounts/permissions.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { say } from '../../parts/notices.tsx'
import { Ago, Said } from '../../parts/text.tsx'
import { call } from '../../state/http.ts'

/** Says what would stop working, and asks. */
export function RevokeKey({ of: key, onDone, onClose }: { of: Key; onDone: () => void; onClose: () => void }) {
  const act = async (): Promise<void> => {
    await call('DELETE', `/admin/keys/${key.id}`)
    say(`${key.name || key.id} is revoked.`)
    onClose()
    onDone()
  }
  return (
    <Confirm title={`Revoke ${key.name || key.id}`} verb="Revoke the key" danger act={act} onClose={onClose}>
      <p>
        Whoever uses <Said text={key.name || key.id} /> is refused from now on, and sessions of the console with it end.
        It was last used <Ago at={key.last_used_at} />. There is no way back.
      </p>
    </Confirm>
  )
}
