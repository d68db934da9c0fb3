// One line on the terminal that shows what is being done; lines of their own where the output is no terminal.
export function createProgress(say: (line: string) => void) {
  const isTerminal = process.stderr.isTTY === true
  const begun = performance.now()
  const clear = (): void => void (isTerminal && process.stderr.write('\r\x1b[K'))
  return {
    show(doing: string): void {
      const line = `[${Math.round((performance.now() - begun) / 1_000)} s] ${doing}`
      if (isTerminal) process.stderr.write(`\r\x1b[K${line}`)
      else say(line)
    },
    /** Prints a line that stays. */
    say(line: string): void {
      clear()
      say(line)
    },
    end: clear,
  }
}
