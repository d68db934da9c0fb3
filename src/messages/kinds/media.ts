// Files by their address. The chat product fetches them; Laneway never does.
import { z } from 'zod'
import { filledTextUpTo, linkSchema, textUpTo } from '../bounded.ts'
import { LIMITS } from '../limits.ts'
import { answering } from './context.ts'

const caption = textUpTo(LIMITS.caption).optional()

export const imageContent = z.object({
  type: z.literal('image'),
  image: z.object({ link: linkSchema, caption }),
  ...answering,
})

export const audioContent = z.object({
  type: z.literal('audio'),
  audio: z.object({ link: linkSchema }),
  ...answering,
})

export const videoContent = z.object({
  type: z.literal('video'),
  video: z.object({ link: linkSchema, caption }),
  ...answering,
})

/** `filename`: what the person sees the file called; its ending chooses the icon. */
export const documentContent = z.object({
  type: z.literal('document'),
  document: z.object({ link: linkSchema, caption, filename: filledTextUpTo(LIMITS.filename).optional() }),
  ...answering,
})

export const stickerContent = z.object({
  type: z.literal('sticker'),
  sticker: z.object({ link: linkSchema }),
  ...answering,
})
