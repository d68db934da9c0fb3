// Names of fields as people type them, and as commander names their options.

/** `policy-transactional` of `policy.transactional`, `dead-letters` of `deadLetters`. */
export const wordOf = (name: string): string =>
  name.replaceAll(/[_.]/g, '-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** `dailyLimit` of `daily_limit` or `daily-limit`. */
export const attributeOf = (name: string): string =>
  wordOf(name).replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
