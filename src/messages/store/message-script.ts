// Scripts that know the states of messages: they are given the table of src/messages/lifecycle.ts as constants.
import { defineScript, type Script } from '../../redis/lua.ts'
import { LETTERS, MESSAGE_MOVES, PROVEN_SENT, STATES, type State } from '../lifecycle.ts'

const letter = (state: State): string => `'${LETTERS[state]}'`
const letters = (states: readonly State[]): string => `'${states.map((state) => LETTERS[state]).join('')}'`

/** A Lua table with an entry for each move that has one. */
function tableOf(entry: (move: { from: readonly State[]; to: State; orElse?: State }) => string | undefined): string {
  const entries = Object.entries(MESSAGE_MOVES).flatMap(([kind, move]) => {
    const text = entry(move)
    return text === undefined ? [] : [`${kind} = ${text}`]
  })
  return `{ ${entries.join(', ')} }`
}

const CONSTANTS = [
  `local ${STATES.map((state) => state.toUpperCase()).join(', ')} = ${STATES.map(letter).join(', ')}`,
  `local MARKS, PROVEN = ${letters(STATES)}, ${letters(PROVEN_SENT)}`,
  `local FROM = ${tableOf(({ from }) => letters(from))}`,
  `local TO = ${tableOf(({ to }) => letter(to))}`,
  `local OR_ELSE = ${tableOf(({ orElse }) => orElse && letter(orElse))}`,
].join('; ')

/** The same as `defineScript`, of a script that reads these constants. */
export const defineMessageScript = (module: string, name: string): Script => defineScript(module, name, CONSTANTS)
