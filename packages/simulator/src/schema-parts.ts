// Pieces that the shapes of several kinds of messages share.

import { z } from 'zod'

/** Which wire a request came on; they disagree on some kinds. */
export type Wire = 'partner' | 'cloud'

/** A text that is not empty. */
export const text = (max: number) => z.string().min(1).max(max)
/** An absolute address. */
export const link = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s/]/i)

/** A problem that the shape cannot express, with WhatsApp's code for it. */
export function fault(code: number, message: string) {
  return { error: message, params: { code } }
}

/** Where the bytes of a medium come from: a link or, on the cloud wire only, the id of an upload. */
export const source = { id: z.string().min(1).optional(), link: link.optional() }

/** Arguments of `refine` for every object that names a medium. */
export function oneSource(wire: Wire) {
  const check = (media: { id?: string | undefined; link?: string | undefined }) =>
    wire === 'cloud'
      ? (media.id === undefined) !== (media.link === undefined)
      : media.id === undefined && media.link !== undefined
  return [check, fault(100, wire === 'cloud' ? 'needs exactly one of id and link' : 'needs a link')] as const
}
