// Loaded into a process before anything else: notes how long its event loop was kept, as nobody was answered meanwhile.
// Lines `<epoch ms> <ms>` in the file that PROVE_TURNS names, one for each turn that was long.
//
// Judged by the CPU time of the event loop's own thread: neighbours of a shared machine take a processor away for as long
// as they like, and the other threads of the process keep nobody waiting. Where the kernel does not tell it, by the clock.
//
// Without types, so that tests can load it as it stands.
import { appendFileSync, existsSync, openSync, readSync } from 'node:fs'

/** Between two looks; a turn of the loop is taken for longer by this at most. */
const LOOK_MS = 5
/** Shorter ones are not noted. */
const LONG_MS = 20

const file = process.env.PROVE_TURNS
/** The main thread of a process has the process's id. */
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`
const schedstat = existsSync(SCHEDSTAT) ? openSync(SCHEDSTAT, 'r') : undefined
const digits = Buffer.alloc(64)

/** CPU time of this thread, ms. */
function spentMs() {
  if (schedstat === undefined) return performance.now()
  return Number(digits.toString('latin1', 0, readSync(schedstat, digits, 0, digits.length, 0)).split(' ')[0]) / 1e6
}

let before = spentMs()
function look() {
  const now = spentMs()
  const turnMs = now - before
  if (file !== undefined && turnMs > LONG_MS) {
    appendFileSync(file, `${(performance.timeOrigin + performance.now()).toFixed(0)} ${turnMs.toFixed(1)}\n`)
  }
  // What the line itself took is not the product's.
  before = spentMs()
  setTimeout(look, LOOK_MS).unref()
}
look()
