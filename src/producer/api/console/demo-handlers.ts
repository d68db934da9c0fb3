// Made-up traffic of the demo, switched on and off from the console. Where there is no demo there is no switch.
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import { consoleDemo } from './demo-routes.ts'

/** What makes the traffic; only the demo brings one. */
export interface DemoSwitch {
  isAvailable: () => boolean
  isRunning: () => boolean
  start: () => void
  stop: () => void
}

/** The routes of routes/console-demo.ts. */
export function consoleDemoRoutes({ demo }: { demo: DemoSwitch | undefined }): Route[] {
  const state = () => ({ available: demo?.isAvailable() ?? false, running: demo?.isRunning() ?? false })

  return bind(consoleDemo)({
    show: async () => ({ body: { status: true, data: state() } }),
    async run({ body, note }) {
      if (!demo?.isAvailable()) throw notFound('The demo')
      note(demo.isRunning() === body.running ? 'nothing' : { action: body.running ? 'demo.start' : 'demo.stop' })
      if (body.running) demo.start()
      else demo.stop()
      return { body: { status: true, data: state() } }
    },
  })
}
