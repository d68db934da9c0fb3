// The switch of the demo's made-up traffic.
import { useState } from 'preact/hooks'
import { sayRefusal } from '../../parts/notices.tsx'
import { demo, setDemo } from '../../state/demo.ts'
import { may } from '../../state/session.ts'

/** A switch, where there is a demo. */
export function DemoSwitch() {
  const [busy, setBusy] = useState(false)
  const known = demo.value
  if (!known?.available || !may('run')) return null
  const flip = async (): Promise<void> => {
    setBusy(true)
    try {
      await setDemo(!known.running)
    } catch (error) {
      sayRefusal(error)
    }
    setBusy(false)
  }
  return (
    <section class="card demo" aria-labelledby="demo">
      <div>
        <h2 id="demo">Made-up traffic</h2>
        <p class="help">
          Fills every page within a minute: messages, failures, throttling, a campaign. All of it goes to the simulator,
          none to a real person. It ends by itself after five minutes.
        </p>
      </div>
      <button type="button" role="switch" aria-checked={known.running} disabled={busy} onClick={() => void flip()}>
        Made-up traffic: {known.running ? 'on' : 'off'}
      </button>
    </section>
  )
}
