// Ids of a campaign's messages. They are derived, not random: feeding a recipient again, after a crash or twice at once,
// makes the same id, and nothing is made twice under one id.
import { hash } from 'node:crypto'
import { newUlid } from '../../kernel/message-id.ts'

/** Most recipients of one campaign: what five characters of base 32 can count. */
export const MAX_RECIPIENTS = 32 ** 5

const INDEX_CHARACTERS = 5
const DIGEST_BYTES = 11

/** Of the id that is being made. */
const random = new Uint8Array(INDEX_CHARACTERS + DIGEST_BYTES)

/**
 * The ULID of one recipient's message: the campaign's start, the recipient's place in the list, a digest of both that
 * keeps campaigns apart. Ids of one campaign sort in the order of its list.
 */
export function campaignMessageUlid(campaign: string, startedAtMs: number, index: number, to: string): string {
  let rest = index
  for (let at = INDEX_CHARACTERS - 1; at >= 0; at -= 1) {
    random[at] = rest % 32
    rest = Math.floor(rest / 32)
  }
  if (rest > 0) throw new RangeError(`a campaign has at most ${MAX_RECIPIENTS} recipients, this one is at ${index}`)
  // As text: an object of OpenSSL for each message, or a Buffer, takes three times as long.
  const digest = hash('sha256', `${campaign} ${to}`, 'binary')
  for (let i = 0; i < DIGEST_BYTES; i += 1) random[INDEX_CHARACTERS + i] = digest.charCodeAt(i)
  return newUlid(startedAtMs, random)
}

const TIME_CHARACTERS = 10
const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The recipient's place in the list, from the ULID of a campaign's message. */
export function placeInId(ulid: string): number {
  let place = 0
  for (const character of ulid.slice(TIME_CHARACTERS, TIME_CHARACTERS + INDEX_CHARACTERS)) {
    place = place * 32 + BASE32.indexOf(character)
  }
  return place
}
