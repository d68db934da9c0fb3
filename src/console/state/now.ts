// The clock of the page: one tick a second for every age and every countdown, none in a hidden tab.
import { signal } from '@preact/signals'

/** Epoch ms, at most a second old while the tab is seen. */
export const now = signal(Date.now())

const tick = (): void => {
  if (!document.hidden) now.value = Date.now()
}
setInterval(tick, 1_000)
document.addEventListener('visibilitychange', tick)
