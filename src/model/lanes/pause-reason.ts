// Why a person paused a lane or a campaign, as they typed it.
import { masked } from '../../kernel/masked.ts'

/** The reason where none was given. */
export const NO_REASON = 'by hand'

/**
 * The reason as the activity has it; undefined without one. The activity is kept when a person is erased, so a number that
 * somebody typed is left out.
 */
export const reasonForActivity = (reason: string): string | undefined =>
  reason === NO_REASON ? undefined : masked(reason)
