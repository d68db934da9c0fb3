// The approved templates, each with a preview.
import { useState } from 'preact/hooks'
import { counted } from '../logic/numbers.ts'
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

/** The list, and beside it the template that `?show=` names. */
export function Templates() {
  const loaded = useLoad('templates', loadTemplates)
  const [typed, setTyped] = useState('')
  const shown = place.value.query.get('show')
  return (
    <Page title="Templates" main={may('administer') && ['Import', importTemplates]}>
      <search class="filters">
        <Field label="Name" kind="search" value={typed} onValue={setTyped} />
      </search>
      <WhenLoaded loaded={loaded} age>
        {(all) => {
          if (all.length === 0) return <None />
          const one = all.find(({ id }) => id === shown)
          return (
            <div class={one ? 'writing' : ''}>
              <TemplateTable rows={all.filter(({ id }) => id.includes(typed.trim().toLowerCase()))} />
              {one && <One key={one.id} template={one} />}
            </div>
          )
        }}
      </WhenLoaded>
    </Page>
  )
}

const None = () => (
  <Empty title="No template yet.">
    Campaigns and template messages need templates that WhatsApp has approved. Import its export as JSON.
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
          cell: ({ status }) => (
            <Badge tone={status === 'APPROVED' ? 'good' : 'wait'}>{status.toLowerCase().replaceAll('_', ' ')}</Badge>
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
      <WhenLoaded loaded={loaded}>
        {(definition) =>
          definition ? <Preview content={previewOf(definition, new Map())} /> : <p>It has been removed meanwhile.</p>
        }
      </WhenLoaded>
      {may('administer') && <Button press={() => removeTemplate(template)}>Remove</Button>}
    </Card>
  )
}

/** Reads one definition, a list, or an answer of WhatsApp with `data`. */
function definitionsOf(text: string): unknown[] {
  try {
    const read: unknown = JSON.parse(text)
    if (Array.isArray(read)) return read
    if (typeof read === 'object' && read !== null && 'data' in read && Array.isArray(read.data)) return read.data
    return [read]
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
      const data = definitionsOf(text)
      await call('POST', '/admin/templates', { body: { data }, headers })
      return `${counted(data.length, 'template')} imported.`
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
