// What an operator sees where it must act for one account and has chosen none.
import { Empty, Page, Shown } from '../parts/page.tsx'
import { Said } from '../parts/text.tsx'
import type { Account } from '../shell/account-switcher.tsx'
import { dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { actFor } from '../state/session.ts'
import { NewAccount } from './new-account.tsx'

/** The accounts as buttons. */
export function ChooseAccount() {
  const accounts = useLoad<Account[]>('choose account', (signal) =>
    dataOf('GET', '/admin/accounts', { query: { limit: 1_000 }, signal }),
  )
  return (
    <Page title="For which account?" actions={<NewAccount />}>
      <Shown loaded={accounts}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="There is no account yet.">
              <p>Create one to give it senders, keys and contacts.</p>
            </Empty>
          ) : (
            <>
              <p>This page belongs to one account. Your key may act for any.</p>
              <ul class="plain">
                {all.map(({ id, name }) => (
                  <li key={id}>
                    <button type="button" onClick={() => actFor(id)}>
                      {id} <Said text={name} />
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Shown>
    </Page>
  )
}
