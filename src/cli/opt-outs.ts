// opt-outs: people who want no advertising of an account.
import { z } from 'zod'
import { optOuts } from '../producer/api/opt-outs/routes.ts'
import { importText } from './import-text.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'

const PERSON = '+447700900123'

export const verbs: readonly RouteVerb[] = [
  routeVerb('optOuts', 'list', optOuts.list, {
    example: '--account 1',
    columns: ['person', 'source', 'since'],
    none: 'Nobody has opted out.',
  }),
  routeVerb('optOuts', 'show', optOuts.show, { example: `${PERSON} --account 1` }),
  routeVerb('optOuts', 'add', optOuts.add, {
    arguments: ['person'],
    each: 'person',
    example: `${PERSON} --account 1`,
  }),
  routeVerb('optOuts', 'remove', optOuts.remove, { each: 'person', asks: false, example: `${PERSON} --account 1` }),
  routeVerb('optOuts', 'import', optOuts.import, {
    example: 'stop-list.csv --account 1',
    text: importText(z.looseObject({ added: z.number() }), ({ added }) => [['New to the list', String(added)]]),
  }),
  routeVerb('optOuts', 'export', optOuts.export, { writes: 'file', example: 'opt-outs.csv --account 1' }),
]
