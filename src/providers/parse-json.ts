/** A provider's answer as JSON, or undefined when it is none. What comes out is still to be checked by a schema. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
