// Writing a campaign, with a preview beside the form. The last step creates it, uploads its file and checks its recipients;
// nothing is sent until somebody starts it on its own page.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CampaignDescription } from '../../../../src/campaigns/commands/campaign-document.ts'
import { type Draft, definitionOf, EMPTY, missingOf, ROUTES, recipientsFrom, sourcesOf } from '../logic/draft.ts'
import { plainText } from '../logic/plain-text.ts'
import { previewOf } from '../logic/template-preview.ts'
import {
  type Fillings,
  fillingsFor,
  fillingsOf,
  SLOT_HELP,
  slotsOf,
  type Template,
  templateMessage,
} from '../logic/template-slots.ts'
import { Field } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Preview } from '../parts/preview.tsx'
import { TemplateChoice } from '../parts/template-choice.tsx'
import { Gauge, words } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { call, dataOf, uploadFile } from '../state/http.ts'
import { firstContact, loadTags, loadTemplate, senderChoices } from '../state/library.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { Recipients } from './recipients.tsx'
import { Followed } from './start.tsx'

/** The page; `?from=` names a campaign to copy. */
export function NewCampaign() {
  const from = place.value.query.get('from') ?? undefined
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const change = (part: Partial<Draft>): void => setDraft((old) => ({ ...old, ...part }))
  const tags = useLoad(may('readContacts') ? 'tags' : undefined, loadTags)
  const copied = useLoad(from, async (signal) => {
    const earlier = await dataOf<CampaignDescription>('GET', `/campaigns/${from}`, { signal })
    return { earlier, template: await loadTemplate(earlier.template, signal).catch(() => undefined) }
  })
  useEffect(() => {
    if (copied.value === undefined) return
    const { earlier, template } = copied.value
    setDraft({
      ...EMPTY,
      name: earlier.name === null ? '' : `${earlier.name} (copy)`.slice(0, 255),
      sender: earlier.sender ?? '',
      template,
      fillings: template ? fillingsOf(template, earlier.template.components) : new Map(),
      ...recipientsFrom(earlier),
      waves: earlier.retry_capped.times,
      route: earlier.marketing_route ?? '',
    })
  }, [copied.value])
  const senders = senderChoices()
  const known = senders.some(([each]) => each === draft.sender) || draft.sender === ''
  const { template } = draft
  const sample = useSample(draft)
  const filled = fillingsFor(draft.fillings, sample.values)
  return (
    <Page title="New campaign" above={<a href="/console/campaigns">Campaigns</a>}>
      <div class="writing">
        <div class="stack">
          <Card title="Message">
            <Field label="Name, for your colleagues" value={draft.name} onValue={(name) => change({ name })} />
            <Field
              label="Sender"
              value={draft.sender}
              onValue={(sender) => change({ sender })}
              options={[['', 'Choose a sender'], ...(known ? [] : [[draft.sender, draft.sender] as const]), ...senders]}
            />
            <TemplateChoice
              template={template}
              onChosen={(chosen) => change({ template: chosen, fillings: new Map() })}
            />
          </Card>
          <Recipients draft={draft} tags={tags} onChange={change} />
          {template && <FillingsCard template={template} draft={draft} onChange={(fillings) => change({ fillings })} />}
          <Card title="Until when">
            <Field
              label="Never send later than"
              kind="time"
              value={draft.validUntil}
              onValue={(validUntil) => change({ validUntil })}
              help="Optional: otherwise the account’s validity counts from the start."
            />
          </Card>
          <Card title="WhatsApp’s limit on marketing">
            <Field
              label="Those who have had enough marketing"
              value={String(draft.waves)}
              onValue={(waves) => change({ waves: Number(waves) })}
              options={WAVES}
              help="WhatsApp limits how much marketing a person gets, and refuses the next one for a day."
            />
          </Card>
          <Card title="WhatsApp’s address for marketing">
            <Field
              label="Marketing route"
              value={draft.route}
              onValue={(chosen) => change({ route: ROUTES.find(([route]) => route === chosen)?.[0] ?? '' })}
              options={[['', 'as its sender has it'], ...ROUTES]}
            />
          </Card>
          <Create draft={draft} />
        </div>
        <div class="stack beside">
          <Card title="Preview">
            {template ? (
              <>
                <Preview content={previewOf(template, filled)} />
                <p class="help">{sample.words}</p>
              </>
            ) : (
              <p class="quiet">Choose a template to see the message.</p>
            )}
          </Card>
          {template && draft.sender !== '' && <TestSend sender={draft.sender} template={template} fillings={filled} />}
        </div>
      </div>
    </Page>
  )
}

const WAVES = Array.from(
  { length: 8 },
  (_, times) =>
    [
      String(times),
      times === 0
        ? 'count as failed'
        : `are tried again the next day, ${times === 1 ? 'once' : `up to ${times} times`}`,
    ] as const,
)

const NOBODY = {
  values: new Map([
    ['contact.name', 'Ada Example'],
    ['contact.phone', '447700900123'],
    ['contact.email', 'ada@shop.example'],
  ]),
  words: 'With the values of a made-up person, until recipients are chosen.',
}

