// Contents with holes: what all messages of a campaign have in common, with a marker wherever a value of the recipient
// belongs. Its JSON is made once for all of them; of each message only what fills the holes is.

/** Stands for value n. Nothing from outside can be taken for it: whoever makes a content with holes removes every NUL first. */
export const hole = (n: number): string => `\u0000${n}\u0000`

// biome-ignore lint/suspicious/noControlCharactersInRegex: that no text has it is what makes it a marker
const HOLE = /^\u0000(\d+)\u0000$/
/** The same in JSON: a hole is a whole string, and no other string begins with an escaped NUL. */
const HOLE_IN_JSON = /"\\u0000(\d+)\\u0000"/

/** The number of the value that a text stands for; undefined for any other text. */
export function holeIn(text: string): number | undefined {
  const n = HOLE.exec(text)?.[1]
  return n === undefined ? undefined : Number(n)
}

/** Fills in the values of one recipient. */
export type Fill = (values: readonly string[]) => string

/** Makes the JSON of a value with holes once, and returns what fills them in: the JSON that the filled value would have. */
export const jsonWithHoles = (value: unknown): Fill => filling(JSON.stringify(value))

/** The same of an object's fields, without the braces around them: they stand among others then. */
export const fieldsWithHoles = (value: object): Fill => filling(JSON.stringify(value).slice(1, -1))

function filling(json: string): Fill {
  const parts = json.split(HOLE_IN_JSON)
  return (values) => {
    let filled = parts[0] ?? ''
    // Every second part is the number of a hole.
    for (let i = 1; i < parts.length; i += 2) {
      filled += JSON.stringify(values[Number(parts[i])] ?? '') + (parts[i + 1] ?? '')
    }
    return filled
  }
}
