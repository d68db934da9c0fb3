// What `GET /console/history` answers: sums per step.

/** Sums of each step of `step_s` seconds, the oldest first. */
export interface Series {
  step_s: number
  points: {
    at: string
    accepted: number
    sent: number
    delivered: number
    read: number
    failed: number
    unknown: number
    waiting: number
    oldest_s: number | null
  }[]
}
