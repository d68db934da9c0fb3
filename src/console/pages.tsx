// The routes below /console, and the right that each page needs.
import type { ComponentChild } from 'preact'
import type { Right } from './logic/may.ts'
import { Activity } from './pages/activity.tsx'
import { CampaignPage } from './pages/campaign.tsx'
import { NewCampaign } from './pages/campaign-new.tsx'
import { Campaigns } from './pages/campaigns.tsx'
import { ChooseAccount } from './pages/choose-account.tsx'
import { Contacts } from './pages/contacts.tsx'
import { EndpointPage } from './pages/endpoint.tsx'
import { Endpoints } from './pages/endpoints.tsx'
import { Gallery } from './pages/gallery.tsx'
import { Keys } from './pages/keys.tsx'
import { Lane } from './pages/lane.tsx'
import { Lanes } from './pages/lanes.tsx'
import { Limits } from './pages/limits.tsx'
import { MessagePage } from './pages/message.tsx'
import { Messages } from './pages/messages.tsx'
import { OptOuts } from './pages/opt-outs.tsx'
import { Overview } from './pages/overview.tsx'
import { Person } from './pages/person.tsx'
import { Senders } from './pages/senders.tsx'
import { Start } from './pages/start.tsx'
import { Templates } from './pages/templates.tsx'
import { Empty, Page } from './parts/page.tsx'
import { actingFor, isOperator } from './state/http.ts'
import { place } from './state/router.ts'
import { may } from './state/session.ts'

const ANYBODY = undefined
const queryOf = (name: string): string | null => place.value.query.get(name)

/**
 * Pages by the pattern of their path; its groups become arguments. A key without the right gets no link to the page, and a
 * refusal at its address: otherwise the server would refuse its buttons one by one.
 */
const PAGES: readonly (readonly [RegExp, Right | undefined, (...parts: string[]) => ComponentChild])[] = [
  [/^$/, ANYBODY, () => <Overview />],
  [/^\/lanes$/, ANYBODY, () => <Lanes />],
  [/^\/lanes\/(\d{1,15})$/, ANYBODY, (id) => <Lane key={id} id={Number(id)} />],
  [/^\/messages$/, 'viewMessage', () => <Messages />],
  [/^\/messages\/([^/]{1,300})$/, ANYBODY, (id) => <MessagePage key={id} id={id} />],
  [/^\/campaigns$/, 'viewMessages', () => <Campaigns />],
  [/^\/campaigns\/new$/, 'bulkSend', () => <NewCampaign key={queryOf('from')} />],
  [/^\/campaigns\/([^/]{1,60})$/, ANYBODY, (id) => <CampaignPage key={id} id={id} />],
  [/^\/contacts$/, 'readContacts', () => <Contacts />],
  [/^\/opt-outs$/, 'readContacts', () => <OptOuts />],
  [/^\/people$/, 'administer', () => <Person key={queryOf('person')} />],
  [/^\/templates$/, 'readTemplates', () => <Templates />],
  [/^\/senders$/, 'administer', () => <Senders />],
  [/^\/keys$/, 'administer', () => <Keys />],
  [/^\/gallery$/, 'gallery', () => <Gallery />],
  [/^\/endpoints$/, 'events', () => <Endpoints />],
  [/^\/endpoints\/([^/]{1,60})$/, 'events', (id) => <EndpointPage key={id} id={id} />],
  [/^\/limits$/, 'administer', () => <Limits />],
  [/^\/activity$/, 'administer', () => <Activity />],
  [/^\/start$/, 'send', () => <Start />],
]

/** Pages that an operator sees for all accounts at once. All others are for one account. */
const FOR_ALL = /^(\/lanes(\/\d+)?|\/activity|\/keys)?$/

/** The right that the page at a path needs; undefined: none, or the page checks the rights of its parts. */
export const rightFor = (path: string): Right | undefined => PAGES.find(([pattern]) => pattern.test(path))?.[1]

/** The page at a path. */
export function pageOf(path: string): ComponentChild {
  for (const [pattern, right, page] of PAGES) {
    const found = pattern.exec(path)
    if (!found) continue
    if (isOperator.value && actingFor.value === undefined && !FOR_ALL.test(path)) return <ChooseAccount />
    return right === undefined || may(right) ? page(...found.slice(1)) : <NotPermitted />
  }
  return (
    <Page title="Nothing here">
      <Empty title="The console has no page at this address.">
        <a href="/console">Go to the overview</a>
      </Empty>
    </Page>
  )
}

const NotPermitted = () => (
  <Page title="Not for this key">
    <Empty title="Your key does not permit what this page is for.">
      Sign in with another key, or <a href="/console">go to the overview</a>.
    </Empty>
  </Page>
)
