// What scripts say of words on their command line that they do not know: a misspelt option that is passed over does
// something else than was asked. They end with 2; 1 means that what a script looks for was found, or that it failed.
import { say } from './say.mjs'

/** Where a part that is started has its settings from. */
export const SETTINGS = 'Settings come from the environment, see .env.example.'

/** The words after the name of the script; ends the process when one of them is not `known`, or any when none is. */
export function takeWords(command, known = [], hint = '') {
  const words = process.argv.slice(2)
  const unknown = words.find((word) => !known.includes(word))
  if (unknown === undefined) return words
  const takes = known.length === 0 ? 'nothing' : `nothing but -- ${known.join(', ')}`
  refuseWords(`${command} takes ${takes}, got ${unknown}.${hint && ` ${hint}`}`)
}

/** Ends a script that was called wrongly, with one sentence that says how it is called. */
export function refuseWords(sentence) {
  say(sentence)
  process.exit(2)
}
