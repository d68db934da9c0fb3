// One event endpoint: its settings, its latest deliveries, and its actions.
import { useState } from 'preact/hooks'
import type { AttemptDocument, EndpointDocument } from '../../../../src/model/events/endpoint.ts'
import { counted, countText } from '../logic/numbers.ts'
import { endpointWords } from '../logic/words.ts'
import { Field } from '../parts/fields.tsx'
import { ask, showOnce, thenNotify } from '../parts/form.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Card, Facts, Page, WhenLoaded } from '../parts/page.tsx'
import { Button, notify } from '../parts/press.tsx'
import { Ago, Badge, sentence, Text, Until, When, words } from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'
import { call, dataOf } from '../state/http.ts'
import { go } from '../state/router.ts'
import { endpointBody, endpointFields, SECRET_HINT } from './endpoints.tsx'
import { replay } from './replay.tsx'

const EVERY_MS = 3_000

/** The address of an endpoint in the API. */
const addressOf = (id: string): string => `/event-endpoints/${encodeURIComponent(id)}`

/** The page; it polls every 3 s. */
export function EndpointPage({ id }: { id: string }) {
  const at = addressOf(id)
  const loaded = useData<EndpointDocument>(at, EVERY_MS)
  const endpoint = loaded.value
  const state = endpoint && endpointWords(endpoint)
  return (
    <Page
      title={endpoint?.url ?? id}
      above={<a href="/console/endpoints">Event endpoints</a>}
      badge={state && <Badge tone={state.tone}>{state.word}</Badge>}
      actions={endpoint && <Actions endpoint={endpoint} />}
    >
      <WhenLoaded loaded={loaded} age>
        {(found) => (
          <>
            <p class={state?.tone === 'good' ? 'quiet' : 'held'}>
              {state?.means}
              {found.failing_since !== null && words` It began to fail ${<Ago at={found.failing_since} />}.`}
            </p>
            <Settings endpoint={found} />
            <Attempts at={at} />
          </>
        )}
      </WhenLoaded>
    </Page>
  )
}

const Actions = ({ endpoint }: { endpoint: EndpointDocument }) => (
  <>
    <Button
      press={async () => {
        await call('POST', `${addressOf(endpoint.id)}/test`, { body: {} })
        notify('A test event is on its way; the deliveries below show the answer.')
      }}
    >
      Send a test
    </Button>
    <Button press={() => replay(addressOf(endpoint.id), endpoint.failing_since)}>Replay</Button>
    <Button press={() => change(endpoint)}>Change</Button>
    <Button press={() => turn(endpoint)}>{endpoint.enabled ? 'Turn off' : 'Turn on'}</Button>
    <Button press={() => rotate(endpoint)}>Rotate secret</Button>
    <Button press={() => remove(endpoint)}>Remove</Button>
  </>
)

const Settings = ({
  endpoint: { types, senders, include_content, batch, ...endpoint },
}: {
  endpoint: EndpointDocument
}) => (
  <Card title="What it receives">
    <Facts
      of={{
        Types: types.join(', '),
        'Of senders': senders.length === 0 ? 'all' : <Text text={senders.join(', ')} />,
        Content: include_content ? 'With numbers and texts.' : 'Ids and states only: no number, no text.',
        Batches:
          batch.max_events === 1
            ? 'One event at a time.'
            : `Up to ${counted(batch.max_events, 'event')} at once, after ${batch.max_wait_ms} ms at the latest.`,
        'Last success': <Ago at={endpoint.last_success_at} />,
        Created: <When at={endpoint.created_at} />,
        Id: <code>{endpoint.id}</code>,
      }}
    />
  </Card>
)

const SHOWN = [
  ['', 'all'],
  ['failed', 'failed ones'],
] as const

/** Deliveries with their answers, the latest first. They are polled until somebody asks for older ones. */
function Attempts({ at }: { at: string }) {
  const [shown, setShown] = useState('')
  return (
    <section aria-labelledby="attempts" class="stack">
      <div class="spread">
        <h2 id="attempts">Deliveries</h2>
        <div class="beside-title">
          <Field label="Show" value={shown} onValue={setShown} options={SHOWN} />
        </div>
      </div>
      <List
        caption="Deliveries"
        from={listAt<AttemptDocument>(`${at}/attempts`, { limit: 50 })}
        every={EVERY_MS}
        only={({ ok }) => shown === '' || !ok}
        more="Show older ones"
        keyOf={({ delivery, attempt, at }) => `${delivery} ${attempt} ${at}`}
        empty={<p class="quiet">Nothing was delivered within the last 7 days.</p>}
        none={<p class="quiet">None of these failed.</p>}
        columns={[
          { title: 'When', head: true, at: ({ at }) => at },
          {
            title: 'Answer',
            cell: ({ ok, status }) => <Badge tone={ok ? 'good' : 'bad'}>{String(status ?? 'no answer')}</Badge>,
            note: ({ problem, answer }) => problem ?? answer,
          },
          {
            title: 'Events',
            text: ({ events }) => counted(events, 'event'),
            note: ({ types }) => <span class="whole">{types.join(', ')}</span>,
          },
          {
            title: 'Attempt',
            wide: true,
            count: ({ attempt }) => attempt,
            note: ({ retry_at: at }) => at !== null && Date.parse(at) > Date.now() && words`again ${<Until at={at} />}`,
          },
          { title: 'Took', number: true, wide: true, cell: ({ took_ms }) => `${countText(took_ms)} ms` },
          { title: 'Delivery', wide: true, cell: ({ delivery }) => <code>{delivery}</code> },
        ]}
      />
    </section>
  )
}

const change = (endpoint: EndpointDocument): void =>
  ask({
    title: 'Change the endpoint',
    fields: endpointFields(endpoint),
    ready: ({ types }) => types.length > 0,
    act: (values) =>
      thenNotify(call('PATCH', addressOf(endpoint.id), { body: endpointBody(values) }), 'The endpoint is changed.'),
  })

const turn = ({ id, enabled, url }: EndpointDocument): void =>
  ask({
    title: enabled ? 'Turn it off' : 'Turn it on',
    danger: enabled,
    text: enabled
      ? sentence`${url} receives nothing more until somebody turns it on again. Events in the meantime are kept for it, as
          long as any event is kept.`
      : sentence`${url} receives events again, from where it stopped.`,
    act: () =>
      thenNotify(
        call('PATCH', addressOf(id), { body: { enabled: !enabled } }),
        `The endpoint is ${enabled ? 'off' : 'on'}.`,
      ),
  })

const rotate = ({ id, url }: EndpointDocument): void =>
  ask({
    title: 'Rotate the secret',
    verb: 'Make a new secret',
    danger: true,
    text: sentence`Deliveries to ${url} are signed with the old and the new one for 24 hours, then with the new one
      only. Give the new one to the program in that time.`,
    act: async () => {
      const { secret } = await dataOf<{ secret: string }>('POST', `${addressOf(id)}/rotate-secret`, { body: {} })
      showOnce('secret', secret, SECRET_HINT)
    },
  })

const remove = ({ id, url }: EndpointDocument): void =>
  ask({
    title: 'Remove the endpoint',
    verb: 'Remove it',
    danger: true,
    text: sentence`${url} receives nothing more; its waiting events are dropped, and so are its secret and the list
      of its deliveries. There is no way back.`,
    act: async () => {
      await call('DELETE', addressOf(id))
      go('/console/endpoints')
      return 'The endpoint is removed.'
    },
  })
