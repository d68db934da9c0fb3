// Creating a campaign: template, values, recipients, a preview beside them; then it is created, its file uploaded and its
// recipients checked. Nothing is sent before somebody starts it on its own page.
import { useEffect, useState } from 'preact/hooks'
import type { CampaignDescription } from '../../campaigns/commands/campaign-document.ts'
import { instantOf, localOf } from '../logic/message-filters.ts'
import { seenOf } from '../logic/template-preview.ts'
import { fillingsOf } from '../logic/template-read.ts'
import { fillingsFor } from '../logic/template-slots.ts'
import { Choice, TextField } from '../parts/field.tsx'
import { sayRefusal } from '../parts/notices.tsx'
import { Page, Shown } from '../parts/page.tsx'
import { Preview } from '../parts/preview.tsx'
import { dataOf } from '../state/http.ts'
import { loadTags, loadTemplate, loadTemplates, senderChoices } from '../state/library.ts'
import { useLoad } from '../state/load.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { CreateButton } from './campaign-new/create.tsx'
import { type Draft, EMPTY, recipientsFrom, sourcesOf } from './campaign-new/draft.ts'
import { FillingsForm } from './campaign-new/fillings.tsx'
import { Recipients } from './campaign-new/recipients.tsx'
import { useSample } from './campaign-new/sample.ts'
import { TestSend } from './campaign-new/test-send.tsx'

/** The page; `?from=` names a campaign to copy. */
export function NewCampaign() {
  const from = place.value.query.get('from') ?? undefined
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const change = (part: Partial<Draft>): void => setDraft((old) => ({ ...old, ...part }))
  const templates = useLoad('templates', loadTemplates)
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
    })
  }, [copied.value])
  const choose = async (id: string): Promise<void> => {
    const listed = templates.value?.find((each) => each.id === id)
    try {
      change({ template: listed && (await loadTemplate(listed)), fillings: new Map() })
    } catch (error) {
      sayRefusal(error)
    }
  }

  const senders = senderChoices()
  const known = senders.some(([each]) => each === draft.sender) || draft.sender === ''
  const { template } = draft
  const sample = useSample(draft)
  const filled = fillingsFor(draft.fillings, sample.values)
  return (
    <Page title="New campaign" above={<a href="/console/campaigns">Campaigns</a>}>
      <div class="writing">
        <div class="stack">
          <section class="card" aria-labelledby="what">
            <h2 id="what">Message</h2>
            <TextField label="Name, for your colleagues" value={draft.name} onValue={(name) => change({ name })} />
            <Choice
              label="Sender"
              value={draft.sender}
              onValue={(sender) => change({ sender })}
              options={[['', 'Choose a sender'], ...(known ? [] : [[draft.sender, draft.sender] as const]), ...senders]}
            />
            <Shown loaded={templates}>
              {(all) =>
                all.length === 0 ? (
                  <p>
                    No template yet.{' '}
                    {may('run') ? (
                      <a href="/console/templates">Import the approved ones</a>
                    ) : (
                      'Ask whoever runs the account to import the approved ones.'
                    )}
                  </p>
                ) : (
                  <Choice
                    label="Template"
                    value={template === undefined ? '' : `${template.name}/${template.language}`}
                    onValue={(id) => void choose(id)}
                    options={[
                      ['', 'Choose a template'],
                      ...all.map(({ id, name, language }) => [id, `${name}, ${language}`] as const),
                    ]}
                  />
                )
              }
            </Shown>
          </section>
          <Recipients draft={draft} tags={tags} onChange={change} />
          {template && (
            <section class="card" aria-labelledby="values">
              <h2 id="values">Values</h2>
              <FillingsForm
                template={template}
                sources={sourcesOf(draft)}
                fillings={draft.fillings}
                onChange={(fillings) => change({ fillings })}
              />
            </section>
          )}
          <section class="card" aria-labelledby="until">
            <h2 id="until">Until when</h2>
            <TextField
              label="Never send later than"
              type="datetime-local"
              value={localOf(draft.validUntil)}
              onValue={(local) => change({ validUntil: instantOf(local) })}
              help="May stay empty: then the account’s validity counts from the start."
            />
          </section>
          <CreateButton draft={draft} />
        </div>
        <div class="stack beside">
          <section class="card" aria-labelledby="preview">
            <h2 id="preview">Preview</h2>
            {template ? (
              <>
                <Preview seen={seenOf(template, filled)} />
                <p class="help">{sample.words}</p>
              </>
            ) : (
              <p class="quiet">Choose a template to see the message.</p>
            )}
          </section>
          {template && draft.sender !== '' && <TestSend sender={draft.sender} template={template} fillings={filled} />}
        </div>
      </div>
    </Page>
  )
}
