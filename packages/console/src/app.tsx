// The whole console: the sign-in page, or the page of the current address.
import { useEffect, useRef } from 'preact/hooks'
import { pageOf } from './pages.tsx'
import { DialogPlace, Form } from './parts/form.tsx'
import { Notices } from './parts/press.tsx'
import { Header } from './shell.tsx'
import { place } from './state/router.ts'
import { notKnownBecause, session, signedOutBecause, signIn } from './state/session.ts'

/** Signs in, or shows the page of the current address. */
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

/** The sign-in page. The key goes to the server once and is not kept in the browser. */
function SignIn() {
  useEffect(() => {
    document.title = 'Sign in · Laneway'
  }, [])
  return (
    <main class="sign-in">
      <p class="brand">Laneway</p>
      <h1>Sign in</h1>
      {signedOutBecause.value !== '' && <p role="status">{signedOutBecause.value}</p>}
      <Form
        verb="Sign in"
        fields={{
          key: {
            label: 'Key',
            kind: 'password',
            autocomplete: 'current-password',
            required: true,
            help: 'It begins with lw_. After npm start the terminal shows one; others are made with npm run cli -- keys create.',
          },
        }}
        act={async ({ key }) => {
          await signIn(key.trim())
        }}
      />
    </main>
  )
}

function SignedIn() {
  const main = useRef<HTMLElement>(null)
  const { path } = place.value
  const before = useRef(path)
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    // A screen reader starts at the heading of the new page, as after a real navigation.
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
          {pageOf(path)}
        </main>
      </div>
      <DialogPlace />
    </>
  )
}
