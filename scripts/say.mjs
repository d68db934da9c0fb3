// What the scripts tell a person. Everything goes to stderr: stdout belongs to the program that is started, so that
// `npm run --silent cli -- ... --json | jq` sees nothing else.

/** Prints one line. */
export function say(line) {
  process.stderr.write(`${line}\n`)
}

/** Ends the script with the reason. */
export function giveUp(reason) {
  say(reason)
  process.exit(1)
}
