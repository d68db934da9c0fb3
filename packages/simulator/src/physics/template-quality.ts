// The quality of one template: it falls with each person who blocks the number after reading it, and in the end the template
// is paused. When it changes is known as soon as the message is taken, since it is known when it is read.

/** The words for it, from good to bad. */
export type Quality = 'GREEN' | 'YELLOW' | 'RED'

/** What one more block changes. */
export type QualityChange = { quality: Quality; before: Quality } | 'paused'

/** One template. */
export class TemplateQuality {
  readonly #pausesAt: number | null
  #blocks = 0
  #quality: Quality = 'GREEN'
  /** From when it is paused (epoch ms); null while it is not going to be. */
  pausedMs: number | null = null

  constructor(pausesAt: number | undefined) {
    this.#pausesAt = pausesAt ?? null
  }

  /** A person blocks the number over it, no sooner than those before. */
  block(atMs: number): QualityChange | null {
    if (this.#pausesAt === null) return null
    this.#blocks += 1
    if (this.#blocks === this.#pausesAt) {
      this.pausedMs ??= atMs
      return 'paused'
    }
    const share = this.#blocks / this.#pausesAt
    const quality = share >= 2 / 3 ? 'RED' : share >= 1 / 3 ? 'YELLOW' : 'GREEN'
    if (quality === this.#quality) return null
    const before = this.#quality
    this.#quality = quality
    return { quality, before }
  }
}
