// The result of the check before the start: recipients, problems, and who is left out and why.
import { useState } from 'preact/hooks'
import type { CampaignDescription, RunPlan } from '../../../../src/campaigns/commands/campaign-document.ts'
import { textRecords } from '../../../../src/files/csv-head.ts'
import { counted, countText, spanText } from '../logic/numbers.ts'
import { plainText } from '../logic/plain-text.ts'
import { Table } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { Badge, status, Text, When, words } from '../parts/text.tsx'
import { actingHeaders, downloadAddress, refusalOf } from '../state/http.ts'

/** Each reads on from a number. */
const REASONS = {
  duplicate: 'listed twice',
  number: 'with an impossible phone number',
  parameter: 'with a value for the template missing or not fitting',
  unreadable: 'on lines that cannot be read',
  opted_out: 'opted out of advertising',
  excluded: 'on a list that is left out',
  skipped_capped: 'capped, with enough marketing for now',
  skipped_erased: 'erased since',
} as const

/** How many people get nothing, by reason. */
export function LeftOut({
  refused,
  ...others
}: Pick<RunPlan, 'refused'> & Partial<Record<keyof typeof REASONS, number>>) {
  const counts: Partial<Record<string, number>> = { ...refused, ...others }
  const found = Object.entries(REASONS).flatMap(([reason, means]) => {
    const count = counts[reason] ?? 0
    return count > 0 ? [{ means, count }] : []
  })
  if (found.length === 0) return null
  return (
    <>
      <p>
        {counted(
          found.reduce((sum, { count }) => sum + count, 0),
          'person',
          'people',
        )}{' '}
        left out:
      </p>
      <ul>
        {found.map(({ means, count }) => (
          <li key={means}>{`${countText(count)} ${means}`}</li>
        ))}
      </ul>
    </>
  )
}

/** The card of the preflight, before it and after it. */
export function Preflight({ campaign }: { campaign: CampaignDescription }) {
  const { preflight, state } = campaign
  if (preflight === undefined) {
    return (
      <Card title="Preflight">
        {state === 'checking' ? (
          <p role="status">The recipients are being counted and checked …</p>
        ) : (
          <p>Not checked yet. The preflight counts the recipients, checks each and freezes the list.</p>
        )}
      </Card>
    )
  }
  const { problems } = preflight
  const refused = Object.values(preflight.refused).reduce((sum, count) => sum + count, 0)
  const badge =
    problems.length === 0 ? (
      <Badge tone="good">no problem</Badge>
    ) : (
      <Badge tone="bad">{counted(problems.length, 'problem')}</Badge>
    )
  return (
    <Card title="Preflight">
      {status`${badge} ${<strong>{counted(preflight.recipients, 'recipient')}</strong>} passed. Checked
        ${<When at={preflight.checked_at} />}.`}
      <Faults faults={problems} />
      <Faults faults={preflight.warnings} />
      {preflight.files.length > 0 && (
        <p>{`${counted(preflight.files.filter(({ uploaded }) => uploaded).length, 'file')} of the gallery ready at the provider.`}</p>
      )}
      {campaign.started_at === null && problems.length === 0 && (
        <p>
          At {preflight.rate} per second it takes {spanText(preflight.seconds)}. {limitText(preflight)}
          {preflight.would_expire > 0 && (
            <strong class="held">{countText(preflight.would_expire)} would come to their turn too late.</strong>
          )}
        </p>
      )}
      <LeftOut {...preflight} />
      {refused > 0 && <Refused id={campaign.id} />}
    </Card>
  )
}

/** How long the daily limit of the portfolio makes it take. */
function limitText({ days, people }: NonNullable<CampaignDescription['preflight']>): string {
  if (people === null || (days !== null && days < 2)) return ''
  const most = `Its portfolio lets campaigns write to ${countText(people.a_day)} people a day`
  return days === null
    ? `${most}: it never ends. `
    : `${most}: it takes ${countText(days)} days and goes on by itself. `
}

export function Faults({ faults }: { faults: readonly { path: string; message: string }[] }) {
  return faults.length === 0 ? null : (
    <ul class="plain problems">
      {faults.map(({ path, message }) => (
        <li key={`${path} ${message}`}>{words`${<code>{plainText(path)}</code>}: ${message}`}</li>
      ))}
    </ul>
  )
}

const SHOWN = 20
/** The file of refused rows may have a million: only its beginning is read. */
const HEAD_BYTES = 64 * 1024

function Refused({ id }: { id: string }) {
  const [rows, setRows] = useState<string[][]>()
  const address = `/campaigns/${id}/refused`
  const load = async (): Promise<void> => {
    const answer = await fetch(address, { headers: actingHeaders() })
    if (!answer.ok) throw refusalOf(answer.status, await answer.json())
    setRows(textRecords(await headOf(answer), SHOWN + 1, false))
  }
  const [header = [], ...refused] = rows ?? []
  return (
    <>
      <div class="actions">
        <Button press={load}>Show the first</Button>
        <a class="button" href={downloadAddress(address)} download>
          All as CSV
        </a>
      </div>
      {rows && (
        <Table
          caption="Refused recipients"
          rows={refused}
          keyOf={(row) => row.join('\n')}
          columns={header.map((title, i) => ({
            title,
            head: i === 0,
            cell: (row: string[]) => <Text text={row[i] ?? ''} />,
          }))}
        />
      )}
    </>
  )
}

async function headOf(answer: Response): Promise<string> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (reader && text.length < HEAD_BYTES) {
    const { done, value } = await reader.read()
    if (done) return `${text}\n`
    text += value
  }
  await reader?.cancel()
  return text
}
