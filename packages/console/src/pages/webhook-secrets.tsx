// The secrets of an account's webhooks, with the address that WhatsApp is to send them to.
import type { WebhookSecretName } from '../../../../src/model/accounts/secrets.ts'
import type { webhookSecrets } from '../../../../src/producer/api/webhooks/routes.ts'
import { ask, showOnce, thenNotify } from '../parts/form.tsx'
import { type RowAction, Table } from '../parts/list.tsx'
import { Card, WhenLoaded } from '../parts/page.tsx'
import { Copy } from '../parts/press.tsx'
import { Ago, Badge, held, sentence } from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'
import { actingFor, call, type Data, randomHex } from '../state/http.ts'
import { session } from '../state/session.ts'

const SECRETS = '/admin/webhook-secrets'
const SECRET_LEAST = 16

interface Kind {
  name: WebhookSecretName
  title: string
  purpose: string
}
const KINDS: readonly Kind[] = [
  { name: 'webhook.app_secret', title: 'App secret', purpose: 'proves that a webhook comes from WhatsApp' },
  { name: 'webhook.verify_token', title: 'Verify token', purpose: 'answers WhatsApp when you set the address' },
]

/** The address of the webhooks and their secrets. */
export function WebhookSecrets() {
  const loaded = useData<Data<typeof webhookSecrets.list>>(SECRETS)
  const account = actingFor.value ?? session.value?.account?.id
  const address = `${location.origin}/webhooks/cloud-api/${account}`
  return (
    <Card title="Webhooks of the Cloud API">
      <p>
        Have WhatsApp send webhooks of this account to <code class="anywhere">{address}</code>{' '}
        <Copy what="address" text={address} />
      </p>
      <p class="help">
        Two secrets of a kind are valid at a time, so that one is replaced without a webhook being lost: add the new
        one, change it at WhatsApp, then remove the older one. None is ever shown again.
      </p>
      <WhenLoaded loaded={loaded}>
        {(counts) => (
          <>
            {(counts.refused_last_day > 0
              ? held
              : sentence)`The last rightly signed webhook came ${<Ago at={counts.last_good_at} />}. Refused for a
            wrong signature: ${counts.refused_last_hour} within an hour, ${counts.refused_last_day} within a day.`}
            <Table
              cards
              caption="Webhook secrets"
              rows={KINDS}
              keyOf={({ name }) => name}
              columns={[
                { title: 'Secret', head: true, text: ({ title }) => title, note: ({ purpose }) => purpose },
                {
                  title: 'Valid',
                  cell: ({ name }) => (
                    <Badge tone={counts[name] === 0 ? 'quiet' : 'good'}>
                      {counts[name] === 0 ? 'none of its own' : `${counts[name]} of 2`}
                    </Badge>
                  ),
                },
              ]}
              actions={(kind) => {
                const count = counts[kind.name]
                const add: RowAction = ['Add', kind.title, () => addSecret(kind, count)]
                const remove: RowAction = [
                  count > 1 ? 'Remove the older' : 'Remove',
                  kind.title,
                  () => removeSecret(kind, count),
                ]
                return count > 0 ? [add, remove] : [add]
              }}
            />
          </>
        )}
      </WhenLoaded>
    </Card>
  )
}

/** Adds a secret that a person has, or makes one and shows it once. */
function addSecret({ name, title }: Kind, count: number): void {
  // As long as a SHA-256 digest.
  const fresh = randomHex(32)
  ask({
    title: `Add: ${title}`,
    verb: 'Add the secret',
    fields: {
      from: {
        label: 'Which',
        value: name === 'webhook.verify_token' ? 'made' : 'given',
        options: [
          ['given', 'one that I have'],
          ['made', 'a new one, made here and shown once'],
        ],
      },
      given: {
        kind: 'password',
        autocomplete: 'off',
        label: 'Secret',
        required: true,
        help: `At least ${SECRET_LEAST} characters, without spaces.`,
        when: ({ from }) => from === 'given',
      },
    },
    note:
      count > 1 ? (
        <p class="held">Two are valid now: the older of them ends at once.</p>
      ) : (
        <p>It is valid within a second, beside the one before.</p>
      ),
    ready: ({ from, given }) => from === 'made' || given.trim().length >= SECRET_LEAST,
    act: async ({ from, given }) => {
      await call('PUT', `${SECRETS}/${name}`, { body: { secret: from === 'made' ? fresh : given.trim() } })
      if (from !== 'made') return 'The secret is added.'
      showOnce('secret', fresh)
    },
  })
}

const removeSecret = ({ name, title }: Kind, count: number): void =>
  ask({
    title: `Remove: ${title}`,
    verb: 'Remove the secret',
    danger: true,
    text:
      count < 2
        ? 'It is the only one: webhooks at the address of this account are refused until another one is added.'
        : 'Webhooks that WhatsApp signs or verifies with the older one are refused within a second.',
    act: () =>
      thenNotify(
        call('DELETE', `${SECRETS}/${name}`, count < 2 ? { query: { all: 'true' } } : {}),
        'The secret is removed.',
      ),
  })
