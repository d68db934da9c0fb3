// One line on the terminal that shows what is being done; lines of their own where the output is no terminal. What takes
// long is shown again now and then, so that a run that works differs from one that hangs.
const AGAIN_MS = 15_000

export function createProgress(say: (line: string) => void) {
  const isTerminal = process.stderr.isTTY === true
  const begun = performance.now()
  let doing = ''
  const clear = (): void => void (isTerminal && process.stderr.write('\r\x1b[K'))
  const print = (): void => {
    const line = `[${Math.round((performance.now() - begun) / 1_000)} s] ${doing}`
    if (isTerminal) process.stderr.write(`\r\x1b[K${line}`)
    else say(line)
  }
  let again: NodeJS.Timeout | undefined
  return {
    show(what: string): void {
      doing = what
      print()
      clearInterval(again)
      again = setInterval(print, AGAIN_MS)
    },
    /** Prints a line that stays. */
    say(line: string): void {
      clear()
      say(line)
    },
    /** What was shown last. */
    last: (): string => doing,
    end(): void {
      clearInterval(again)
      clear()
    },
  }
}
