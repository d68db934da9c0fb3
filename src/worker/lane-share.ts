// How many messages each lane of this process may have in flight. Messages with a job of their own go first: what is left
// of a lane's share is taken by chunks of campaigns, which always leave a little of it free.

/**
 * Messages that one worker has in flight over all lanes, which share it evenly. Without it 500 full lanes had
 * 20,000 requests in flight, each on a connection of its own: 700 MB, and Redis so busy that the producer got no answer
 * within its 2 s. One process manages some 5,000 a second, so this is a fifth of a second of work.
 */
const MOST_AT_ONCE = 1_000
/** Of a lane's share, what chunks leave to messages that come meanwhile. */
const LEFT_FREE = 2

/** Room for the messages of chunks on one lane. */
export interface ChunkRoom {
  /** True once there is room for one; false when the process stops. */
  free(stopping: AbortSignal): Promise<boolean>
  /** Takes places for as many as may begin now, `most` at most, and says how many: other chunks take from the same room. */
  take(most: number): number
  /** Gives one of them back. */
  end(): void
  /** The latest slot that a chunk of the lane has claimed here (`performance.now()`). */
  latestSlotAt: number
  /** How long Redis took to answer the latest claims of chunks (ms). */
  answerMs: number
}

/** What one lane may have in flight in this process: jobs first, then chunks. */
export interface LaneShare {
  /**
   * Runs work for a message that has a job. A lane at rest may fetch one message: BullMQ fetches all that it may before it
   * begins with the first, so 500 lanes that get work at once would fetch everything before anybody could tell that they
   * are many. What is beyond the share waits.
   */
  run<T>(work: () => Promise<T>): Promise<T>
  room: ChunkRoom
  /** Jobs that it may fetch at once. */
  fetches: () => number
  /** Messages in flight. */
  running: () => number
  /** It is not served any more; what is in flight ends as it ends. */
  leave: () => void
}

/** `changed` is called when a lane may fetch more or fewer jobs at once. */
export function createLaneShares(laneConcurrency: number) {
  const lanes = new Set<{ resize: () => void }>()
  /** Lanes of which a message is in flight, and how many messages each of them may have in flight. */
  let busy = 0
  let share = laneConcurrency
  let inFlight = 0
  /** Wait until nothing is in flight. */
  let waitingForEnd: (() => void)[] = []

  /**
   * Halves the share until all busy lanes together are within the limit: it changes seldom, and then for all at once.
   */
  function shareOut(): void {
    let fitting = laneConcurrency
    while (fitting > 1 && fitting * busy > MOST_AT_ONCE) fitting = Math.floor(fitting / 2)
    if (fitting === share) return
    share = fitting
    for (const lane of lanes) lane.resize()
  }

  function add(changed: () => void): LaneShare {
    let running = 0
    /** What lets messages begin that were fetched before its share grew smaller, the first of them first. */
    const held: (() => void)[] = []
    /** Chunks that wait for room. */
    let waiting: (() => void)[] = []

    const lane = {
      resize(): void {
        if (running === 0) return
        changed()
        while (running < share && held.length > 0) {
          begin(1)
          held.shift()?.()
        }
        letChunksLook()
      },
    }
    lanes.add(lane)

    function begin(count: number): void {
      if (count <= 0) return
      const wasIdle = running === 0
      running += count
      inFlight += count
      if (!wasIdle) return
      busy += 1
      shareOut()
      changed()
    }

    function end(): void {
      const next = running <= share ? held.shift() : undefined
      if (next) {
        next()
        return
      }
      running -= 1
      inFlight -= 1
      if (inFlight === 0) {
        for (const each of waitingForEnd) each()
        waitingForEnd = []
      }
      if (running === 0) {
        busy -= 1
        shareOut()
        changed()
      }
      letChunksLook()
    }

    const freeNow = (): number => {
      const left = share > 2 * LEFT_FREE ? LEFT_FREE : share > 1 ? 1 : 0
      return held.length > 0 ? 0 : Math.max(0, share - left - running)
    }

    function letChunksLook(): void {
      if (waiting.length === 0 || freeNow() === 0) return
      const look = waiting
      waiting = []
      for (const each of look) each()
    }

    return {
      async run(work) {
        if (running < share) begin(1)
        else await new Promise<void>((resolve) => held.push(resolve))
        try {
          return await work()
        } finally {
          end()
        }
      },
      room: {
        async free(stopping) {
          // What ends in this turn of the event loop is counted together, so that it is claimed together.
          await new Promise((resolve) => setImmediate(resolve))
          for (;;) {
            if (stopping.aborted) return false
            if (freeNow() > 0) return true
            await new Promise<void>((resolve) => {
              const done = (): void => {
                stopping.removeEventListener('abort', done)
                resolve()
              }
              stopping.addEventListener('abort', done)
              waiting.push(done)
            })
          }
        },
        take(most) {
          const count = Math.min(most, freeNow())
          begin(count)
          return count
        },
        end,
        latestSlotAt: Number.NEGATIVE_INFINITY,
        answerMs: 0,
      },
      fetches: () => (running === 0 ? 1 : share),
      running: () => running,
      leave: () => void lanes.delete(lane),
    }
  }

  return {
    /** A lane that is served from now on. */
    add,
    /** Messages that are being worked on. */
    inFlight: (): number => inFlight,
    /** Resolves once none is. */
    idle: (): Promise<void> =>
      inFlight === 0 ? Promise.resolve() : new Promise((resolve) => waitingForEnd.push(resolve)),
  }
}
