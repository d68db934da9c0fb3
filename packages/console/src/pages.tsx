// The routes below /console, and the right that each page needs.
import type { ComponentChild } from 'preact'
import type { Right } from './logic/may.ts'
import { Activity } from './pages/activity.tsx'
import { CampaignPage } from './pages/campaign.tsx'
import { NewCampaign } from './pages/campaign-new.tsx'
import { Campaigns } from './pages/campaigns.tsx'
import { ChooseAccount } from './pages/choose-account.tsx'
import { Contacts } from './pages/contacts.tsx'
import { Conversations } from './pages/conversations.tsx'
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
import { Portfolios } from './pages/portfolios.tsx'
import { ProviderNotices } from './pages/provider-notices.tsx'
import { ScheduledPage } from './pages/scheduled.tsx'
import { Senders } from './pages/senders.tsx'
import { Start } from './pages/start.tsx'
import { Templates } from './pages/templates.tsx'
import { Empty, Page } from './parts/page.tsx'
import { actingFor, isOperator } from './state/http.ts'
import { place } from './state/router.ts'
import { may, viewer } from './state/session.ts'

const ANYBODY = undefined
const queryOf = (name: string): string | null => place.value.query.get(name)

type Row = readonly [
  path: string | RegExp,
  right: Right | undefined,
  page: (...parts: string[]) => ComponentChild,
  inMenu?: string,
]

/**
 * Pages by their path; the groups of a pattern become arguments. Those with a name are in the menu, in these groups. A key
 * without the right gets no link to the page, and a refusal at its address: otherwise the server would refuse its buttons one
 * by one.
 */
export const PAGES: readonly (readonly Row[])[] = [
  [
    ['', ANYBODY, () => <Overview />, 'Overview'],
    ['/lanes', ANYBODY, () => <Lanes />, 'Lanes'],
    [/^\/lanes\/(\d{1,15})$/, ANYBODY, (id) => <Lane key={id} id={Number(id)} />],
    ['/messages', 'viewMessage', () => <Messages />, 'Messages'],
    [/^\/messages\/([^/]{1,300})$/, ANYBODY, (id) => <MessagePage key={id} id={id} />],
    [
      '/conversations',
      'viewMessage',
      () => <Conversations key={`${viewer.value} ${queryOf('person')}`} />,
      'Conversations',
    ],
    ['/campaigns', 'viewMessages', () => <Campaigns />, 'Campaigns'],
    ['/campaigns/new', 'bulkSend', () => <NewCampaign key={queryOf('from')} />],
    [/^\/campaigns\/([^/]{1,60})$/, ANYBODY, (id) => <CampaignPage key={id} id={id} />],
    ['/scheduled', 'viewMessages', () => <ScheduledPage />, 'Scheduled'],
    ['/start', 'send', () => <Start />, 'Send a message'],
  ],
  [
    ['/contacts', 'readContacts', () => <Contacts />, 'Contacts'],
    ['/opt-outs', 'readContacts', () => <OptOuts />, 'Opt-outs'],
    ['/people', 'administer', () => <Person key={queryOf('person')} />, 'Data of a person'],
    ['/templates', 'readTemplates', () => <Templates />, 'Templates'],
    ['/gallery', 'gallery', () => <Gallery />, 'Gallery'],
  ],
  [
    ['/senders', 'administer', () => <Senders />, 'Senders'],
    ['/portfolios', 'administer', () => <Portfolios />, 'Portfolios'],
    ['/notices', 'administer', () => <ProviderNotices />, 'Notices'],
    ['/endpoints', 'events', () => <Endpoints />, 'Event endpoints'],
    [/^\/endpoints\/([^/]{1,60})$/, 'events', (id) => <EndpointPage key={id} id={id} />],
    ['/keys', 'administer', () => <Keys />, 'Keys'],
    ['/limits', 'administer', () => <Limits />, 'Limits'],
    ['/activity', 'administer', () => <Activity />, 'Activity'],
  ],
]

/** Pages that an operator sees for all accounts at once. All others are for one account. */
const FOR_ALL = /^(\/lanes(\/\d+)?|\/notices|\/activity|\/keys)?$/

/** A campaign or a message, whose id names its lane. */
const OF_LANE = /^\/\w+\/(?:cmp|msg)_(\d{1,15})_/

/** The page at a path. */
export function pageOf(path: string): ComponentChild {
  for (const [at, right, page] of PAGES.flat()) {
    const found = typeof at === 'string' ? at === path && [path] : at.exec(path)
    if (!found) continue
    if (isOperator.value && actingFor.value === undefined && !FOR_ALL.test(path)) {
      return <ChooseAccount key={path} lane={OF_LANE.exec(path)?.[1]} />
    }
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
