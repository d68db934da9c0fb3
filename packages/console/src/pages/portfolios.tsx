// Business portfolios: the numbers that share one daily limit of people at WhatsApp, and how much of it is used.
import type { SenderDocument as Sender } from '../../../../src/model/accounts/sender.ts'
import type { PortfolioDocument as Portfolio } from '../../../../src/producer/api/portfolios/routes.ts'
import { countText, shareText } from '../logic/numbers.ts'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { changeOne, columnsOf, createOne, type Resource, removeOne } from '../parts/resource.tsx'
import { Badge, Gauge, LaneLink, sentence, Until } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { loadSenders } from '../state/library.ts'

const EVERY_MS = 5_000
const PORTFOLIO: Resource<Portfolio> = {
  ...{ family: 'portfolios', at: '/admin/portfolios', noun: 'portfolio' },
  nameOf: ({ id, name }) => `portfolio ${id} ${name}`,
}

/** The list, with buttons to create, change and remove. */
export function Portfolios() {
  const senders = useLoad('senders', loadSenders).value ?? []
  return (
    <Page title="Portfolios" main={['Create a portfolio', createPortfolio]}>
      <p>
        WhatsApp counts the people to whom a business writes first in 24 hours, over all numbers of its portfolio.
        Campaigns stop before the limit and go on by themselves; the reserve is kept for transactional templates such as
        codes.
      </p>
      <List
        cards
        caption="Portfolios"
        from={listAt<Portfolio>(PORTFOLIO.at)}
        every={EVERY_MS}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No portfolio yet.">
            Without one Laneway keeps no daily limit. Create one with the limit that WhatsApp shows, then put senders
            into it on <a href="/console/senders">their page</a>.
          </Empty>
        }
        columns={columnsOf<Portfolio>('portfolios', {
          id: false,
          account: false,
          daily_limit: false,
          name: { title: 'Portfolio', head: true, text: ({ id, name }) => `${id} ${name}` },
          used: { cell: Used },
          free_at: {
            title: 'Campaigns',
            cell: MayWrite,
            note: ({ free_at }) => free_at !== null && <>next place {<Until at={free_at} />}</>,
          },
          reserve_percent: { title: 'Reserve', number: true, cell: ({ reserve_percent }) => `${reserve_percent} %` },
          held: { count: ({ held }) => held, wide: true },
          senders: {
            title: 'Senders',
            cell: ({ id }) => <Members senders={senders.filter((each) => each.portfolio === id)} />,
          },
        })}
        actions={(portfolio) => [
          ['Change', portfolio.name, () => changePortfolio(portfolio)],
          ['Remove', portfolio.name, () => removePortfolio(portfolio)],
        ]}
      />
    </Page>
  )
}

/** People counted, as a bar. */
function Used({ name, used, daily_limit: limit }: Portfolio) {
  if (limit === null) return <span class="quiet">no limit, nobody is counted</span>
  return (
    <span class="used">
      <span class="number">
        {countText(used)} of {countText(limit)}
      </span>
      <Gauge label={`People counted for ${name}`} value={used} most={limit} />
      <span class="quiet">{shareText(used, limit)}</span>
      {used >= limit && <Badge tone="bad">limit spent</Badge>}
    </span>
  )
}

/** Whether campaigns can write to somebody new, or when. */
const MayWrite = ({ free_at }: Portfolio) =>
  free_at === null ? <Badge tone="good">may write</Badge> : <Badge tone="wait">wait</Badge>

const Members = ({ senders }: { senders: readonly Sender[] }) =>
  senders.length === 0 ? (
    <span class="quiet">none</span>
  ) : (
    <ul class="plain">
      {senders.map(({ id, name, number }) => (
        <li key={id}>
          <LaneLink sender={id} name={name || number} />
        </li>
      ))}
    </ul>
  )

const createPortfolio = (): void =>
  createOne(PORTFOLIO, {
    done: ({ id }) => `Portfolio ${id} is created. Put senders into it on the page of senders.`,
  })

const changePortfolio = (portfolio: Portfolio): void =>
  changeOne(PORTFOLIO, portfolio, {
    note: 'In force within two seconds. People who are counted stay counted.',
  })

/** The server refuses this while senders belong to it. */
const removePortfolio = (portfolio: Portfolio): void =>
  removeOne(
    PORTFOLIO,
    portfolio,
    sentence`This removes ${portfolio.name} and its limit. It is refused as long as senders belong to it.`,
  )
