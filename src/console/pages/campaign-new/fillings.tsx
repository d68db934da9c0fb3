// What goes into each place of the template: the same for everybody, or taken from each recipient.

import { type Filling, type Fillings, slotsOf, type Template } from '../../logic/template-slots.ts'
import { Choice, TextField } from '../../parts/field.tsx'

const FIXED = ''

/** A pair of fields for each place: where from, and the text when it is the same for everybody. */
export function FillingsForm({
  template,
  sources,
  fillings,
  onChange,
}: {
  template: Template
  sources: readonly string[]
  fillings: Fillings
  onChange: (fillings: Fillings) => void
}) {
  const slots = slotsOf(template)
  const set = (id: string, filling: Filling): void => onChange(new Map([...fillings, [id, filling]]))
  if (slots.length === 0) return <p class="quiet">This template has nothing to fill in.</p>
  return (
    <div class="fillings">
      {slots.map(({ id, label, optional }) => {
        const filling = fillings.get(id) ?? { fixed: '' }
        const from = 'from' in filling ? filling.from : FIXED
        const known = from === FIXED || sources.includes(from) ? sources : [...sources, from]
        return (
          <fieldset key={id} class="filling">
            <legend>
              {label}
              {optional && <span class="quiet"> (may stay empty)</span>}
            </legend>
            <div class="pair">
              <Choice
                label="Comes from"
                value={from}
                onValue={(chosen) => set(id, chosen === FIXED ? { fixed: '' } : { from: chosen })}
                options={[[FIXED, 'the same for everybody'], ...known.map((each) => [each, sourceName(each)] as const)]}
              />
              {'fixed' in filling && (
                <TextField label="Value" value={filling.fixed} onValue={(fixed) => set(id, { fixed })} />
              )}
            </div>
          </fieldset>
        )
      })}
    </div>
  )
}

const sourceName = (source: string): string =>
  source.startsWith('row.') ? `column “${source.slice(4)}”` : `the contact’s ${source.slice('contact.'.length)}`
