// Signing in with a key. The key goes to the server once and is kept nowhere in the browser.
import { useEffect, useState } from 'preact/hooks'
import { TextField } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { useAct } from '../state/act.ts'
import { signedOutBecause, signIn } from '../state/session.ts'

/** The page of whoever is not signed in. */
export function SignIn() {
  const [key, setKey] = useState('')
  const { busy, refusal, run } = useAct(() => signIn(key.trim()))
  useEffect(() => {
    document.title = 'Sign in · Laneway'
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    void run()
  }
  return (
    <main class="sign-in">
      <p class="brand">Laneway</p>
      <h1>Sign in</h1>
      {signedOutBecause.value !== '' && <p role="status">{signedOutBecause.value}</p>}
      <form onSubmit={submit} aria-busy={busy}>
        <TextField
          label="Key"
          type="password"
          autocomplete="current-password"
          value={key}
          onValue={setKey}
          required
          help="It begins with lw_. After npm start the terminal shows one; others are made with npm run cli -- keys create."
        />
        <Problem refusal={refusal} />
        <button type="submit" class="primary" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  )
}
