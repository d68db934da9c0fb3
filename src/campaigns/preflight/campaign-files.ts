// The files that a campaign shows. Gallery files are uploaded before it starts, so that a million messages need one upload. Links get a
// warning: WhatsApp fetches them for each person.
import { cachedSender } from '../../accounts/senders.ts'
import type { Fault } from '../../kernel/fault.ts'
import { referenceFaults } from '../../messages/accept/gallery-files.ts'
import type { Preflight } from '../../model/campaigns/definition.ts'
import type { Content } from '../../model/messages/content.ts'
import { filesNamedBy, galleryFilesIn } from '../../model/messages/content-files.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Component } from '../../model/templates/template-content.ts'
import type { Campaign } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'

/** How a file of the gallery can be sent by the sender of a lane, once an upload that it needs is over. */
export type UploadedFor = (
  lane: number,
  file: number,
) => Promise<{ kind: 'ready' } | { kind: 'waits' | 'refused'; problem: Problem }>

/** A link that is sent to more people than this gets a warning. */
const MANY = 1_000

const contentOf = ({ definition }: Campaign, components: readonly Component[]): Content => ({
  type: 'template',
  template: { ...definition.template, components: [...components] },
})

/** Problems of the gallery files that a campaign shows, found before any recipient is read. */
export const fileFaults = (redis: Redis, campaign: Campaign, components: readonly Component[]): Promise<Fault[]> =>
  referenceFaults(redis, campaign.account, galleryFilesIn(contentOf(campaign, components)))

/**
 * Uploads the files. `problems` keep the campaign from starting; with `warnings` it starts anyway, and its messages wait if they must.
 */
export async function uploadFiles(
  { redis, uploadedFor }: { redis: Redis; uploadedFor: UploadedFor },
  campaign: Campaign,
  components: readonly Component[],
  recipients: number,
): Promise<Pick<Preflight, 'files' | 'warnings'> & { problems: Fault[] }> {
  const content = contentOf(campaign, components)
  const problems: Fault[] = []
  const warnings: Fault[] = []
  const files: Preflight['files'] = []
  for (const { path, gallery } of galleryFilesIn(content)) {
    const found = await uploadedFor(campaign.lane, gallery)
    const at = `${path}.gallery`
    if (found.kind === 'refused') problems.push({ path: at, message: withoutStop(found.problem.sentence) })
    if (found.kind === 'waits') warnings.push({ path: at, message: withoutStop(found.problem.sentence) })
    if (found.kind !== 'refused') files.push({ gallery: String(gallery), uploaded: found.kind === 'ready' })
  }
  const links = recipients > MANY ? filesNamedBy(content, 'link') : []
  if (links.length > 0 && (await cachedSender(redis, campaign.lane))?.provider === 'cloud-api') {
    const message =
      'WhatsApp fetches this link for each message and fails those whose server throttles it (131053); ' +
      'a file of the gallery is uploaded once'
    warnings.push(...links.map((path) => ({ path, message })))
  }
  return { problems, warnings, files }
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')
