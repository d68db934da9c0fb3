// What a received message holds besides its words: what was chosen, the file, the place, and what it answers.
import type { ReceivedMessage } from '../../../messages/lookup/message-schema.ts'
import { wordsOfParts } from '../../../messages/received-words.ts'
import { Fact } from '../../parts/facts.tsx'
import { Said } from '../../parts/text.tsx'
import { MediaButton } from './media-button.tsx'

/** A fact for each part that the message has. Links of the person are shown and not followed. */
export const ReceivedFacts = ({ message }: { message: ReceivedMessage }) => (
  <>
    {wordsOfParts(message).map(([name, text]) => (
      <Fact key={name} name={name}>
        <Said text={text} />{' '}
        {name === 'File' && <MediaButton id={message.id} name={message.media?.filename ?? `file of ${message.id}`} />}
      </Fact>
    ))}
  </>
)
