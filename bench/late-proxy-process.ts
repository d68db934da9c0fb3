// The proxy that makes Redis late, in a process of its own: in that of a contender it would take time from it.
import { z } from 'zod'
import { answerQuestions } from './child.ts'
import { startLateProxy } from './late-proxy.ts'

let delayMs = 0

answerQuestions({
  /** Starts one in front of this port; returns where. */
  listen: async (detail) => (await startLateProxy(z.number().parse(detail), () => delayMs)).port,
  /** Delays what Redis answers from now on. */
  delay: async (detail) => {
    delayMs = z.number().parse(detail)
  },
})
