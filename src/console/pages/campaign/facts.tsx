// What a campaign is: from whom, what, to whom, when.
import type { ComponentChildren } from 'preact'
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import { searchAddress } from '../../logic/message-filters.ts'
import { countText } from '../../logic/numbers.ts'
import { Said, Until, When } from '../../parts/text.tsx'
import { downloadAddress } from '../../state/http.ts'
import { loadTags, type Tag } from '../../state/library.ts'
import { useLoad } from '../../state/load.ts'
import { may } from '../../state/session.ts'

/** Its definition, its times, and what can be downloaded. */
export function CampaignFacts({ campaign }: { campaign: CampaignDescription }) {
  const { template } = campaign
  // Whoever may not read the lists sees their ids.
  const tags = useLoad(may('readContacts') && 'tags' in campaign.recipients ? 'tags' : undefined, loadTags)
  const exportAt = (format: string): string => downloadAddress(`/campaigns/${campaign.id}/export`, { format })
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">Campaign</h2>
      <dl class="facts">
        <Fact name="Id">
          <code>{campaign.id}</code>
        </Fact>
        <Fact name="Sender">
          <Said text={campaign.sender ?? 'gone'} />
        </Fact>
        <Fact name="Template">
          <Said text={template.name} /> <span class="quiet">{template.language}</span>
        </Fact>
        <Fact name="Recipients">
          <Said text={recipientsText(campaign, tags.value ?? [])} />
        </Fact>
        <Fact name="Created">
          <When at={campaign.created_at} />
        </Fact>
        {campaign.scheduled_at !== null && (
          <Fact name="Scheduled">
            <When at={campaign.scheduled_at} />
            {campaign.state === 'scheduled' && (
              <>
                , <Until at={campaign.scheduled_at} />
              </>
            )}
          </Fact>
        )}
        {campaign.started_at !== null && (
          <Fact name="Started">
            <When at={campaign.started_at} />
          </Fact>
        )}
        {campaign.ended_at !== null && (
          <Fact name="Ended">
            <When at={campaign.ended_at} />
          </Fact>
        )}
        {campaign.valid_until !== null && (
          <Fact name="Sent no later than">
            <When at={campaign.valid_until} />
          </Fact>
        )}
      </dl>
      {campaign.started_at !== null && (
        <p>
          <a href={searchAddress({ campaign: campaign.id })}>Its messages</a> · What became of everybody:{' '}
          <a href={exportAt('csv')} download>
            CSV
          </a>
          ,{' '}
          <a href={exportAt('ndjson')} download>
            NDJSON
          </a>
        </p>
      )}
    </section>
  )
}

function recipientsText({ recipients, progress }: CampaignDescription, tags: readonly Tag[]): string {
  const names = (ids: readonly number[]): string =>
    ids.map((id) => tags.find((tag) => tag.id === id)?.name ?? String(id)).join(', ')
  if ('rows' in recipients) return `rows of a file, number in the column “${recipients.rows.phone}”`
  if ('class' in recipients) return `those of ${recipients.campaign} that are ${recipients.class.replace('_', ' ')}`
  const except = recipients.except.length === 0 ? '' : `, but nobody on ${names(recipients.except)}`
  const count = progress.total > 0 ? `${countText(progress.total)}: ` : ''
  return `${count}everybody on ${names(recipients.tags)}${except}`
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
