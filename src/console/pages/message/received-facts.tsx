// What a received message holds besides its words: what was chosen, the file, the place, and what it answers.
import type { ReceivedMessage } from '../../../lookup/message-schema.ts'
import { counted } from '../../logic/numbers.ts'
import { Fact } from '../../parts/facts.tsx'
import { Said } from '../../parts/text.tsx'
import { MediaButton } from './media-button.tsx'

/** A fact for each part that the message has. Links of the person are shown and not followed. */
export function ReceivedFacts({ message }: { message: ReceivedMessage }) {
  const { from_name, from_user_id, context, reply, media, location, reaction, order, contacts, referral } = message
  const { edits, deletes, group_id, unsupported } = message
  return (
    <>
      <Words name="Name" text={from_name} />
      <Words name="User id" text={from_user_id} />
      <Words name="Group" text={group_id} />
      {reply && <Words name="Chose" text={`${reply.title} (${reply.id})`} />}
      {media && (
        <Fact name="File">
          <Said text={[media.filename, media.mime_type, media.id].filter(Boolean).join(', ')} />{' '}
          <MediaButton id={message.id} name={media.filename ?? `file of ${message.id}`} />
        </Fact>
      )}
      {location && <Words name="Place" text={placeOf(location)} />}
      {reaction && <Words name="Reaction" text={`${reaction.emoji || 'taken back'}, to ${reaction.message_id}`} />}
      {order && <Fact name="Order">{counted(order.items.length, 'item')}</Fact>}
      {contacts && <Words name="Contacts" text={contacts.map(({ name }) => name).join(', ')} />}
      <Words name="Answers" text={context?.message_id} />
      <Words name="Replaces" text={edits} />
      <Words name="Deletes" text={deletes} />
      {context?.forwarded && <Fact name="Forwarded">yes</Fact>}
      <Words name="Came by" text={referral && (referral.headline ?? referral.source_url ?? referral.source_id)} />
      <Words name="Not supported" text={unsupported && (unsupported.title ?? unsupported.type ?? 'its kind')} />
    </>
  )
}

const Words = ({ name, text }: { name: string; text: string | undefined }) =>
  text === undefined || text === '' ? null : (
    <Fact name={name}>
      <Said text={text} />
    </Fact>
  )

const placeOf = ({ latitude, longitude, name, address }: NonNullable<ReceivedMessage['location']>): string =>
  [name, address, `${latitude}, ${longitude}`].filter(Boolean).join(', ')
