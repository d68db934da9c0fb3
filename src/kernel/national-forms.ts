// Numbers with two forms: a country added digits to its numbers or dropped some, and WhatsApp, phones and lists still use both.
// Both forms are one person. What is sent and shown keeps the form that it was given.
//
// A country is in this table if its two forms convert into each other, nobody else has the other form, and WhatsApp still uses the
// old one. Côte d'Ivoire is not: since 2021 the new digits depend on the operator, and people had to register again. Nor are
// countries whose change is long past, such as Chile, Cameroon or Gabon.

interface Plan {
  /** Country code. */
  code: string
  /** Either form; its groups are what both have. */
  number: RegExp
  /** Both forms: today's, and the other. */
  forms: (...parts: string[]) => [today: string, other: string]
}

const PLANS: readonly Plan[] = [
  // Mobile numbers got a ninth digit between 2012 and 2016. Without it they begin with 6 to 9, lines with 2 to 5: a line has
  // one form, also where a mobile number has the same last eight digits.
  {
    code: '55',
    number: /^55([1-9]{2})9?([6-9]\d{7})$/,
    forms: (area, rest) => [`55${area}9${rest}`, `55${area}${rest}`],
  },
  // Abroad, mobile numbers have a 9 before their area. No line has the ten digits of a mobile number.
  { code: '54', number: /^549?([1-3]\d{9})$/, forms: (rest) => [`549${rest}`, `54${rest}`] },
  // Mobile numbers had a 1 before their area until 2019; WhatsApp still calls people so.
  { code: '52', number: /^521?(\d{10})$/, forms: (rest) => [`52${rest}`, `521${rest}`] },
  // Every number got 01 before it at the end of November 2024.
  { code: '229', number: /^229(?:01)?([2-9]\d{7})$/, forms: (rest) => [`22901${rest}`, `229${rest}`] },
]

/** Today's form of a number and the other one, if it has two; undefined for any other number, and for an id. */
export function twoForms(name: string): readonly [today: string, other: string] | undefined {
  for (const { code, number, forms } of PLANS) {
    if (!name.startsWith(code)) continue
    const [, ...parts] = number.exec(name) ?? []
    return parts.length === 0 ? undefined : forms(...parts)
  }
  return undefined
}

/** The main form of a number; any other name as it is. */
export const mainForm = (name: string): string => twoForms(name)?.[0] ?? name

/** Whether both are forms of one number; of other names, whether they are the same. */
export const isSameNumber = (one: string, other: string): boolean => mainForm(one) === mainForm(other)

/** All forms of a number, the main one first; of any other name that one. */
export const formsOf = (name: string): readonly string[] => twoForms(name) ?? [name]

/** The same names in their order, and then the other forms of their numbers. */
export function withForms(names: readonly string[]): readonly string[] {
  const others = names.flatMap((name) => twoForms(name) ?? [])
  return others.length === 0 ? names : [...new Set([...names, ...others])]
}
