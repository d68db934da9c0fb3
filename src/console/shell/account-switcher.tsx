// For whom one acts: an operator chooses an account or sees all, everybody else has one.
import { useEffect } from 'preact/hooks'
import { Said } from '../parts/text.tsx'
import { actingFor, dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { actFor, session } from '../state/session.ts'

/** An account as `GET /admin/accounts` lists it. */
export interface Account {
  id: number
  name: string
}

/** The name of one's account, or the choice of an operator. */
export function AccountSwitcher() {
  const known = session.value
  const operator = known?.operator === true
  const accounts = useLoad<Account[]>(operator ? 'accounts' : undefined, (signal) =>
    dataOf('GET', '/admin/accounts', { query: { limit: 1_000 }, signal }),
  )
  const list = accounts.value ?? []
  const only = list.length === 1 ? list[0]?.id : undefined
  useEffect(() => {
    // With a single account there is nothing to choose.
    if (only !== undefined && actingFor.peek() === undefined) actFor(only)
  }, [only])
  if (!operator) {
    return (
      <p class="account">
        <span class="quiet">Account</span> <Said text={known?.account?.name ?? ''} />
      </p>
    )
  }
  return (
    <label class="account">
      Account{' '}
      <select
        value={String(actingFor.value ?? '')}
        onChange={({ currentTarget }) => actFor(Number(currentTarget.value) || undefined)}
      >
        <option value="">All accounts</option>
        {list.map(({ id, name }) => (
          <option key={id} value={String(id)}>
            {id} {name}
          </option>
        ))}
      </select>
    </label>
  )
}
