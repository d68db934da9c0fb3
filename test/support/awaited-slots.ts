// The slots of a lane with messages of which a test awaits what comes of them.
import { type Deadline, deadlineIn } from '../../src/kernel/deadline.ts'
import type { Slot } from '../../src/lanes/messages/claim.ts'
import type { Problem } from '../../src/model/messages/outcome.ts'
import type { Pace } from '../../src/model/messages/pace.ts'
import { createLaneSlots, type InLine, type InTurn, type LaneSlotsDeps } from '../../src/worker/sending/lane-slots.ts'

/** The message may leave now, or goes back to its lane. */
export type Turn = InTurn | { slot?: undefined; problem?: Problem | undefined }

export interface Awaited extends InLine {
  name: string
  go(turn: Turn): void
}

export type AwaitedSlotsDeps = Omit<LaneSlotsDeps<Awaited>, 'leave' | 'returnToLane'>

/** Claims that are good for longer than any test takes. */
const GOOD = deadlineIn(600_000)

export function awaitedSlots(deps: AwaitedSlotsDeps, lane: number) {
  const slots = createLaneSlots<Awaited>(
    {
      ...deps,
      leave: (message, turn) => message.go(turn),
      returnToLane: (message, problem) => message.go({ problem }),
    },
    lane,
  )
  const awaited = (of: Partial<Of>, enter: (message: Awaited) => void): Promise<Turn> =>
    new Promise((go) => {
      const { name = '', isTransactional = false, until = GOOD, wantedUntil = GOOD } = of
      enter({ name, isTransactional, until, wantedUntil, rechecks: 0, go })
    })
  return {
    slots,
    /** Resolves when the message may leave, or goes back. */
    wait: (of: Partial<Of>, slot: Slot, pace: Pace) => awaited(of, (message) => slots.enter(message, slot, pace)),
    /** The same of one that could not leave in its turn. */
    waitAgain: (of: Partial<Of>, turn: InTurn) => awaited(of, (message) => slots.enterAgain(message, turn)),
  }
}

interface Of {
  name: string
  isTransactional: boolean
  until: Deadline
  wantedUntil: Deadline
}
