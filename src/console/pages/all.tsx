// Which page is at which address, below /console.
import type { ComponentChild } from 'preact'
import { place } from '../state/router.ts'
import { CampaignPage } from './campaign.tsx'
import { NewCampaign } from './campaign-new.tsx'
import { Campaigns } from './campaigns.tsx'
import { Lane } from './lane.tsx'
import { Lanes } from './lanes.tsx'
import { MessagePage } from './message.tsx'
import { Messages } from './messages.tsx'
import { Overview } from './overview.tsx'

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
]

/** The page at a path; undefined when there is none. */
export function pageOf(path: string): ComponentChild | undefined {
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path)
    if (found) return page(...found.slice(1))
  }
  return undefined
}
