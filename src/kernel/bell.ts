// Wakes who waits without calling them: who knows of something to do rings, and who waits goes on by itself.

/** One at a time waits for it, whoever may ring it. */
export class Bell {
  private resolve: (() => void) | undefined
  private wait: Promise<void> = Promise.resolve()

  /** Resolves at the next ring. */
  rung(): Promise<void> {
    this.wait = new Promise((resolve) => {
      this.resolve = resolve
    })
    return this.wait
  }

  /** Whether somebody would learn of a ring. */
  get isAwaited(): boolean {
    return this.resolve !== undefined
  }

  /**
   * Who waits goes on as soon as what runs now is done, in this turn of the event loop. Resolves once they have, up to where they wait
   * again; at once where nobody waits, and then nobody learns of this ring.
   */
  ring(): Promise<void> {
    this.resolve?.()
    this.resolve = undefined
    return this.wait
  }
}
