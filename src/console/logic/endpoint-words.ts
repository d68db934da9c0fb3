// What an endpoint's state is called, and how much it should worry whoever reads it.
import type { EndpointDocument } from '../../events/endpoint.ts'

export type EndpointState = Pick<EndpointDocument, 'enabled' | 'disabled_for' | 'failing_since'>

/** Word, tone and meaning. */
export interface EndpointWords {
  word: string
  tone: 'good' | 'wait' | 'bad' | 'quiet'
  means: string
}

const OFF: Readonly<Record<string, EndpointWords>> = {
  'by hand': { word: 'off', tone: 'quiet', means: 'Somebody has turned it off. What happens is kept for it.' },
  gone: { word: 'off', tone: 'bad', means: 'It answered 410: it does not want to be told any more.' },
  failing: { word: 'off', tone: 'bad', means: 'It has taken nothing for five days.' },
}

/** How an endpoint stands; one that is off for a reason that this page does not know says so. */
export function endpointWords({ enabled, disabled_for, failing_since }: EndpointState): EndpointWords {
  if (!enabled) return OFF[disabled_for ?? 'by hand'] ?? { word: 'off', tone: 'bad', means: `${disabled_for}.` }
  if (failing_since !== null) {
    return { word: 'failing', tone: 'wait', means: 'What it did not take is tried again, later and later.' }
  }
  return { word: 'on', tone: 'good', means: 'It is told what happens.' }
}
