// Whether this is the demo, and whether its made-up traffic runs.
import { effect, signal } from '@preact/signals'
import { dataOf } from './http.ts'
import { audience, session } from './session.ts'

interface Demo {
  available: boolean
  running: boolean
}

/** undefined until it is known; a server without a demo has none. */
export const demo = signal<Demo | undefined>(undefined)

/** Asks whenever somebody else is signed in. */
export function followDemo(): void {
  effect(() => {
    if (!session.value || audience.value === '') return
    dataOf<Demo>('GET', '/console/demo').then(
      (found) => {
        demo.value = found
      },
      () => {
        demo.value = { available: false, running: false }
      },
    )
  })
}

/** Starts or stops the made-up traffic. Throws Refused. */
export async function setDemo(running: boolean): Promise<void> {
  await dataOf('POST', '/console/demo', { body: { running } })
  demo.value = { available: true, running }
}
