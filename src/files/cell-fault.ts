// What no cell of a file may hold that is sent to somebody, or kept of them.

/** Why the text cannot be used; undefined when it can. */
export function cellFault(text: string): string | undefined {
  if (/[\r\n]/.test(text)) return 'a line break; is a quote not closed?'
  if (/\p{Cc}/u.test(text)) return 'a control character'
  // What an earlier program put where it could not read the file, or one half of a character.
  if (/[\uFFFD\p{Cs}]/u.test(text)) return 'a character was lost before; save the file anew, as UTF-8'
  return undefined
}
