// Who said that a person wants no advertising, in words.
import type { OptOutSource } from '../../people/opt-outs/opt-out.ts'

const SAID: Readonly<Record<OptOutSource, string>> = {
  word: 'the person, by a stop word',
  provider: 'WhatsApp',
  http: 'somebody of the account',
  cli: 'somebody on the command line',
}

/** `the person, by a stop word`; a source that this page does not know as it came. */
export const optOutSource = (source: OptOutSource): string => SAID[source] ?? source
