// Who wants no advertising: listed, added, removed, imported and exported.
import { Readable } from 'node:stream'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import { exportOptOuts } from '../../../people/opt-outs/commands/export-opt-outs.ts'
import { importOptOuts } from '../../../people/opt-outs/commands/import-opt-outs.ts'
import { optOutsHold } from '../../../people/opt-outs/store/hold.ts'
import {
  addOptOuts,
  findOptOut,
  isOptOutCursor,
  listOptOuts,
  removeOptOuts,
} from '../../../people/opt-outs/store/opt-outs.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { invalid, notFound } from '../../errors.ts'
import { collectRefused, readCsv } from '../csv-upload.ts'
import { personOf } from '../person-field.ts'
import { optOuts } from './routes.ts'

/** The activity names no number. */
const SOMEBODY = { target: 'a person' }

/** The routes of routes/opt-outs.ts. */
export const optOutRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(optOuts)({
    async list({ caller: { account }, query: { limit, cursor } }) {
      if (cursor !== undefined && !isOptOutCursor(cursor)) {
        throw invalid([{ path: 'cursor', message: 'expected `next` of the page before' }])
      }
      return { body: { status: true, ...(await listOptOuts(redis, account, { limit, cursor })) } }
    },

    async add({ caller: { account }, body, sent, headers, note }) {
      const person = personOf(body.person)
      note(SOMEBODY)
      const use = { account, route: 'opt-out', key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
      const data = await once(redis, use, {
        prepare: async () => ({ name: person, work: undefined }),
        async make(name) {
          await addOptOuts(redis, account, [name], { source: 'http' })
          // Removed again by somebody else within this moment.
          const now = { person: name, source: 'http' as const, since: new Date().toISOString() }
          return (await findOptOut(redis, account, name)) ?? now
        },
        async find(name) {
          const found = await findOptOut(redis, account, name)
          // Another request may have written it a moment ago, and not be answered yet.
          if (found !== undefined) await optOutsHold()
          return found
        },
      })
      // For a repeat as well: what it found may have been written a moment ago.
      await optOutsHold()
      return { status: 201, body: { status: true, message: 'opted out', data } }
    },

    async import(call) {
      const { account } = call.caller
      const report = collectRefused()
      const counts = await readCsv(call, call.query, (csv) =>
        importOptOuts(redis, { account, csv, saidBy: 'http', report }),
      )
      call.note({ detail: `${counts.imported} rows` })
      return { body: { status: true, message: 'imported', data: { ...counts, refused_rows: report.rows } } }
    },

    async export({ caller: { account }, inPieces }) {
      const pieces = inPieces(exportOptOuts(redis, account))
      // Before the header is sent, so that what cannot be read is still answered as what it is.
      const first = await pieces.next()
      async function* all() {
        if (!first.done) yield first.value
        yield* pieces
      }
      const headers = {
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Disposition': 'attachment; filename="opt-outs.csv"',
      }
      return { headers, stream: Readable.from(all()) }
    },

    async show({ caller: { account }, params }) {
      const data = await findOptOut(redis, account, personOf(params.person))
      if (!data) throw notFound('The opt-out')
      return { body: { status: true, message: 'opted out', data } }
    },

    async remove({ caller: { account }, params, note }) {
      note(SOMEBODY)
      if ((await removeOptOuts(redis, account, [personOf(params.person)], { source: 'http' })) === 0)
        throw notFound('The opt-out')
      return { body: { status: true, message: 'may be written to' } }
    },
  })
