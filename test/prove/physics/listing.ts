// What the simulator's rules did, as it lists it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Rig } from '../rig.ts'

const lineSchema = z.object({
  at_ms: z.number(),
  portfolio: z.string(),
  event: z.string(),
  sender: z.string().optional(),
  to: z.string().optional(),
  template: z.string().optional(),
  /** What the request carried along: our id of the message. */
  opaque: z.string().nullish(),
  /** WhatsApp's id, of a message that was taken. */
  id: z.string().optional(),
  until_ms: z.number().optional(),
  /** Since when the service had known of a cap. */
  told_ms: z.number().optional(),
})

/** One line: a message that a rule touched, or a change of a rule. */
export type PhysicsLine = z.infer<typeof lineSchema>

/** The lines so far, which are kept in the folder of the run as well. */
export async function readPhysics(rig: Rig): Promise<PhysicsLine[]> {
  const answer = await fetch(`${rig.chatProduct.url}/_physics`)
  const text = await answer.text()
  writeFileSync(join(rig.folder, 'physics.ndjson'), text)
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => lineSchema.parse(JSON.parse(line)))
}

/** Our id of the message that a line is about. */
export const messageOf = ({ opaque }: PhysicsLine): string | undefined => /msg_\d+_[0-9A-Z]{26}/.exec(opaque ?? '')?.[0]

/** Events after which a message that was taken has failed all the same. */
const FAILS_LATER: ReadonlySet<string> = new Set(['capped', 'within_cap', 'held_and_dropped'])

/** WhatsApp's ids of messages that it took and reported as failed afterwards. */
export const failedLater = (lines: readonly PhysicsLine[]): Set<string> =>
  new Set(lines.flatMap(({ event, id }) => (FAILS_LATER.has(event) && id !== undefined ? [id] : [])))
