// Event endpoints: the list with their states, and the form that adds or changes one.
import type { EndpointDocument } from '../../../../src/model/events/endpoint.ts'
import { DEFAULT_TYPES, EVENT_TYPES } from '../../../../src/model/events/event-names.ts'
import { endpointWords } from '../logic/words.ts'
import { partsOf, type Values } from '../parts/fields.tsx'
import { ask, showOnce } from '../parts/form.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Ago, Badge } from '../parts/text.tsx'
import { dataOf } from '../state/http.ts'

const EVERY_MS = 5_000

/** The list, with a button to add one. */
export const Endpoints = () => (
  <Page title="Event endpoints" main={['Add an endpoint', newEndpoint]}>
    <p>Addresses of yours that receive events: deliveries, failures, what people write.</p>
    <List
      cards
      caption="Event endpoints"
      from={listAt<EndpointDocument>('/event-endpoints')}
      every={EVERY_MS}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No address receives events yet.">
          Add the address of a program of yours. Each event is signed, tried again until it is accepted, and kept for a
          week to be sent once more.
        </Empty>
      }
      columns={[
        {
          title: 'Endpoint',
          head: true,
          long: true,
          text: ({ url }) => url,
          href: ({ id }) => `/console/endpoints/${id}`,
        },
        {
          title: 'State',
          cell: (endpoint) => <Badge tone={endpointWords(endpoint).tone}>{endpointWords(endpoint).word}</Badge>,
          note: (endpoint) => endpointWords(endpoint).tone !== 'good' && endpointWords(endpoint).means,
        },
        { title: 'Last success', cell: ({ last_success_at }) => <Ago at={last_success_at} /> },
        { title: 'Types', number: true, wide: true, cell: ({ types }) => types.length },
        { title: 'Senders', wide: true, text: ({ senders }) => senders.join(', ') || 'all' },
      ]}
    />
  </Page>
)

/** The form fields of an endpoint; the server checks the values. */
export const endpointFields = (of?: EndpointDocument) =>
  ({
    url: {
      kind: 'url',
      label: 'Address',
      value: of?.url ?? '',
      required: true,
      placeholder: 'https://shop.example/hooks/laneway',
    },
    types: {
      kind: 'checks',
      label: 'Events',
      options: EVENT_TYPES.map((type) => [type, type] as const),
      value: of?.types ?? DEFAULT_TYPES,
    },
    content: {
      kind: 'check',
      label: 'With numbers and texts, not only ids and states',
      value: of?.include_content ?? false,
    },
    senders: {
      label: 'Only of these senders',
      value: of?.senders.join(', ') ?? '',
      help: 'Numbers, names or ids, separated by commas. Empty: all.',
    },
    most: {
      half: true,
      kind: 'number',
      label: 'Events at once, at most',
      value: String(of?.batch.max_events ?? 1),
      min: '1',
      max: '100',
      required: true,
    },
    wait: {
      half: true,
      kind: 'number',
      label: 'Wait for more (ms)',
      value: String(of?.batch.max_wait_ms ?? 1_000),
      min: '0',
      max: '60000',
      required: true,
    },
  }) as const

/** The values of the form as the body of a request. */
export const endpointBody = (values: Values<ReturnType<typeof endpointFields>>) => ({
  url: values.url.trim(),
  types: values.types,
  senders: partsOf(values.senders),
  include_content: values.content,
  batch: { max_events: Number(values.most), max_wait_ms: Number(values.wait) },
})

/** The hint beside a new secret. */
export const SECRET_HINT =
  'Check the header webhook-signature of every delivery with it, by the Standard Webhooks rules.'

/** Adds an endpoint and shows its signing secret once. */
const newEndpoint = (): void =>
  ask({
    title: 'Add an endpoint',
    verb: 'Add the endpoint',
    fields: endpointFields(),
    ready: ({ types }) => types.length > 0,
    act: async (values, headers) => {
      const how = { body: endpointBody(values), headers }
      showOnce('secret', (await dataOf<{ secret: string }>('POST', '/event-endpoints', how)).secret, SECRET_HINT)
    },
  })
