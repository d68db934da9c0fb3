// The approved templates, each with a preview.
import { useState } from 'preact/hooks'
import { counted, countText } from '../logic/numbers.ts'
import { previewOf } from '../logic/template-preview.ts'
import { Field } from '../parts/fields.tsx'
import { ask } from '../parts/form.tsx'
import { Table } from '../parts/list.tsx'
import { Card, Empty, Page, WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { Preview } from '../parts/preview.tsx'
import { Badge, sentence, words } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { call, Refused } from '../state/http.ts'
import { type ListedTemplate, loadTemplate, loadTemplates, templateAddress } from '../state/library.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { TemplateSyncs } from './template-sync.tsx'

/** Rows that are shown at first, and with each press of the button: a thousand at once make every letter of a search wait. */
const SHOWN = 100

/** The list, and beside it the template that `?show=` names. */
export function Templates() {
  const loaded = useLoad('templates', loadTemplates)
  const [typed, setTyped] = useState('')
  const [state, setState] = useState('')
  const [most, setMost] = useState(SHOWN)
  const shown = place.value.query.get('show')
  return (
    <Page title="Templates" main={may('administer') && ['Import', importTemplates]}>
      <TemplateSyncs />
      <search class="filters">
        <Field label="Name" kind="search" value={typed} onValue={setTyped} />
        <Field label="Status" value={state} onValue={setState} options={STATES} />
      </search>
      <WhenLoaded loaded={loaded} age>
        {(all) => {
          if (all.length === 0) return <None />
          const one = all.find(({ id }) => id === shown)
          const found = all.filter((each) => each.id.includes(typed.trim().toLowerCase()) && isIn(state, each))
          return (
            <div class={one ? 'writing' : ''}>
              <div class="stack">
                <TemplateTable rows={found.slice(0, most)} />
                <p class="quiet" role="status">
                  {found.length > most
                    ? `${countText(most)} of ${counted(found.length, 'template')} are shown.`
                    : `${counted(found.length, 'template')}.`}
                </p>
                {found.length > most && <Button press={() => setMost(most + SHOWN)}>Show more</Button>}
              </div>
              {one && <One key={one.id} template={one} />}
            </div>
          )
        }}
      </WhenLoaded>
    </Page>
  )
}

const STATES = [
  ['', 'any'],
  ['sendable', 'can be sent'],
  ['other', 'not approved'],
  ['unknown', 'cannot be filled in'],
] as const

function isIn(state: string, { status, cannot_be_sent: reason }: ListedTemplate): boolean {
  if (state === 'unknown') return reason !== null
  if (state === 'other') return status !== 'APPROVED'
  return state === '' || (status === 'APPROVED' && reason === null)
}

const None = () => (
  <Empty title="No template yet.">
    Campaigns and template messages need templates that WhatsApp has approved. Those of a sender whose WhatsApp Business
    Account is known come by themselves; others are imported as JSON.
  </Empty>
)

const TemplateTable = ({ rows }: { rows: readonly ListedTemplate[] }) => (
  <div class="framed">
    <Table
      caption="Templates"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          head: true,
          sort: true,
          text: ({ name }) => name,
          href: ({ id }) => `/console/templates?show=${encodeURIComponent(id)}`,
        },
        { title: 'Language', sort: true, text: ({ language }) => language },
        { title: 'Category', wide: true, sort: true, text: ({ category }) => category.toLowerCase() },
        {
          title: 'Status',
          cell: ({ status, cannot_be_sent: reason }) => (
            <Badge tone={status === 'APPROVED' && reason === null ? 'good' : 'wait'}>
              {reason === null ? status.toLowerCase().replaceAll('_', ' ') : 'cannot be filled in'}
            </Badge>
          ),
        },
      ]}
    />
  </div>
)

function One({ template }: { template: ListedTemplate }) {
  const loaded = useLoad(`template ${template.id}`, (signal) => loadTemplate(template, signal))
  return (
    <Card title={words`${template.name} ${<span class="quiet">{template.language}</span>}`}>
      {template.cannot_be_sent !== null && <p class="held">{template.cannot_be_sent}</p>}
      <WhenLoaded loaded={loaded}>
        {(definition) =>
          definition ? <Preview content={previewOf(definition, new Map())} /> : <p>It has been removed meanwhile.</p>
        }
      </WhenLoaded>
      {may('administer') && <Button press={() => removeTemplate(template)}>Remove</Button>}
    </Card>
  )
}

/** Reads one definition, a list, or an answer of WhatsApp with `data`, which others may follow. */
function definitionsOf(text: string): { data: unknown[]; isPage: boolean } {
  try {
    const read: unknown = JSON.parse(text)
    if (Array.isArray(read)) return { data: read, isPage: false }
    if (typeof read !== 'object' || read === null || !('data' in read) || !Array.isArray(read.data)) {
      return { data: [read], isPage: false }
    }
    const paging = 'paging' in read ? read.paging : undefined
    return { data: read.data, isPage: typeof paging === 'object' && paging !== null && 'next' in paging }
  } catch {
    throw new Refused(0, 'no_json', 'This is no JSON. Paste one definition, or a list of them.')
  }
}

const importTemplates = (): void =>
  ask({
    title: 'Import templates',
    verb: 'Import',
    fields: {
      file: { kind: 'file', label: 'File', accept: '.json,application/json', into: 'text' },
      text: {
        kind: 'lines',
        label: 'Definitions as JSON',
        help: 'As WhatsApp exports them. One of the same name and language is replaced.',
      },
    },
    ready: ({ text }) => text.trim() !== '',
    act: async ({ text }, headers) => {
      const { data, isPage } = definitionsOf(text)
      await call('POST', '/admin/templates', { body: { data }, headers })
      const more = isPage ? ' The list has more pages: import them as well.' : ''
      return `${counted(data.length, 'template')} imported.${more}`
    },
  })

const removeTemplate = (template: ListedTemplate): void =>
  ask({
    title: `Remove ${template.name}`,
    verb: 'Remove the template',
    danger: true,
    text: sentence`Messages and campaigns with ${template.name} in ${template.language} are refused from now on. WhatsApp
      keeps it: it can be imported again.`,
    act: async () => {
      await call('DELETE', templateAddress(template), { query: { language: template.language } })
      go('/console/templates', { replace: true })
      return `${template.name} is removed.`
    },
  })
