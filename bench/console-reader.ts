// An open tab of the console without a browser: it follows the stream, which gets changes as the page does, and asks for the
// chart as often as the page does.
import { z } from 'zod'

const CHART_EVERY_MS = 15_000
const taken = z.object({ at: z.string() })

/** What a tab has got so far. */
export interface ConsoleReader {
  /** How old each snapshot was when it came (ms). */
  ages: number[]
  /** How long after the one before each came (ms). */
  gaps: number[]
  /** Fulfilled when the first came. */
  told: Promise<void>
  close(): Promise<void>
}

/** Opens one; `close` ends it. */
export function openConsole(port: number, key: string): ConsoleReader {
  const aborter = new AbortController()
  const { signal } = aborter
  const ask = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` }, signal })
  const ages: number[] = []
  const gaps: number[] = []
  let before: number | undefined
  let wasTold = (): void => {}
  const told = new Promise<void>((resolve) => {
    wasTold = resolve
  })
  const following = follow().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  const chart = (): void =>
    void ask('/console/history?span=hour').then(
      (answer) => answer.arrayBuffer(),
      () => undefined,
    )
  chart()
  const timer = setInterval(chart, CHART_EVERY_MS)

  async function follow(): Promise<void> {
    const answer = await ask('/console/stream?changes=true')
    const decoder = new TextDecoder()
    let text = ''
    for await (const piece of answer.body ?? []) {
      text += decoder.decode(piece, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1]
        if (data === undefined) continue
        const now = Date.now()
        // The time is in its first bytes: to parse all of it would cost more than it takes to send it.
        ages.push(now - Date.parse(taken.parse(JSON.parse(`${data.slice(0, data.indexOf(','))}}`)).at))
        if (before !== undefined) gaps.push(now - before)
        before = now
        wasTold()
      }
    }
  }

  return {
    ages,
    gaps,
    told,
    async close() {
      clearInterval(timer)
      aborter.abort()
      await following
    },
  }
}
