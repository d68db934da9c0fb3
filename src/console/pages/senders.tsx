// The senders: business numbers with their providers and rates, each with a lane of its own. Below them, the webhooks.
import type { SenderDocument as Sender } from '../../accounts/sender.ts'
import { ask } from '../parts/dialog.tsx'
import { after } from '../parts/form.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { sentence } from '../parts/text.tsx'
import { call, dataOf } from '../state/http.ts'
import { WebhookSecrets } from './webhook-secrets.tsx'

/** The list, with what adds, changes and removes. */
export const Senders = () => (
  <Page title="Senders" main={['Add a sender', newSender]}>
    <List
      cards
      caption="Senders"
      from={listAt<Sender>('/admin/senders')}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No sender yet.">
          A sender is a business number with the token of its provider. Without one nothing can be sent.
        </Empty>
      }
      columns={[
        {
          title: 'Sender',
          head: true,
          text: ({ id, name, number }) => `${id} ${name || number}`,
          href: ({ id }) => `/console/lanes/${id}`,
        },
        {
          title: 'Number',
          text: ({ number }) => number,
          note: (sender) => sender.default && 'the default',
        },
        { title: 'Provider', wide: true, text: ({ provider }) => provider },
        { title: 'Address', wide: true, text: ({ base_url }) => base_url },
        { title: 'Per second', number: true, cell: ({ rate }) => rate },
      ]}
      actions={(sender) => [
        ['Change', `sender ${sender.id}`, () => changeSender(sender)],
        ['Remove', `sender ${sender.id}`, () => removeSender(sender)],
      ]}
    />
    <WebhookSecrets />
  </Page>
)

const PROVIDERS = [
  ['cloud-api', 'WhatsApp’s Cloud API'],
  ['partner-api', 'a partner'],
] as const

const NAME = { label: 'Name', help: 'Requests may name the sender by it.' }
const RATE = { kind: 'number', label: 'Messages per second', step: 'any', required: true } as const
const TOKEN = { kind: 'password', autocomplete: 'off' } as const
const IS_DEFAULT = { kind: 'check', label: 'Sends what names no sender' } as const

const newSender = (): void =>
  ask({
    title: 'Add a sender',
    verb: 'Add the sender',
    fields: {
      number: { label: 'Number', required: true, placeholder: '+44 7700 900123' },
      name: NAME,
      provider: { label: 'Reached through', options: PROVIDERS, value: 'cloud-api' },
      base_url: { kind: 'url', label: 'Address', required: true },
      phone_number_id: {
        label: 'Phone number id',
        required: true,
        when: ({ provider }) => provider === 'cloud-api',
      },
      token: { ...TOKEN, label: 'Token', required: true },
      rate: { ...RATE, value: '80' },
      default: IS_DEFAULT,
    },
    act: async ({ name, rate, phone_number_id, ...values }, headers) => {
      const body = {
        ...values,
        rate: Number(rate),
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(values.provider === 'cloud-api' ? { phone_number_id } : {}),
      }
      const { id } = await dataOf<Sender>('POST', '/admin/senders', { body, headers })
      return `Sender ${id} is added; its lane is ${id}.`
    },
  })

const changeSender = (sender: Sender): void =>
  ask({
    title: `Change sender ${sender.id}`,
    verb: 'Change',
    fields: {
      name: { ...NAME, value: sender.name ?? '' },
      rate: { ...RATE, value: String(sender.rate) },
      token: {
        ...TOKEN,
        label: 'New token',
        help: 'Optional: otherwise the old one stays. A lane that was paused for its token must be resumed.',
      },
      isDefault: { ...IS_DEFAULT, value: sender.default, disabled: sender.default },
    },
    act: async ({ name, rate, token, isDefault }) => {
      const body = {
        ...(name.trim() === (sender.name ?? '') ? {} : { name: name.trim() || null }),
        ...(Number(rate) === sender.rate ? {} : { rate: Number(rate) }),
        ...(token === '' ? {} : { token }),
        ...(isDefault && !sender.default ? { default: true } : {}),
      }
      if (Object.keys(body).length > 0) await call('PATCH', `/admin/senders/${sender.id}`, { body })
      return `Sender ${sender.id} is changed.`
    },
  })

/** The server allows it once nothing waits on the lane. */
const removeSender = (sender: Sender): void =>
  ask({
    title: `Remove sender ${sender.id}`,
    verb: 'Remove the sender',
    danger: true,
    text: sentence`${sender.name || sender.number} sends nothing any more, and its token is forgotten. It is refused as long as
      messages wait on its lane. What was sent stays on record.`,
    act: () => after(call('DELETE', `/admin/senders/${sender.id}`), `Sender ${sender.id} is removed.`),
  })
