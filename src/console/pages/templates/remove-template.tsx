// Taking a template out of the registry.
import { Confirm } from '../../parts/dialog.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { call } from '../../state/http.ts'
import { type ListedTemplate, templateAddress } from '../../state/library.ts'
import { go } from '../../state/router.ts'

/** Says what can no longer be sent, and asks. */
export function RemoveTemplate({
  template,
  onDone,
  onClose,
}: {
  template: ListedTemplate
  onDone: () => void
  onClose: () => void
}) {
  const { name, language } = template
  const act = async (): Promise<void> => {
    await call('DELETE', templateAddress(template), { query: { language } })
    say(`${name} is removed.`)
    onClose()
    go('/console/templates', { replace: true })
    onDone()
  }
  return (
    <Confirm title={`Remove ${name}`} verb="Remove the template" danger act={act} onClose={onClose}>
      <p>
        Messages and campaigns with <Said text={name} /> in {language} are refused from now on. WhatsApp keeps it: it
        can be imported again.
      </p>
    </Confirm>
  )
}
