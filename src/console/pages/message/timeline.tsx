// The history of a message as a timeline: attempts, the provider's answers, the evidence.
import type { SentMessage } from '../../../messages/lookup/message-schema.ts'
import { stepText, timelineOf } from '../../logic/timeline.ts'
import { Badge } from '../../parts/badge.tsx'
import { Said, When } from '../../parts/text.tsx'

/** Everything that happened, oldest first. */
export function Timeline({ history }: Pick<SentMessage, 'history'>) {
  return (
    <section class="card" aria-labelledby="timeline">
      <h2 id="timeline">What happened</h2>
      <ol class="timeline">
        {timelineOf(history).map((entry) => (
          <li key={`${entry.at} ${entry.event} ${entry.attemptId}`} class={entry.tone}>
            <div class="spread">
              <span>
                <Badge tone={entry.tone}>{entry.event}</Badge>
                {entry.attempt !== undefined && <span class="quiet"> attempt {entry.attempt}</span>}
                {entry.attemptId !== null && <code class="quiet"> {entry.attemptId}</code>}
              </span>
              <span class="quiet number">
                <When at={entry.at} millis /> {entry.afterMs !== undefined && stepText(entry.afterMs)}
              </span>
            </div>
            {entry.means !== '' && <p>{entry.means}</p>}
            {entry.detail !== null && (
              <p>
                Answer or reason: <Said text={entry.detail} />
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}
