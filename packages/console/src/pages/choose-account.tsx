// Choosing or creating an account: what an operator sees on a page that needs one.
import { useEffect } from 'preact/hooks'
import type { LaneStatus } from '../../../../src/model/lanes/lane-status.ts'
import { ask } from '../parts/form.tsx'
import { Empty, Page, WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { words } from '../parts/text.tsx'
import { useData, useLoad } from '../state/hooks.ts'
import { dataOf } from '../state/http.ts'
import { type Account, loadAccounts } from '../state/library.ts'
import { actFor } from '../state/session.ts'

/** Chooses the account of this lane where one is given and there; else shows the accounts as buttons. */
export function ChooseAccount({ lane }: { lane: string | undefined }) {
  const { value, busy } = useData<LaneStatus>(lane && `/admin/lanes/${lane}`)
  useEffect(() => {
    if (value) actFor(value.account)
  }, [value])
  return lane && (busy || value) ? <p class="quiet">Loading …</p> : <Accounts />
}

const Accounts = () => (
  <Page title="For which account?" actions={<Button press={newAccount}>New account</Button>}>
    <WhenLoaded loaded={useLoad('accounts', loadAccounts)}>
      {(all) =>
        all.length === 0 ? (
          <Empty title="There is no account yet.">Create one to give it senders, keys and contacts.</Empty>
        ) : (
          <>
            <p>This page belongs to one account. Your key may act for any.</p>
            <ul class="plain">
              {all.map(({ id, name }) => (
                <li key={id}>
                  <Button press={() => actFor(id)}>{words`${id} ${name}`}</Button>
                </li>
              ))}
            </ul>
          </>
        )
      }
    </WhenLoaded>
  </Page>
)

/** Creates an account and acts for it from then on. */
const newAccount = (): void =>
  ask({
    title: 'New account',
    verb: 'Create',
    text: 'An account has its own senders, keys, templates, contacts and messages; nobody else sees them.',
    fields: { name: { label: 'Name', required: true } },
    act: async (body, headers) => {
      const { id } = await dataOf<Account>('POST', '/admin/accounts', { body, headers })
      actFor(id)
      return `Account ${id} is created. Give it a sender and a key.`
    },
  })
