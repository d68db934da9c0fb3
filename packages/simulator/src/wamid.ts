// Message ids in the shape of WhatsApp's: `wamid.` and base64 of a few marker bytes, the recipient and a hex
// string. Ours carry in that hex string all that a status lookup needs (when the message was accepted, on which wire,
// what becomes of it), so that the simulator remembers nothing per message and still answers after a restart.

import { randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { RESERVED_PREFIX } from './behaviours.ts'

/** The facts about a message in its outbound id. */
export interface MessageFacts {
  wire: 'partner' | 'cloud'
  /** Recipient, digits. */
  to: string
  /** Epoch ms. */
  acceptedMs: number
  /** Number of the behaviour that decides what becomes of the message; null when it arrives as usual. */
  fateNumber: string | null
}

// time 12 hex digits, wire 2, fate 4 (the last four digits of the number; FFFF: none), counter 6, checksum 8
const LAYOUT = /^([0-9A-F]{12})(00|01)(\d{4}|FFFF)([0-9A-F]{6})([0-9A-F]{8})$/
const NO_FATE = 'FFFF'
const OUTBOUND = 0x11
const INBOUND = 0x12

let counter = randomInt(0x1000000)

/** A new id; no two calls give the same. */
export function outboundId(facts: MessageFacts): string {
  counter = (counter + 1) % 0x1000000
  const time = facts.acceptedMs.toString(16).padStart(12, '0')
  const wire = facts.wire === 'cloud' ? '01' : '00'
  const fate = facts.fateNumber === null ? NO_FATE : facts.fateNumber.slice(RESERVED_PREFIX.length)
  const body = `${time}${wire}${fate}${counter.toString(16).padStart(6, '0')}`.toUpperCase()
  return wamid(facts.to, OUTBOUND, body + checksum(facts.to, body))
}

/** An id for a message that a person sent to a business number. */
export function inboundId(from: string): string {
  return wamid(from, INBOUND, `3A${randomBytes(9).toString('hex').toUpperCase()}`)
}

/** Reads an outbound id back; null for anything that outboundId did not make. */
export function readOutboundId(id: string): MessageFacts | null {
  if (id.length > 128 || !id.startsWith('wamid.')) return null
  const bytes = Buffer.from(id.slice('wamid.'.length), 'base64')
  const to = bytes.toString('latin1', 3, 3 + (bytes[2] ?? 0))
  const hexAt = 3 + to.length + 6
  const match = LAYOUT.exec(bytes.toString('latin1', hexAt, bytes.length - 1))
  if (match === null) return null
  const [hex, time = '', wire = '', fate = '', , sum = ''] = match
  if (sum !== checksum(to, hex.slice(0, -sum.length)) || wamid(to, OUTBOUND, hex) !== id) return null
  return {
    wire: wire === '01' ? 'cloud' : 'partner',
    to,
    acceptedMs: Number.parseInt(time, 16),
    fateNumber: fate === NO_FATE ? null : RESERVED_PREFIX + fate,
  }
}

/** Distinguishes an id that was issued from one that somebody made up; it guards against nothing else. */
function checksum(to: string, body: string): string {
  return crc32(`${to}:${body}`).toString(16).padStart(8, '0').toUpperCase()
}

function wamid(user: string, direction: number, hex: string): string {
  const bytes = Buffer.concat([
    Buffer.from([0x1c, 0x18, user.length]),
    Buffer.from(user, 'latin1'),
    Buffer.from([0x15, 0x02, 0x00, direction, 0x18, hex.length]),
    Buffer.from(hex, 'latin1'),
    Buffer.from([0x00]),
  ])
  return `wamid.${bytes.toString('base64')}`
}
