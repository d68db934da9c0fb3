// The filters of the search, as a form. Nothing is asked for before it is sent.
import { useState } from 'preact/hooks'
import { STATES } from '../../../messages/lifecycle.ts'
import { type FilterName, type Filters, instantOf, localOf } from '../../logic/message-filters.ts'
import { Choice, TextField } from '../../parts/field.tsx'

const any = (names: readonly string[]) => [['', 'any'] as const, ...names.map((name) => [name, name] as const)]

/** Fields for every filter; those that are seldom wanted are folded away unless one of them is set. */
export function FilterForm({ filters, onSearch }: { filters: Filters; onSearch: (filters: Filters) => void }) {
  const [wanted, setWanted] = useState(filters)
  const set = (name: FilterName) => (value: string) => {
    const { [name]: _before, ...others } = wanted
    setWanted(value === '' ? others : { ...others, [name]: value })
  }
  const of = (name: FilterName) => ({ value: wanted[name] ?? '', onValue: set(name) })
  const time = (name: 'since' | 'until') => ({
    value: localOf(wanted[name]),
    onValue: (local: string) => set(name)(instantOf(local)),
  })
  const { id: _id, to: _to, state: _state, code: _code, ...seldom } = filters
  const folded = Object.keys(seldom).length === 0
  return (
    <search>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          onSearch(wanted)
        }}
      >
        <div class="filters">
          <TextField label="Message id" {...of('id')} />
          <TextField label="To" {...of('to')} placeholder="+44 7700 900123" />
          <Choice label="State" {...of('state')} options={any(STATES)} />
          <TextField label="Code of the problem" {...of('code')} placeholder="131026" />
        </div>
        <details open={!folded}>
          <summary>More filters</summary>
          <div class="filters">
            <TextField label="Accepted since" type="datetime-local" {...time('since')} />
            <TextField label="Accepted before" type="datetime-local" {...time('until')} />
            <TextField label="Campaign" {...of('campaign')} placeholder="cmp_1_1" />
            <TextField label="Sender" {...of('sender')} help="Number, name or id." />
            <Choice label="Class" {...of('class')} options={any(['transactional', 'campaign'])} />
            <Choice label="Direction" {...of('direction')} options={any(['outbound', 'inbound'])} />
            <TextField label="From, of received ones" {...of('from')} />
            <TextField label="campaign_id of the request" {...of('campaign_id')} />
          </div>
        </details>
        <div class="actions">
          <button type="submit" class="primary">
            Search
          </button>
          <button
            type="button"
            onClick={() => {
              setWanted({})
              onSearch({})
            }}
          >
            Clear
          </button>
        </div>
      </form>
    </search>
  )
}
