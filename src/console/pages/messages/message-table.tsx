// Messages as rows: who, what, where it stands and why.
import type { ListedMessage } from '../../../messages/lookup/message-schema.ts'
import { problemText } from '../../logic/problem-words.ts'
import { MessageState } from '../../parts/badge.tsx'
import { Table } from '../../parts/table.tsx'
import { Said, When } from '../../parts/text.tsx'

/** The person at the other end. */
export const personOf = (message: ListedMessage): string =>
  message.direction === 'inbound' ? message.from : message.to

/** A table of messages, newest first as they come. */
export function MessageTable({ rows, busy = false }: { rows: readonly ListedMessage[]; busy?: boolean }) {
  return (
    <Table
      caption="Messages"
      rows={rows}
      keyOf={({ id }) => id}
      busy={busy}
      columns={[
        {
          title: 'Accepted',
          head: true,
          cell: ({ id, accepted_at }) => (
            <a href={`/console/messages/${encodeURIComponent(id)}`}>
              <When at={accepted_at} />
              <span class="unseen"> {id}</span>
            </a>
          ),
        },
        {
          title: 'Person',
          cell: (message) => (
            <>
              <span class="quiet">{message.direction === 'inbound' ? 'from ' : 'to '}</span>
              <Said text={personOf(message)} />
            </>
          ),
        },
        {
          title: 'State',
          cell: (message) => (
            <>
              <MessageState state={message.state} direction={message.direction} />
              {message.possible_duplicate && <span class="reason held">! possible duplicate</span>}
              {message.problem && (
                <span class="reason">
                  <Said text={problemText(message.problem)} />
                </span>
              )}
            </>
          ),
        },
        { title: 'Text', wide: true, cell: ({ text }) => <Said class="excerpt" text={text} /> },
        { title: 'Kind', wide: true, cell: ({ kind }) => <Said text={kind} /> },
        { title: 'Sender', wide: true, cell: ({ sender }) => <Said text={sender ?? 'gone'} /> },
      ]}
    />
  )
}
