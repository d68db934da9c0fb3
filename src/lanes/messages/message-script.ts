// Defines Lua scripts that take steps of messages. They get the states and moves of a message as constants, and each field,
// letter and code from the table that TypeScript has it from: no script knows one by itself.

import { ASIDE } from '../../model/campaigns/counts.ts'
import { EXEMPT_CODES } from '../../model/campaigns/exempt.ts'
import { ENTRY, MARK } from '../../model/events/outbox-entry.ts'
import { GAP, HISTORY } from '../../model/messages/history.ts'
import {
  LETTERS,
  MESSAGE_MOVES,
  type Move,
  PROVEN_SENT,
  STATES,
  type State,
  UNSENT,
} from '../../model/messages/lifecycle.ts'
import { type Constants, defineScript, defineScriptOfMany, type Script, type ScriptOfMany } from '../../redis/lua.ts'
import { JOB, META } from '../bullmq/layout.ts'
import { FIELD } from './record-format.ts'

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

/** The codes that exempt a message in a state, `|131026|…|`; nil for a state that is not bad. */
const exemptCodesOf = STATES.flatMap((state) => {
  const codes = EXEMPT_CODES[state]
  return codes === undefined ? [] : [`if state == ${letter(state)} then return '|${codes.join('|')}|' end`]
}).join(' ')

const line = [
  `local ${STATES.map((state) => state.toUpperCase()).join(', ')} = ${STATES.map(letter).join(', ')}`,
  `local ORDER, PROVEN, UNSENT = ${letters(STATES)}, ${letters(PROVEN_SENT)}, ${letters(UNSENT)}`,
  `local function exemptCodesOf(state) ${exemptCodesOf} end`,
  `local function moveOf(kind) ${moveOf} error('unknown step ' .. tostring(kind)) end`,
].join('; ')
/** The kinds of moves, each by its own name. */
const MOVE = Object.fromEntries(Object.keys(MESSAGE_MOVES).map((kind) => [kind, kind]))
const CONSTANTS: Constants = { line, names: { FIELD, JOB, META, HISTORY, GAP, ENTRY, MARK, ASIDE, MOVE } }

/** The same as `defineScript`, of a script that reads these constants, and perhaps tables of its own. */
export const defineMessageScript = (module: string, name: string, names: Constants['names'] = {}): Script =>
  defineScript(module, name, { ...CONSTANTS, names: { ...CONSTANTS.names, ...names } })

/** The same as `defineScriptOfMany`, of a script that reads these constants. */
export const defineMessageScriptOfMany = (module: string, name: string): ScriptOfMany =>
  defineScriptOfMany(module, name, CONSTANTS)
