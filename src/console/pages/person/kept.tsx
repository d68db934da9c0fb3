// What is kept of a person, piece by piece.
import type { z } from 'zod'
import type { ListedMessage } from '../../../messages/lookup/message-schema.ts'
import type { people } from '../../../producer/api/people/routes.ts'
import { counted } from '../../logic/numbers.ts'
import { optOutSource } from '../../logic/opt-out-words.ts'
import { Badge, MessageState } from '../../parts/badge.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Empty } from '../../parts/page.tsx'
import { CampaignLink } from '../../parts/search-link.tsx'
import { Table } from '../../parts/table.tsx'
import { Said, When } from '../../parts/text.tsx'
import { MessageTable } from '../messages/message-table.tsx'

/** As `GET /admin/people/{person}` answers. */
export type Kept = z.infer<(typeof people.show.answers)[200]['schema']>['data']

/** More are in the file. */
const SHOWN = 20

/** Whether nothing at all is kept. */
export const isNothing = ({ contact, opt_out, messages, campaigns }: Kept): boolean =>
  contact === null && opt_out === null && messages.length === 0 && campaigns.length === 0

/** The contact, the opt-out, campaigns and messages. */
export function KeptOfPerson({ kept }: { kept: Kept }) {
  const { person, contact, opt_out, messages, campaigns } = kept
  if (isNothing(kept)) {
    return (
      <Empty title="Nothing is kept of this person.">
        <p>
          Neither a contact nor a message, an opt-out or a line of a campaign of this account has <Said text={person} />
          .
        </p>
      </Empty>
    )
  }
  return (
    <>
      <section class="card" aria-labelledby="known">
        <h2 id="known">
          <Said text={person} />
        </h2>
        <Facts>
          <Fact name="Contact">
            {contact === null ? (
              'none'
            ) : (
              <Said text={[contact.name, contact.phone, contact.email].filter(Boolean).join(', ')} />
            )}
          </Fact>
          <Fact name="Advertising">
            {opt_out === null ? (
              <Badge tone="quiet">not opted out</Badge>
            ) : (
              <>
                <Badge tone="wait">opted out</Badge> <When at={opt_out.since} />, {optOutSource(opt_out.source)}
              </>
            )}
          </Fact>
          <Fact name="Messages">{counted(messages.length, 'message')}</Fact>
          <Fact name="Campaigns">{counted(campaigns.length, 'campaign')}</Fact>
        </Facts>
      </section>
      {campaigns.length > 0 && <Campaigns campaigns={campaigns} />}
      {messages.length > 0 && <Messages messages={messages} />}
    </>
  )
}

const Campaigns = ({ campaigns }: Pick<Kept, 'campaigns'>) => (
  <section class="card" aria-labelledby="campaigns">
    <h2 id="campaigns">Campaigns</h2>
    <Table
      cards
      caption="Campaigns"
      rows={campaigns.slice(0, SHOWN)}
      keyOf={({ campaign }) => campaign}
      columns={[
        {
          title: 'Campaign',
          head: true,
          cell: ({ campaign }) => <CampaignLink id={campaign}>{campaign}</CampaignLink>,
        },
        { title: 'Campaign is', cell: ({ campaign_state }) => campaign_state },
        { title: 'Message', cell: ({ state }) => (state === null ? 'not taken up' : <MessageState state={state} />) },
        { title: 'Filled in', cell: ({ values }) => <Said class="anywhere" text={values.join(', ') || '–'} /> },
      ]}
    />
    <Rest count={campaigns.length} />
  </section>
)

const Messages = ({ messages }: { messages: readonly ListedMessage[] }) => (
  <section class="card" aria-labelledby="messages">
    <h2 id="messages">Messages</h2>
    <MessageTable rows={messages.slice(0, SHOWN)} />
    <Rest count={messages.length} />
  </section>
)

const Rest = ({ count }: { count: number }) =>
  count > SHOWN ? (
    <p class="quiet">
      The first {SHOWN} of {counted(count, 'line')}; all of them are in the saved file.
    </p>
  ) : null
