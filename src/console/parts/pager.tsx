// A list that comes in pages: the first is loaded with the page, each further one when somebody asks for it.
import { useEffect, useState } from 'preact/hooks'
import type { Page } from '../state/http.ts'
import type { Loaded } from '../state/load.ts'
import { sayRefusal } from './notices.tsx'

/** The rows of all pages so far, and what loads the next one; undefined on the last. */
export function useRows<T>(
  first: Loaded<Page<T>>,
  load: (cursor: string) => Promise<Page<T>>,
): { rows: readonly T[]; more: (() => Promise<void>) | undefined } {
  const [later, setLater] = useState<{ of: Page<T> | undefined; rows: T[]; next: string | null }>()
  const page = first.value
  useEffect(() => setLater(undefined), [page])
  const current = later !== undefined && later.of === page ? later : undefined
  const next = current ? current.next : (page?.next ?? null)
  return {
    rows: [...(page?.data ?? []), ...(current?.rows ?? [])],
    more:
      next === null
        ? undefined
        : async () => {
            try {
              const got = await load(next)
              setLater({ of: page, rows: [...(current?.rows ?? []), ...got.data], next: got.next })
            } catch (error) {
              sayRefusal(error)
            }
          },
  }
}

/** The button below a list. */
export function More({ more, name = 'Show more' }: { more: (() => Promise<void>) | undefined; name?: string }) {
  const [busy, setBusy] = useState(false)
  if (more === undefined) return null
  return (
    <button
      type="button"
      aria-disabled={busy}
      onClick={async () => {
        if (busy) return
        setBusy(true)
        await more()
        setBusy(false)
      }}
    >
      {busy ? 'Loading …' : name}
    </button>
  )
}
