// How providers write the number that a message went to (`wa_id`): digits alone, or in ways that name the same person and
// are no other name.

export const WA_IDS = ['plain', 'plus', 'spaced', 'mixed'] as const
export type WaIds = (typeof WA_IDS)[number]

const IN_TURN = ['plain', 'plus', 'spaced'] as const

/** The number `to`, with or without a plus, as the answer to the `n`-th message writes it. */
export function waIdOf(to: string, how: WaIds, n: number): string {
  const digits = to.startsWith('+') ? to.slice(1) : to
  switch (how) {
    case 'plain':
      return digits
    case 'plus':
      return `+${digits}`
    case 'spaced':
      return n % 2 === 0 ? `+${digits.slice(0, 2)} ${digits.slice(2, 6)} ${digits.slice(6)}` : `00${digits}`
    case 'mixed':
      // The rounds count on, so that both ways of `spaced` come.
      return waIdOf(digits, IN_TURN[n % IN_TURN.length] ?? 'plain', Math.floor(n / IN_TURN.length))
  }
}