/** Values for preview and test send: of the first recipient, or made up. `words` names which. */
function useSample({ source, tags, head }: Draft): { values: ReadonlyMap<string, string>; words: string } {
  const tag = source === 'tags' ? tags[0] : undefined
  const wanted = tag !== undefined && may('readContacts') ? `first of ${tag}` : undefined
  const contact = useLoad(wanted, (signal) => firstContact(tag ?? 0, signal)).value
  if (source === 'file') {
    if (head === undefined) return { values: new Map(), words: NOBODY.words }
    const values = new Map([...head.first].map(([column, value]) => [`row.${column}`, value]))
    return { values, words: 'With the values of the first row.' }
  }
  if (contact === undefined) return NOBODY
  const { name, phone, email } = contact
  return {
    values: new Map([
      ['contact.name', name ?? ''],
      ['contact.phone', phone],
      ['contact.email', email ?? ''],
    ]),
    words: `With the values of ${plainText(name ?? phone)}, the first on the list.`,
  }
}

const FIXED = ''
const sourceName = (source: string): string =>
  source.startsWith('row.') ? `column “${source.slice(4)}”` : `the contact’s ${source.slice('contact.'.length)}`

/** The value of each slot: the same text for everybody, or a field of the recipient. */
function FillingsCard({
  template,
  draft,
  onChange,
}: {
  template: Template
  draft: Draft
  onChange: (fillings: Fillings) => void
}) {
  const slots = slotsOf(template)
  const sources = sourcesOf(draft)
  const { fillings } = draft
  return (
    <Card title="Values">
      {slots.length === 0 && <p class="quiet">This template has nothing to fill in.</p>}
      {slots.map(({ id, kind, label, optional }) => {
        const filling = fillings.get(id) ?? { fixed: '' }
        const set = (filling: { fixed: string } | { from: string }): void =>
          onChange(new Map([...fillings, [id, filling]]))
        const from = 'from' in filling ? filling.from : FIXED
        const known = from === FIXED || sources.includes(from) ? sources : [...sources, from]
        return (
          <fieldset key={id} class="fields">
            <legend>
              {label}
              {optional && <span class="quiet"> (optional)</span>}
            </legend>
            <Field
              half
              label="Comes from"
              value={from}
              onValue={(chosen) => set(chosen === FIXED ? { fixed: '' } : { from: chosen })}
              options={[[FIXED, 'the same for everybody'], ...known.map((each) => [each, sourceName(each)] as const)]}
            />
            {'fixed' in filling && (
              <Field
                half
                kind={kind === 'moment' ? 'time' : 'text'}
                label="Value"
                help={SLOT_HELP[kind]}
                value={filling.fixed}
                onValue={(fixed) => set({ fixed })}
              />
            )}
          </fieldset>
        )
      })}
    </Card>
  )
}

/**
 * Creates the campaign in three steps: the draft, its file, the check. If a step is refused, the next try does not repeat the
 * draft.
 */
function Create({ draft }: { draft: Draft }) {
  const [step, setStep] = useState('')
  const [share, setShare] = useState<number>()
  const made = useRef<{ body: string; id: string }>(undefined)
  const missing = missingOf(draft)
  const definition = definitionOf(draft)
  const create = async (headers: Readonly<Record<string, string>>): Promise<void> => {
    setStep('Creating the draft …')
    const body = JSON.stringify(definition)
    if (made.current?.body !== body) {
      const { id } = await dataOf<CampaignDescription>('POST', '/campaigns', { body: definition, headers })
      made.current = { body, id }
    }
    const { id } = made.current
    if (draft.source === 'file' && draft.file && draft.head) {
      setStep('Uploading the file …')
      const isCsv = draft.head.format === 'csv'
      const type = isCsv ? 'text/csv' : 'application/x-ndjson'
      await uploadFile(`/campaigns/${id}/rows`, draft.file, type, setShare, isCsv ? draft.csvOptions : {})
    }
    setStep('Checking the recipients …')
    await call('POST', `/campaigns/${id}/preflight`, { body: {} })
    go(`/console/campaigns/${id}`)
  }
  return (
    <Card title="Create and check">
      <Form
        verb="Create and check"
        about={definition}
        text={
          <>
            <p>The campaign becomes a draft and its recipients are checked. Nothing is sent before you start it.</p>
            {missing.length > 0 && (
              <ul class="quiet">
                {missing.map((sentence) => (
                  <li key={sentence}>{sentence}</li>
                ))}
              </ul>
            )}
          </>
        }
        ready={() => missing.length === 0}
        act={async (_values, headers) => {
          try {
            await create(headers)
          } finally {
            setStep('')
            setShare(undefined)
          }
        }}
      />
      <p role="status">
        {step}
        {share !== undefined &&
          words` ${<Gauge label="Uploaded" value={share} most={1} />} ${Math.floor(share * 100)} %`}
      </p>
    </Card>
  )
}

/** Sends one real message of the campaign to one number, with the sample values. */
function TestSend({ sender, template, fillings }: { sender: string; template: Template; fillings: Fillings }) {
  const [sent, setSent] = useState<string>()
  return (
    <Card title="Test send">
      <Form
        isMinor
        verb="Send the test"
        text={<p>Sends this one message, with the values of the sample, to a number of yours.</p>}
        fields={{ to: { label: 'To', required: true, placeholder: '+44 7700 900123' } }}
        act={async ({ to }, headers) => {
          setSent(undefined)
          const path = '/chatappbusiness/send-templated-message'
          const body = { ...templateMessage({ sender, to }, template, fillings), campaign_id: 'test send' }
          const how = { body, headers }
          const { messages } = await call<{ messages: { id: string }[] }>('POST', path, how)
          setSent(messages[0]?.id)
        }}
      />
      {sent !== undefined && <Followed key={sent} id={sent} />}
    </Card>
  )
}
