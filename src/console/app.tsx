// Who is not signed in signs in; everybody else has the page of the place that the address bar names.
import { useEffect, useRef } from 'preact/hooks'
import { pageOf } from './pages/all.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Notices } from './parts/notices.tsx'
import { Empty, Page } from './parts/page.tsx'
import { Header } from './shell/header.tsx'
import { place } from './state/router.ts'
import { notKnownBecause, session } from './state/session.ts'

/** Everything that is seen. */
export function App() {
  const known = session.value
  if (known === undefined) {
    return (
      <p class="starting" role="status">
        {notKnownBecause.value || 'Loading …'}
      </p>
    )
  }
  return (
    <>
      {known === null ? <SignIn /> : <SignedIn />}
      <Notices />
    </>
  )
}

function SignedIn() {
  const main = useRef<HTMLElement>(null)
  const { path } = place.value
  const before = useRef(path)
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    // Whoever reads with a screen reader starts at the title of the new page, as after a real navigation.
    main.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [path])
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <div class="frame">
        <Header />
        <main id="main" ref={main} tabIndex={-1}>
          {pageOf(path) ?? <Nowhere />}
        </main>
      </div>
    </>
  )
}

function Nowhere() {
  return (
    <Page title="Nothing here">
      <Empty title="The console has no page at this address.">
        <p>
          <a href="/console">Go to the overview</a>
        </p>
      </Empty>
    </Page>
  )
}
