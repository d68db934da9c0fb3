// The session. The key is not kept in the browser: the server keeps the session, and the cookie is out of reach of scripts.
import { computed, effect, signal } from '@preact/signals'
import { may as mayDo, type Right, type Session } from '../logic/may.ts'
import { actingFor, call, dataOf, isOperator, isTemporary, Refused, sessionEnded, withRetryNote } from './http.ts'
import { nameAccount, type Place, place, withAccount } from './router.ts'

/** undefined until the server has answered, null if nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined)
/** Why the page asks to sign in again; empty the first time. */
export const signedOutBecause = signal('')
/** Why the server has not answered yet; empty during the first request. */
export const notKnownBecause = signal('')
/** Wait before an unreachable server is asked again. */
const AGAIN_MS = 2_000

const ACCOUNT = 'laneway.account'

/** Asks the server who is signed in, and keeps asking while it cannot be reached: the session may still exist. */
export async function findSession(): Promise<void> {
  try {
    enter(await dataOf<Session>('GET', '/console/session'))
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (isTemporary(error)) {
      notKnownBecause.value = withRetryNote(error).message
      setTimeout(findSession, AGAIN_MS)
      return
    }
    if (error.status !== 401) signedOutBecause.value = error.message
    session.value = null
  }
}

/** Signs in with a key. Throws Refused. */
export async function signIn(key: string): Promise<void> {
  enter(await dataOf<Session>('POST', '/console/session', { body: { key } }))
  signedOutBecause.value = ''
}

/** Ends the session on the server; in the page even if the server cannot be reached. */
export async function signOut(): Promise<void> {
  await call('DELETE', '/console/session').catch(() => undefined)
  sessionStorage.removeItem(ACCOUNT)
  actingFor.value = undefined
  signedOutBecause.value = 'You are signed out.'
  session.value = null
}

function enter(found: Session): void {
  isOperator.value = found.operator
  const wanted = place.peek().account ?? Number(sessionStorage.getItem(ACCOUNT))
  actingFor.value = found.operator && wanted > 0 ? wanted : undefined
  session.value = found
}

/** Chooses the account that an operator acts for; undefined is all. */
export function actFor(account: number | undefined): void {
  if (account === undefined) sessionStorage.removeItem(ACCOUNT)
  else sessionStorage.setItem(ACCOUNT, String(account))
  actingFor.value = account
}

let before: Place | undefined
// An address that names an account chooses it; any other gets the one that is chosen.
effect(() => {
  const here = place.value
  const account = actingFor.value
  if (!isOperator.value) return
  const named = here === before ? undefined : here.account
  before = here
  if (named !== undefined && named !== account) actFor(named)
  else nameAccount(account)
})

let lent: { link: HTMLAnchorElement; address: string } | undefined
// A link that is copied, or opened in another tab, names the account as well; one that is followed here need not.
addEventListener('mousedown', ({ target, button, ctrlKey, metaKey, shiftKey }) => {
  lent?.link.setAttribute('href', lent.address)
  lent = undefined
  const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href^="/console"]') : null
  const address = link?.getAttribute('href')
  if (!link || !address || actingFor.value === undefined || !(button || ctrlKey || metaKey || shiftKey)) return
  lent = { link, address }
  link.setAttribute('href', withAccount(address, actingFor.value))
})

/** Whether the session may do this; false when nobody is signed in. */
export const may = (right: Right): boolean => {
  const known = session.value
  return known ? mayDo(known, right, actingFor.value) : false
}

/** Key and account that pages load for; a change loads them again. */
export const viewer = computed(() => `${session.value?.key_name ?? ''}/${actingFor.value ?? ''}`)

let seen = 0
effect(() => {
  if (sessionEnded.value === seen) return
  seen = sessionEnded.value
  if (session.peek()) {
    signedOutBecause.value = 'Your session has ended. Sign in again to go on where you were.'
    session.value = null
  }
})
