// What a message is: who, what, from where.
import type { ReceivedMessage, SentMessage } from '../../../messages/lookup/message-schema.ts'
import { Fact, Facts } from '../../parts/facts.tsx'
import { CampaignLink, SearchLink } from '../../parts/search-link.tsx'
import { Said, When } from '../../parts/text.tsx'
import { ReceivedFacts } from './received-facts.tsx'

/** Its fields as a list, and what the person reads or wrote. */
export function MessageFacts({ message }: { message: SentMessage | ReceivedMessage }) {
  const received = message.direction === 'inbound'
  const person = received ? message.from : message.to
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">Message</h2>
      <Facts>
        <Fact name={received ? 'From' : 'To'}>
          <SearchLink filters={received ? { from: person } : { to: person }}>
            <Said text={person} />
          </SearchLink>
        </Fact>
        <Fact name={received ? 'To sender' : 'Sender'}>
          <Said text={message.sender ?? 'gone'} />
        </Fact>
        <Fact name="Kind">
          <Said text={message.kind} />
          {message.class && `, ${message.class}`}
        </Fact>
        <Fact name={received ? 'Received' : 'Accepted'}>
          <When at={message.accepted_at} />
        </Fact>
        {message.valid_until && (
          <Fact name="Sent no later than">
            <When at={message.valid_until} />
          </Fact>
        )}
        {message.campaign && (
          <Fact name="Campaign">
            <CampaignLink id={message.campaign}>{message.campaign}</CampaignLink>
          </Fact>
        )}
        {message.campaign_id && (
          <Fact name="campaign_id">
            <SearchLink filters={{ campaign_id: message.campaign_id }}>
              <Said text={message.campaign_id} />
            </SearchLink>
          </Fact>
        )}
        {message.provider_id && (
          <Fact name="Id of WhatsApp">
            <Said class="mono" text={message.provider_id} />
          </Fact>
        )}
        {received && <ReceivedFacts message={message} />}
      </Facts>
      <h3>{received ? 'What the person wrote' : 'What the person reads'}</h3>
      <p class="bubble">
        <Said text={message.text} />
      </p>
    </section>
  )
}
