// The registry of approved templates: what each says, as the person will see it.
import { useState } from 'preact/hooks'
import { seenOf } from '../logic/template-preview.ts'
import { Badge } from '../parts/badge.tsx'
import { TextField } from '../parts/field.tsx'
import { Age, Empty, Page, Shown } from '../parts/page.tsx'
import { Preview } from '../parts/preview.tsx'
import { Table } from '../parts/table.tsx'
import { Said } from '../parts/text.tsx'
import { type ListedTemplate, loadTemplate, loadTemplates } from '../state/library.ts'
import { useLoad } from '../state/load.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { ImportTemplates } from './templates/import-templates.tsx'
import { RemoveTemplate } from './templates/remove-template.tsx'

/** The list, and the one that `?show=` names. */
export function Templates() {
  const loaded = useLoad('templates', loadTemplates)
  const [words, setWords] = useState('')
  const [imports, setImports] = useState(false)
  const shown = place.value.query.get('show')
  return (
    <Page
      title="Templates"
      actions={
        may('run') && (
          <button type="button" class="primary" onClick={() => setImports(true)}>
            Import
          </button>
        )
      }
    >
      <Shown loaded={loaded}>
        {(all) => {
          if (all.length === 0) return <None />
          const rows = all.filter(({ id }) => id.includes(words.trim().toLowerCase()))
          const one = all.find(({ id }) => id === shown)
          return (
            <>
              <search class="filters">
                <TextField label="Name" type="search" value={words} onValue={setWords} />
              </search>
              <Age loaded={loaded} />
              <div class={one ? 'writing' : ''}>
                <TemplateTable rows={rows} />
                {one && <One key={one.id} template={one} onRemoved={loaded.reload} />}
              </div>
            </>
          )
        }}
      </Shown>
      {imports && <ImportTemplates onDone={loaded.reload} onClose={() => setImports(false)} />}
    </Page>
  )
}

const None = () => (
  <Empty title="No template yet.">
    <p>Campaigns and template messages need templates that WhatsApp has approved. Import its export as JSON.</p>
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
          sort: ({ name }) => name,
          cell: (template) => (
            <a href={`/console/templates?show=${encodeURIComponent(template.id)}`}>
              <Said text={template.name} />
            </a>
          ),
        },
        { title: 'Language', sort: ({ language }) => language, cell: ({ language }) => <Said text={language} /> },
        {
          title: 'Category',
          wide: true,
          sort: ({ category }) => category,
          cell: ({ category }) => category.toLowerCase(),
        },
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

function One({ template, onRemoved }: { template: ListedTemplate; onRemoved: () => void }) {
  const [removes, setRemoves] = useState(false)
  const loaded = useLoad(`template ${template.id}`, (signal) => loadTemplate(template, signal))
  return (
    <section class="card" aria-labelledby="one">
      <h2 id="one">
        <Said text={template.name} /> <span class="quiet">{template.language}</span>
      </h2>
      <Shown loaded={loaded}>
        {(definition) =>
          definition ? <Preview seen={seenOf(definition, new Map())} /> : <p>It has been removed meanwhile.</p>
        }
      </Shown>
      {may('run') && (
        <div class="actions">
          <button type="button" onClick={() => setRemoves(true)}>
            Remove
          </button>
        </div>
      )}
      {removes && <RemoveTemplate template={template} onDone={onRemoved} onClose={() => setRemoves(false)} />}
    </section>
  )
}
