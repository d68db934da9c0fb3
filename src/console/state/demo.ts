// Whether this is the demo, and whether its made-up traffic runs, which ends by itself.
import { effect, signal } from '@preact/signals'
import { dataOf } from './http.ts'
import { audience, session } from './session.ts'

interface Demo {
  available: boolean
  running: boolean
}

const NONE: Demo = { available: false, running: false }
const EVERY_MS = 15_000

/** undefined until it is known; a server without a demo has none. */
export const demo = signal<Demo | undefined>(undefined)

/** Asks whenever somebody else is signed in, and in a demo again and again while the tab is seen. */
export function followDemo(): void {
  const ask = async (): Promise<void> => {
    demo.value = await dataOf<Demo>('GET', '/console/demo').catch(() => NONE)
  }
  effect(() => {
    if (session.value && audience.value !== '') void ask()
  })
  setInterval(() => {
    if (session.value && demo.value?.available && !document.hidden) void ask()
  }, EVERY_MS)
}

/** Starts or stops the made-up traffic. Throws Refused. */
export async function setDemo(running: boolean): Promise<void> {
  demo.value = await dataOf<Demo>('POST', '/console/demo', { body: { running } })
}
