// The slots of a lane with messages that a test makes.
import { type Deadline, deadlineIn } from '../../src/kernel/deadline.ts'
import type { Slot } from '../../src/lanes/messages/claim.ts'
import type { Pace } from '../../src/model/messages/pace.ts'
import {
  createLaneSlots,
  type InLine,
  type InTurn,
  type LaneSlotsDeps,
  type Turn,
} from '../../src/worker/sending/lane-slots.ts'

export interface Named extends InLine {
  name: string
}

/** Claims that are good for longer than any test takes. */
const GOOD = deadlineIn(600_000)

export function awaitedSlots(deps: LaneSlotsDeps<Named>, lane: number) {
  const slots = createLaneSlots(deps, lane)
  const messageOf = ({ name = '', isTransactional = false, until = GOOD, wantedUntil = GOOD }: Partial<Of>): Named => ({
    ...{ name, isTransactional, until, wantedUntil },
    ...{ rechecks: 0, resolve: undefined },
  })
  return {
    slots,
    /** Resolves when the message may leave, or goes back. */
    wait: (of: Partial<Of>, slot: Slot, pace: Pace): Promise<Turn> => slots.turn(messageOf(of), slot, pace),
    /** The same of one that could not leave in its turn. */
    waitAgain: (of: Partial<Of>, turn: InTurn): Promise<Turn> => slots.turnAgain(messageOf(of), turn),
  }
}

interface Of {
  name: string
  isTransactional: boolean
  until: Deadline
  wantedUntil: Deadline
}
