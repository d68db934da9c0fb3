// The senders, each a business number with its provider, rate and lane.
import type { SenderDocument as Sender } from '../../../../src/model/accounts/sender.ts'
import type { PortfolioDocument as Portfolio } from '../../../../src/producer/api/portfolios/routes.ts'
import { ROUTES } from '../logic/draft.ts'
import { nonEmpty } from '../parts/fields.tsx'
import { ask, thenNotify } from '../parts/form.tsx'
import { List, listAt, type RowAction } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Badge, sentence, Text } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { call, dataOf } from '../state/http.ts'
import { loadPortfolios } from '../state/library.ts'
import { showCheck } from './sender-check.tsx'
import { WebhookSecrets } from './webhook-secrets.tsx'

/** The list, with buttons to add, change and remove. */
export function Senders() {
  const portfolios = useLoad('portfolios', loadPortfolios).value ?? []
  return (
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
          { title: 'Number', text: ({ number }) => number, note: (sender) => sender.default && 'the default' },
          { title: 'Provider', wide: true, text: ({ provider }) => provider },
          { title: 'Address', wide: true, text: ({ base_url }) => base_url },
          {
            title: 'Per second',
            number: true,
            cell: ({ rate }) => rate,
            note: ({ follow_provider, provider }) => provider === 'cloud-api' && follow_provider && 'follows WhatsApp',
          },
          { title: 'Portfolio', text: ({ portfolio }) => portfolioName(portfolios, portfolio) },
          { title: 'At WhatsApp', cell: Standing, note: ({ restricted }) => restricted },
        ]}
        actions={(sender) => [
          ...(sender.provider === 'cloud-api' ? [checkOf(sender)] : []),
          ['Change', `sender ${sender.id}`, () => changeSender(sender, portfolios)],
          ['Remove', `sender ${sender.id}`, () => removeSender(sender)],
        ]}
      />
      <WebhookSecrets />
    </Page>
  )
}

/** WhatsApp's rating of the number, and the name that it approved. */
const Standing = ({ quality, restricted, verified_name }: Sender) => (
  <>
    {restricted !== null ? (
      <Badge tone="bad">restricted</Badge>
    ) : quality !== null ? (
      <Badge tone="wait">{quality.toLowerCase()}</Badge>
    ) : (
      verified_name === null && <span class="quiet">not reported</span>
    )}{' '}
    {verified_name !== null && <Text text={verified_name} />}
  </>
)

const portfolioName = (portfolios: readonly Portfolio[], id: number | null): string =>
  id === null ? '–' : (portfolios.find((each) => each.id === id)?.name ?? String(id))

const checkOf = ({ id, name, number }: Sender): RowAction => [
  'Check',
  `sender ${id}`,
  () => showCheck(id, `sender ${id}, ${name || number}`),
]

const PROVIDERS = [
  ['cloud-api', 'WhatsApp’s Cloud API'],
  ['partner-api', 'a partner'],
] as const

const NAME = { label: 'Name', help: 'Requests may name the sender by it.' }
const RATE = { kind: 'number', label: 'Messages per second', step: 'any', required: true } as const
const TOKEN = { kind: 'password', autocomplete: 'off' } as const
const WABA = {
  label: 'WhatsApp Business Account id',
  help: 'Its templates are synced.',
} as const
const IS_DEFAULT = { kind: 'check', label: 'Sends messages that name no sender' } as const

const newSender = (): void =>
  ask({
    title: 'Add a sender',
    verb: 'Add the sender',
    fields: {
      number: { label: 'Number', required: true, placeholder: '+44 7700 900123' },
      name: NAME,
      provider: { label: 'Reached through', options: PROVIDERS, value: 'cloud-api' },
      base_url: { kind: 'url', label: 'Address', required: true, value: 'https://graph.facebook.com' },
      phone_number_id: { label: 'Phone number id', required: true, when: ({ provider }) => provider === 'cloud-api' },
      waba_id: { ...WABA, when: ({ provider }) => provider === 'cloud-api' },
      token: { ...TOKEN, label: 'Token', required: true },
      rate: { ...RATE, value: '80' },
      default: IS_DEFAULT,
    },
    act: async ({ name, rate, phone_number_id, waba_id, ...values }, headers) => {
      const ids = values.provider === 'cloud-api' ? { phone_number_id, waba_id: waba_id.trim() } : {}
      const body = { ...values, rate: Number(rate), ...nonEmpty({ name, ...ids }) }
      const { id } = await dataOf<Sender>('POST', '/admin/senders', { body, headers })
      return `Sender ${id} is added; its lane is ${id}.`
    },
  })

const changeSender = (sender: Sender, portfolios: readonly Portfolio[]): void =>
  ask({
    title: `Change sender ${sender.id}`,
    verb: 'Change',
    fields: {
      name: { ...NAME, value: sender.name ?? '' },
      rate: { ...RATE, value: String(sender.rate) },
      waba: { ...WABA, value: sender.waba_id ?? '', when: () => sender.provider === 'cloud-api' },
      token: {
        ...TOKEN,
        label: 'New token',
        help: 'Optional. Resume a lane that was paused for its token.',
      },
      portfolio: {
        label: 'Portfolio',
        help: 'Its numbers share one daily limit.',
        value: String(sender.portfolio ?? ''),
        options: [['', 'none'], ...portfolios.map(({ id, name }) => [String(id), `${id} ${name}`] as const)],
      },
      follows: {
        kind: 'check',
        label: 'Its rate and limit follow WhatsApp’s reports',
        value: sender.follow_provider,
      },
      strict: { kind: 'check', label: 'No second holds more than the rate', value: sender.strict_pace },
      route: {
        label: 'Marketing route',
        value: sender.marketing_route,
        options: ROUTES,
        when: () => sender.provider === 'cloud-api',
      },
      isDefault: { ...IS_DEFAULT, value: sender.default, disabled: sender.default },
    },
    act: async ({ name, rate, token, waba, portfolio, follows, strict, route, isDefault }) => {
      const body = {
        ...(portfolio === String(sender.portfolio ?? '')
          ? {}
          : { portfolio: portfolio === '' ? null : Number(portfolio) }),
        ...(follows === sender.follow_provider ? {} : { follow_provider: follows }),
        ...(strict === sender.strict_pace ? {} : { strict_pace: strict }),
        ...(route === sender.marketing_route ? {} : { marketing_route: route }),
        ...(name.trim() === (sender.name ?? '') ? {} : { name: name.trim() || null }),
        ...(Number(rate) === sender.rate ? {} : { rate: Number(rate) }),
        ...(token === '' ? {} : { token }),
        ...(waba.trim() === (sender.waba_id ?? '') ? {} : { waba_id: waba.trim() || null }),
        ...(isDefault && !sender.default ? { default: true } : {}),
      }
      if (Object.keys(body).length > 0) await call('PATCH', `/admin/senders/${sender.id}`, { body })
      return `Sender ${sender.id} is changed.`
    },
  })

/** The server refuses this while messages wait on the lane. */
const removeSender = (sender: Sender): void =>
  ask({
    title: `Remove sender ${sender.id}`,
    verb: 'Remove the sender',
    danger: true,
    text: sentence`${sender.name || sender.number} sends nothing any more, and its token is forgotten. It is refused as long as
      messages wait on its lane. What was sent stays on record.`,
    act: () => thenNotify(call('DELETE', `/admin/senders/${sender.id}`), `Sender ${sender.id} is removed.`),
  })
