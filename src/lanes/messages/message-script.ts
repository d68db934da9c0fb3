// Defines Lua scripts that get the tables of lifecycle.ts, provider-codes.ts and record-format.ts as constants. No script knows
// a letter of a record by itself.

import { LETTERS, MESSAGE_MOVES, type Move, PROVEN_SENT, STATES, type State } from '../../model/messages/lifecycle.ts'
import { PROVIDER_CODES } from '../../model/messages/provider-codes.ts'
import { type Constants, defineScript, defineScriptOfMany, type Script, type ScriptOfMany } from '../../redis/lua.ts'
import { FIELDS } from './record-format.ts'

const letter = (state: State): string => `'${LETTERS[state]}'`
const letters = (states: readonly State[]): string => `'${states.map((state) => LETTERS[state]).join('')}'`

/**
 * The letters of the states that a move starts from, its target, and its alternative target. A function, because
 * every run of a script would make tables anew: three of them cost a claim 3 to 5 %.
 */
const moveOf = Object.entries<Move>(MESSAGE_MOVES)
  .map(([kind, { from, to, orElse }]) => {
    const leads = [letters(from), letter(to), orElse ? letter(orElse) : 'nil'].join(', ')
    return `if kind == '${kind}' then return ${leads} end`
  })
  .join(' ')

const recipientCodes = [...PROVIDER_CODES].flatMap(([code, { concerns }]) => (concerns === 'recipient' ? [code] : []))

const line = [
  `local ${STATES.map((state) => state.toUpperCase()).join(', ')} = ${STATES.map(letter).join(', ')}`,
  `local ORDER, PROVEN = ${letters(STATES)}, ${letters(PROVEN_SENT)}`,
  `local RECIPIENT_CODES = '|${recipientCodes.join('|')}|'`,
  `local function moveOf(kind) ${moveOf} error('unknown step ' .. tostring(kind)) end`,
].join('; ')
const CONSTANTS: Constants = { line, names: { FIELD: FIELDS } }

/** The same as `defineScript`, of a script that reads these constants. */
export const defineMessageScript = (module: string, name: string): Script => defineScript(module, name, CONSTANTS)

/** The same as `defineScriptOfMany`, of a script that reads these constants. */
export const defineMessageScriptOfMany = (module: string, name: string): ScriptOfMany =>
  defineScriptOfMany(module, name, CONSTANTS)
