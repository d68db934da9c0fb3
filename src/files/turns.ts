// Long work on what is in memory already, such as the rows of one piece of a file: without a pause nothing else of the
// process would run meanwhile, no lock of a job be renewed, no request answered and no signal heard.

/** Work is interrupted after so many items, or after items of so many characters: some milliseconds. */
const ITEMS = 200
const CHARACTERS = 32 * 1024

/** To be awaited before each item, with its length: gives the event loop a turn every few hundred of them. */
export function createTurns(): (length: number) => Promise<void> | undefined {
  let items = 0
  let characters = 0
  return (length) => {
    items += 1
    characters += length
    if (items < ITEMS && characters < CHARACTERS) return undefined
    items = 0
    characters = 0
    return new Promise((resolve) => setImmediate(resolve))
  }
}
