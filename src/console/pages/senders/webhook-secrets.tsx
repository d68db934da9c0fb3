// The secrets of the account's Cloud API webhooks: how many are good, adding one, and ending the older one.
import { useState } from 'preact/hooks'
import type { WebhookSecretName } from '../../../accounts/settings.ts'
import { Badge } from '../../parts/badge.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Choice, TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { Shown } from '../../parts/page.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { Table } from '../../parts/table.tsx'
import { actingFor, call, dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { session } from '../../state/session.ts'

type Counts = Readonly<Record<WebhookSecretName, number>>

const ADDRESS = '/admin/webhook-secrets'
const LEAST = 16
const KINDS: readonly { name: WebhookSecretName; title: string; purpose: string }[] = [
  { name: 'webhook.app_secret', title: 'App secret', purpose: 'proves that a webhook comes from WhatsApp' },
  { name: 'webhook.verify_token', title: 'Verify token', purpose: 'answers WhatsApp when you set the address' },
]
const titleOf = (name: WebhookSecretName): string => KINDS.find((kind) => kind.name === name)?.title ?? name

/** As long as a SHA-256, as text that can be pasted anywhere. */
const made = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** A card with the address of the webhooks and its secrets. */
export function WebhookSecrets() {
  const loaded = useLoad<Counts>('webhook secrets', (signal) => dataOf('GET', ADDRESS, { signal }))
  const [asked, setAsked] = useState<{ what: 'add' | 'remove'; name: WebhookSecretName }>()
  const account = actingFor.value ?? session.value?.account?.id
  const address = `${location.origin}/webhooks/cloud-api/${account}`
  const props = { onDone: loaded.reload, onClose: () => setAsked(undefined) }
  return (
    <section class="card" aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks of the Cloud API</h2>
      <p>
        Have WhatsApp send webhooks of this account to <code class="anywhere">{address}</code>{' '}
        <Copy what="address" text={address} />
      </p>
      <p class="help">
        Two secrets of a kind are good at a time, so that one is replaced without a webhook being lost: add the new one,
        change it at WhatsApp, then remove the older one. None is ever shown again.
      </p>
      <Shown loaded={loaded}>
        {(counts) => (
          <Table
            cards
            caption="Webhook secrets"
            rows={KINDS}
            keyOf={({ name }) => name}
            columns={[
              {
                title: 'Secret',
                head: true,
                cell: ({ title, purpose }) => (
                  <>
                    {title} <span class="reason">{purpose}</span>
                  </>
                ),
              },
              {
                title: 'Good',
                cell: ({ name }) => (
                  <Badge tone={counts[name] === 0 ? 'quiet' : 'good'}>
                    {counts[name] === 0 ? 'none of its own' : `${counts[name]} of 2`}
                  </Badge>
                ),
              },
              {
                title: 'Action',
                cell: ({ name, title }) => (
                  <span class="actions">
                    <button type="button" aria-label={`Add: ${title}`} onClick={() => setAsked({ what: 'add', name })}>
                      Add
                    </button>
                    {counts[name] > 0 && (
                      <button
                        type="button"
                        aria-label={`Remove: ${title}`}
                        onClick={() => setAsked({ what: 'remove', name })}
                      >
                        {counts[name] > 1 ? 'Remove the older' : 'Remove'}
                      </button>
                    )}
                  </span>
                ),
              },
            ]}
          />
        )}
      </Shown>
      {asked?.what === 'add' && (
        <AddSecret name={asked.name} isFull={(loaded.value?.[asked.name] ?? 0) > 1} {...props} />
      )}
      {asked?.what === 'remove' && (
        <RemoveSecret name={asked.name} isLast={(loaded.value?.[asked.name] ?? 0) < 2} {...props} />
      )}
    </section>
  )
}

interface Props {
  name: WebhookSecretName
  onDone: () => void
  onClose: () => void
}

/** Asks for a secret that the chat product has made, or makes one and shows it once. */
function AddSecret({ name, isFull, onDone, onClose }: Props & { isFull: boolean }) {
  const [from, setFrom] = useState(name === 'webhook.verify_token' ? 'made' : 'given')
  const [given, setGiven] = useState('')
  const [fresh] = useState(made)
  const [shown, setShown] = useState(false)
  if (shown) return <ShownOnce what="secret" secret={fresh} onClose={onClose} />
  const act = async (): Promise<void> => {
    await call('PUT', `${ADDRESS}/${name}`, { body: { secret: from === 'made' ? fresh : given.trim() } })
    onDone()
    if (from === 'made') return setShown(true)
    say('The secret is added.')
    onClose()
  }
  const isReady = from === 'made' || given.trim().length >= LEAST
  return (
    <Confirm title={`Add: ${titleOf(name)}`} verb="Add the secret" ready={isReady} act={act} onClose={onClose}>
      <Choice
        label="Which"
        value={from}
        onValue={setFrom}
        options={[
          ['given', 'one that I have'],
          ['made', 'a new one, made here and shown once'],
        ]}
      />
      {from === 'given' && (
        <TextField
          label="Secret"
          type="password"
          autocomplete="off"
          value={given}
          onValue={setGiven}
          required
          help={`At least ${LEAST} characters, without spaces.`}
        />
      )}
      {isFull ? (
        <p class="held">! Two are good now: the older of them ends at once.</p>
      ) : (
        <p>It is good within a second, beside the one before.</p>
      )}
    </Confirm>
  )
}

/** Says what is refused from then on, and asks. */
function RemoveSecret({ name, isLast, onDone, onClose }: Props & { isLast: boolean }) {
  const act = async (): Promise<void> => {
    await call('DELETE', `${ADDRESS}/${name}`, isLast ? { query: { all: 'true' } } : {})
    say('The secret is removed.')
    onClose()
    onDone()
  }
  return (
    <Confirm title={`Remove: ${titleOf(name)}`} verb="Remove the secret" danger act={act} onClose={onClose}>
      <p>
        {isLast
          ? 'It is the only one: webhooks at the address of this account are refused until another one is added.'
          : 'Webhooks that WhatsApp signs or verifies with the older one are refused within a second.'}
      </p>
    </Confirm>
  )
}
