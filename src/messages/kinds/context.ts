// Which message a message answers: the person sees that one quoted above it.
import { z } from 'zod'
import { filledTextUpTo } from '../bounded.ts'
import { LIMITS } from '../limits.ts'

/** The id of another message: the chat product's, or ours of a message that was sent from the same sender. */
export const otherMessageSchema = filledTextUpTo(LIMITS.messageId).meta({
  description: 'Id of a received message, or of one that was sent from the same sender.',
})

/** Beside the content of every kind but a reaction, which names its message itself. */
export const answering = { context: z.object({ message_id: otherMessageSchema }).optional() }
