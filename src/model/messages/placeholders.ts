// Content with placeholders: what all messages of a campaign have in common, with a placeholder for each value of the
// recipient. Its JSON is made once for the campaign; each message adds only its values.

/** The placeholder of value n. No outside text can imitate it: every NUL is removed before a content gets placeholders. */
export const placeholder = (n: number): string => `\u0000${n}\u0000`

// biome-ignore lint/suspicious/noControlCharactersInRegex: that no text has it is what makes it a marker
const PLACEHOLDER = /^\u0000(\d+)\u0000$/
/** The same in JSON: a placeholder is a whole string, and no other string begins with an escaped NUL. */
const PLACEHOLDER_IN_JSON = /"\\u0000(\d+)\\u0000"/

/** The number of the value that a text stands for; undefined for any other text. */
export function placeholderIn(text: string): number | undefined {
  const n = PLACEHOLDER.exec(text)?.[1]
  return n === undefined ? undefined : Number(n)
}

/** Fills in the values of one recipient. */
export type Fill = (values: readonly string[]) => string

/** Serialises a value with placeholders once, and returns a function that fills them in, giving the JSON of the filled value. */
export const jsonWithPlaceholders = (value: unknown): Fill => filling(JSON.stringify(value))

/** The same for an object's fields without the braces, to be put among other fields. */
export const fieldsWithPlaceholders = (value: object): Fill => filling(JSON.stringify(value).slice(1, -1))

function filling(json: string): Fill {
  const parts = json.split(PLACEHOLDER_IN_JSON)
  return (values) => {
    let filled = parts[0] ?? ''
    // Every second part is the number of a placeholder.
    for (let i = 1; i < parts.length; i += 2) {
      filled += JSON.stringify(values[Number(parts[i])] ?? '') + (parts[i + 1] ?? '')
    }
    return filled
  }
}
