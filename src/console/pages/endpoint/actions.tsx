// What can be done with an endpoint: test it, tell it again what happened, change it, turn it off, and remove it.
import { useState } from 'preact/hooks'
import type { EndpointDocument } from '../../../events/endpoint.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { say, sayRefusal } from '../../parts/notices.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { Said } from '../../parts/text.tsx'
import { call, dataOf } from '../../state/http.ts'
import { go } from '../../state/router.ts'
import { endpointAddress } from '../endpoint.tsx'
import { bodyOf, draftOf, EndpointFields } from './fields.tsx'
import { SECRET_HINT } from './new-endpoint.tsx'
import { Replay } from './replay.tsx'

type Deed = 'replay' | 'change' | 'rotate' | 'turn' | 'remove'
interface Props {
  endpoint: EndpointDocument
  onChange: (changed: EndpointDocument) => void
  onClose: () => void
}

/** The buttons, and the dialog of the one that was pressed. */
export function EndpointActions({ endpoint, onChange }: Omit<Props, 'onClose'>) {
  const [asked, setAsked] = useState<Deed>()
  const [busy, setBusy] = useState(false)
  const props = { endpoint, onChange, onClose: () => setAsked(undefined) }
  const test = async (): Promise<void> => {
    setBusy(true)
    try {
      await call('POST', `${endpointAddress(endpoint.id)}/test`, { body: {} })
      say('A test event is on its way; the deliveries below tell what was answered.')
    } catch (error) {
      sayRefusal(error)
    }
    setBusy(false)
  }
  const button = (deed: Deed, words: string) => (
    <button type="button" onClick={() => setAsked(deed)}>
      {words}
    </button>
  )
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void test()}>
        Send a test
      </button>
      {button('replay', 'Replay')}
      {button('change', 'Change')}
      {button('turn', endpoint.enabled ? 'Turn off' : 'Turn on')}
      {button('rotate', 'Rotate secret')}
      {button('remove', 'Remove')}
      {asked === 'replay' && <Replay endpoint={endpoint} onClose={props.onClose} />}
      {asked === 'change' && <Change {...props} />}
      {asked === 'rotate' && <Rotate {...props} />}
      {asked === 'turn' && <Turn {...props} />}
      {asked === 'remove' && <Remove {...props} />}
    </>
  )
}

function Change({ endpoint, onChange, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(endpoint))
  const act = async (): Promise<void> => {
    onChange(await dataOf('PATCH', endpointAddress(endpoint.id), { body: bodyOf(draft) }))
    say('The endpoint is changed.')
    onClose()
  }
  return (
    <Confirm
      title="Change the endpoint"
      verb="Change the endpoint"
      ready={draft.types.length > 0}
      act={act}
      onClose={onClose}
    >
      <EndpointFields draft={draft} onChange={setDraft} />
    </Confirm>
  )
}

function Rotate({ endpoint, onClose }: Props) {
  const [secret, setSecret] = useState<string>()
  if (secret !== undefined) return <ShownOnce what="secret" secret={secret} hint={SECRET_HINT} onClose={onClose} />
  const act = async (): Promise<void> => {
    const made = await dataOf<{ secret: string }>('POST', `${endpointAddress(endpoint.id)}/rotate-secret`, { body: {} })
    setSecret(made.secret)
  }
  return (
    <Confirm title="Rotate the secret" verb="Make a new secret" danger act={act} onClose={onClose}>
      <p>
        Deliveries to <Said text={endpoint.url} /> are signed with the old and the new one for 24 hours, then with the
        new one only. Give the new one to the program in that time.
      </p>
    </Confirm>
  )
}

function Turn({ endpoint, onChange, onClose }: Props) {
  const { enabled, url } = endpoint
  const verb = enabled ? 'Turn it off' : 'Turn it on'
  const act = async (): Promise<void> => {
    onChange(await dataOf('PATCH', endpointAddress(endpoint.id), { body: { enabled: !enabled } }))
    say(enabled ? 'The endpoint is off.' : 'The endpoint is on.')
    onClose()
  }
  return (
    <Confirm title={verb} verb={verb} danger={enabled} act={act} onClose={onClose}>
      <p>
        {enabled ? (
          <>
            <Said text={url} /> is told nothing more until somebody turns it on again. What happens in the meantime is
            kept for it, as long as events are kept.
          </>
        ) : (
          <>
            <Said text={url} /> is told what happens, from where it stopped.
          </>
        )}
      </p>
    </Confirm>
  )
}

function Remove({ endpoint, onClose }: Props) {
  const act = async (): Promise<void> => {
    await call('DELETE', endpointAddress(endpoint.id))
    say('The endpoint is removed.')
    go('/console/endpoints')
  }
  return (
    <Confirm title="Remove the endpoint" verb="Remove it" danger act={act} onClose={onClose}>
      <p>
        <Said text={endpoint.url} /> is told nothing more; what still waits for it is dropped, and so are its secret and
        the list of its deliveries. There is no way back.
      </p>
    </Confirm>
  )
}
