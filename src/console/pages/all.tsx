// Which page is at which address, below /console.
import type { ComponentChild } from 'preact'
import { Empty, Page } from '../parts/page.tsx'
import { actingFor, isOperator } from '../state/http.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { Activity } from './activity.tsx'
import { CampaignPage } from './campaign.tsx'
import { NewCampaign } from './campaign-new.tsx'
import { Campaigns } from './campaigns.tsx'
import { ChooseAccount } from './choose-account.tsx'
import { Contacts } from './contacts.tsx'
import { deedOf } from './deeds.ts'
import { EndpointPage } from './endpoint.tsx'
import { Endpoints } from './endpoints.tsx'
import { Gallery } from './gallery.tsx'
import { Keys } from './keys.tsx'
import { Lane } from './lane.tsx'
import { Lanes } from './lanes.tsx'
import { Limits } from './limits.tsx'
import { MessagePage } from './message.tsx'
import { Messages } from './messages.tsx'
import { OptOuts } from './opt-outs.tsx'
import { Overview } from './overview.tsx'
import { Person } from './person.tsx'
import { Senders } from './senders.tsx'
import { Start } from './start.tsx'
import { Templates } from './templates.tsx'

/** A page by a pattern of its path; groups are given to it in order. */
const PAGES: readonly (readonly [RegExp, (...parts: string[]) => ComponentChild])[] = [
  [/^$/, () => <Overview />],
  [/^\/lanes$/, () => <Lanes />],
  [/^\/lanes\/(\d{1,15})$/, (id) => <Lane key={id} id={Number(id)} />],
  [/^\/messages$/, () => <Messages />],
  [/^\/messages\/([^/]{1,300})$/, (id) => <MessagePage key={id} id={id} />],
  [/^\/campaigns$/, () => <Campaigns />],
  [/^\/campaigns\/new$/, () => <NewCampaign key={place.value.query.get('from')} />],
  [/^\/campaigns\/([^/]{1,60})$/, (id) => <CampaignPage key={id} id={id} />],
  [/^\/contacts$/, () => <Contacts />],
  [/^\/opt-outs$/, () => <OptOuts key={place.value.query.get('person')} />],
  [/^\/people$/, () => <Person key={place.value.query.get('person')} />],
  [/^\/templates$/, () => <Templates />],
  [/^\/senders$/, () => <Senders />],
  [/^\/keys$/, () => <Keys />],
  [/^\/gallery$/, () => <Gallery />],
  [/^\/endpoints$/, () => <Endpoints />],
  [/^\/endpoints\/([^/]{1,60})$/, (id) => <EndpointPage key={id} id={id} />],
  [/^\/limits$/, () => <Limits />],
  [/^\/activity$/, () => <Activity />],
  [/^\/start$/, () => <Start />],
]

/** Pages that an operator sees for all accounts at once; on any other it acts for one. */
const FOR_ALL = /^(\/lanes(\/\d+)?|\/activity|\/keys)?$/

function NotPermitted() {
  return (
    <Page title="Not for this key">
      <Empty title="Your key does not permit what this page is for.">
        <p>
          Sign in with another key, or <a href="/console">go to the overview</a>.
        </p>
      </Empty>
    </Page>
  )
}

/** The page at a path; undefined when there is none. */
export function pageOf(path: string): ComponentChild | undefined {
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path)
    if (!found) continue
    if (isOperator.value && actingFor.value === undefined && !FOR_ALL.test(path)) return <ChooseAccount />
    const deed = deedOf(path)
    return deed === undefined || may(deed) ? page(...found.slice(1)) : <NotPermitted />
  }
  return undefined
}
