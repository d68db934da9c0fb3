// The long turns of a process's event loop, noted inside it (preload/turns.ts).
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where they are noted, in a folder of the run. */
export const turnsFile = (folder: string): string => join(folder, 'turns.txt')

/** Reads them as they are noted. */
export function createTurnReader(folder: string) {
  const file = turnsFile(folder)
  let read = 0

  return {
    /** The longest turn since the last time this was asked, in ms of CPU time; 0 when none was long enough to be noted. */
    longest(): number {
      if (!existsSync(file)) return 0
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      const times = lines.slice(read).map((line) => Number(line.split(' ')[1]))
      read = lines.length
      return Math.max(0, ...times)
    },
  }
}
