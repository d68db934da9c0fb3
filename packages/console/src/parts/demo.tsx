// The demo: whether this installation is one, and the switch for its made-up traffic, which ends by itself.
import { effect, signal } from '@preact/signals'
import type { consoleDemo } from '../../../../src/producer/api/console/routes.ts'
import { type Data, dataOf } from '../state/http.ts'
import { may, session, viewer } from '../state/session.ts'
import { Card } from './page.tsx'
import { Button } from './press.tsx'

type Demo = Data<typeof consoleDemo.show>

const NONE: Demo = { available: false, running: false }
const EVERY_MS = 15_000

/** undefined until the server has answered. */
export const demo = signal<Demo | undefined>(undefined)

/** Loads it after every change of session or account; in a demo also every 15 s while the tab is visible. */
export function followDemo(): void {
  const ask = async (): Promise<void> => {
    // A lost answer changes nothing: forms that know a demo keep what was typed.
    demo.value = await dataOf<Demo>('GET', '/console/demo').catch(() => demo.value ?? NONE)
  }
  effect(() => {
    if (session.value && viewer.value !== '') void ask()
  })
  setInterval(() => {
    if (session.value && demo.value?.available && !document.hidden) void ask()
  }, EVERY_MS)
}

/** The switch; nothing outside of a demo. */
export function DemoSwitch() {
  const known = demo.value
  if (!known?.available || !may('administer')) return null
  const flip = async (): Promise<void> => {
    demo.value = await dataOf<Demo>('POST', '/console/demo', { body: { running: !known.running } })
  }
  return (
    <Card title="Made-up traffic" variant="demo">
      <p class="help">
        Fills every page within a minute: messages, failures, throttling, a campaign. All of it goes to the simulator,
        none to a real person. It ends by itself after five minutes.
      </p>
      <Button on={known.running} press={flip}>
        Made-up traffic: {known.running ? 'on' : 'off'}
      </Button>
    </Card>
  )
}
