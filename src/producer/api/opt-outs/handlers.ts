// Opt-outs.
import { exportOptOuts } from '../../../people/opt-outs/opt-out-export.ts'
import { optOutsHold } from '../../../people/opt-outs/opt-out-hold.ts'
import { importOptOuts } from '../../../people/opt-outs/opt-out-import.ts'
import {
  addOptOuts,
  findOptOut,
  isOptOutCursor,
  listOptOuts,
  removeOptOuts,
} from '../../../people/opt-outs/opt-outs.ts'
import type { Redis } from '../../../redis/connect.ts'
import { isHere } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import type { Caller } from '../../route.ts'
import { created, lists, says, shows } from '../answers.ts'
import { collectRefused, readCsv } from '../csv-upload.ts'
import { badCursor, download, found, makeOnce, streamed } from '../requests.ts'
import { optOuts } from './routes.ts'

const sourceOf = (caller: Caller): 'cli' | 'http' => (isHere(caller) ? 'cli' : 'http')

/** The audit log holds no numbers. */
const SOMEBODY = { target: 'a person' }

export const optOutRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(optOuts)({
    async list({ caller: { account }, query: { limit, cursor } }) {
      if (cursor !== undefined && !isOptOutCursor(cursor)) throw badCursor()
      return lists(await listOptOuts(redis, account, { limit, cursor }))
    },

    async add(call) {
      const { account } = call.caller
      const source = sourceOf(call.caller)
      call.audit(SOMEBODY)
      const data = await makeOnce(redis, call, 'opt-out', {
        prepare: async () => ({ name: call.body.person, work: undefined }),
        async make(person) {
          await addOptOuts(redis, account, [person], { source })
          // Another request may have removed it within this moment.
          const now = { person, source, since: new Date().toISOString() }
          return (await findOptOut(redis, account, person)) ?? now
        },
        async find(person) {
          const known = await findOptOut(redis, account, person)
          // Another request may have written it a moment ago, and not be answered yet.
          if (known !== undefined) await optOutsHold(redis)
          return known
        },
      })
      // For a repeat as well: what it found may have been written a moment ago.
      await optOutsHold(redis)
      return created(data, 'opted out')
    },

    async import(call) {
      const { account } = call.caller
      const report = collectRefused()
      const counts = await readCsv(call, call.query, (csv) =>
        importOptOuts(redis, { account, csv, saidBy: sourceOf(call.caller), report }),
      )
      call.audit({ detail: `${counts.imported} rows` })
      return shows('imported', { ...counts, refused_rows: report.rows })
    },

    export: (call) =>
      streamed(call, exportOptOuts(redis, call.caller.account), download('opt-outs.csv', 'text/csv; charset=utf-8')),

    async show({ caller: { account }, params: { person } }) {
      return shows('opted out', found(await findOptOut(redis, account, person), 'The opt-out'))
    },

    async remove({ caller, params: { person }, audit }) {
      const { account } = caller
      audit(SOMEBODY)
      if ((await removeOptOuts(redis, account, [person], { source: sourceOf(caller) })) === 0)
        throw notFound('The opt-out')
      return says('may be written to')
    },
  })
