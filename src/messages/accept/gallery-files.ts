// Files of the gallery that a message shows: whether the account has them, and whether WhatsApp takes them as what they are
// shown as. WhatsApp itself would say so only after the send.

import { findFile } from '../../gallery/files.ts'
import { whyNotSentAs } from '../../gallery/media-compatibility.ts'
import type { Fault } from '../../kernel/fault.ts'
import type { Content } from '../../model/messages/content.ts'
import { type GalleryReference, galleryFilesIn } from '../../model/messages/content-files.ts'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'

/** A batch names the same file a thousand times. */
const recentFile = cached(1_000, findFile)

/** A fault for each file of the gallery that cannot be sent. One of another account, or in the trash, does not exist. */
export const galleryFaults = (redis: Redis, account: number, content: Content): Promise<Fault[]> =>
  referenceFaults(redis, account, galleryFilesIn(content))

/** The same for references that were read already. */
export async function referenceFaults(
  redis: Redis,
  account: number,
  references: readonly GalleryReference[],
): Promise<Fault[]> {
  if (references.length === 0) return []
  const files = await Promise.all(references.map(({ gallery }) => recentFile(redis, account, gallery)))
  return references.flatMap(({ path, kind, gallery }, i) => {
    const file = files[i]
    const at = `${path}.gallery`
    if (file === undefined || file.deleted_at !== null) {
      return [{ path: at, message: `there is no file ${gallery} in the gallery` }]
    }
    const reason = whyNotSentAs(kind, file.mime_type, file.size)
    return reason === undefined ? [] : [{ path: at, message: reason.replace(/\.$/, '') }]
  })
}
