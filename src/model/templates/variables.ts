// Variables in the texts of a template. No schema here: the console's page loads this file.
import type { Parameter } from './template-content.ts'

/** The variables of a text, each once: numbered ones by their number, as parameters come in that order, then named ones as they stand. */
export function variablesOf(text: string): string[] {
  const names = new Set(Array.from(text.matchAll(variable), ([, name = '']) => name))
  return [...names].sort((a, b) => rank(a) - rank(b))
}

/** The text with every variable that has a value replaced. A value that looks like a variable itself stays as it is. */
export function fillIn(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(variable, (placeholder: string, name: string) => values.get(name) ?? placeholder)
}

/**
 * The value of each variable: by `parameter_name` when the template's parameters are named, else by position.
 * An amount or a time gives its `fallback_value`, which phones show. Other parameters that are no text, or match no variable, give
 * nothing: the matcher has refused them, or the account turned it off.
 */
export function valuesOf(
  variables: readonly string[],
  parameters: readonly Parameter[],
  named: boolean,
): Map<string, string> {
  const values = new Map<string, string>()
  parameters.forEach((parameter, position) => {
    const name = named ? parameter.parameter_name : variables[position]
    const text = readText(parameter)
    if (typeof name === 'string' && typeof text === 'string') values.set(name, text)
  })
  return values
}

function readText({ text, currency, date_time: time }: Parameter): unknown {
  const held = currency ?? time
  return typeof held === 'object' && held !== null && 'fallback_value' in held ? held.fallback_value : text
}

const variable = /\{\{\s*(\w+)\s*\}\}/g

function rank(name: string): number {
  return /^\d+$/.test(name) ? Number(name) : Number.MAX_SAFE_INTEGER
}
