// Everything known of the messages whose promise was broken, one after the other, for the person who looks into it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sent } from './chat-product.ts'
import type { Judgement } from './checker.ts'
import type { Posted } from './client.ts'
import type { Inside } from './lookup.ts'

/** Writes `<folder>/cases.txt` when there is a case. */
export function writeCaseFiles(
  folder: string,
  judgement: Judgement,
  known: {
    posted: readonly Posted[]
    ledger: readonly Sent[]
    states: ReadonlyMap<string, string>
    inside: ReadonlyMap<string, Inside>
  },
): void {
  const suspects = new Set(
    [
      ...judgement.lostSilently,
      ...judgement.sentTwiceSilently,
      ...judgement.invented,
      ...judgement.contradictions,
      ...judgement.unsettled,
      ...(judgement.unearned ? judgement.flagged : []),
    ].map((text) => text.split(' ', 1)[0]),
  )
  if (suspects.size === 0) return
  const lines = known.posted
    .filter(({ to }) => suspects.has(to))
    .flatMap(({ to, answers }) => {
      const sent = known.ledger.filter((line) => line.to === to)
      const ids = new Set([...answers, ...sent].flatMap(({ id }) => (id === undefined ? [] : [id])))
      return [
        `recipient ${to}`,
        ...answers.map(({ atMs, status, id }) => `  ${time(atMs)} answer ${status} ${id ?? ''}`),
        ...sent.map(({ atMs, id }) => `  ${time(atMs)} in the ledger as ${id}`),
        ...[...ids].flatMap((id) => [
          `  ${id} is ${known.states.get(id)}`,
          ...(known.inside.get(id)?.history ?? []).map(({ atMs, what, detail }) => `  ${time(atMs)} ${what} ${detail}`),
        ]),
      ]
    })
  writeFileSync(join(folder, 'cases.txt'), `${lines.join('\n')}\n`)
}

const time = (epochMs: number): string => new Date(epochMs).toISOString().slice(11, 23)
