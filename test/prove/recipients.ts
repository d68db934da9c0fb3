/** Recipients that exist for nobody else: digits of mobile numbers, `count` of them, another range for each `range`. */
export function recipientsOf(range: number, count: number): string[] {
  return Array.from({ length: count }, (_each, n) => String(491_700_000_000 + range * 100_000 + n))
}
