// Which files WhatsApp takes, by MIME type and size: its media table. It enforces them only after the send, when
// it fetches the link, so the gallery shows the answer beforehand.

const KB = 1024
/** Binary megabytes: the 16 MB of videos are enforced as 16,777,216 bytes. */
const MB = 1024 * KB

/** Sizes in bytes. What a MIME type does not show (codecs, pixels, pages) WhatsApp alone can judge. */
const table = [
  { kind: 'audio', limit: 16 * MB, types: ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg'] },
  {
    kind: 'document',
    limit: 100 * MB,
    types: [
      'text/plain',
      'application/pdf',
      'application/msword',
      'application/vnd.ms-excel',
      'application/vnd.ms-powerpoint',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    ],
  },
  { kind: 'image', limit: 5 * MB, types: ['image/jpeg', 'image/png'] },
  // Animated stickers may have 500 KB, but neither type nor size shows that a file moves.
  { kind: 'sticker', limit: 100 * KB, types: ['image/webp'] },
  { kind: 'video', limit: 16 * MB, types: ['video/mp4', 'video/3gpp'] },
]

const rules = new Map(table.flatMap(({ types, ...rule }) => types.map((type) => [type, rule] as const)))

/** Whether a file can be sent through WhatsApp, and one sentence why. `size` is in bytes; parameters of the MIME type do not matter. */
export function compatibilityOf(mimeType: string, size: number): { compatible: boolean; reason: string } {
  const type = mimeType.replace(/;.*$/s, '').trim().toLowerCase()
  const rule = rules.get(type)
  if (!rule) return { compatible: false, reason: `WhatsApp takes no files of type ${type || 'unknown'}.` }
  if (size < 1) return { compatible: false, reason: 'The file is empty.' }
  const compatible = size <= rule.limit
  const bounds = `files of type ${type} are sent as ${rule.kind}, at most ${inWords(rule.limit)}`
  return compatible
    ? { compatible, reason: `Can be sent: ${bounds}.` }
    : { compatible, reason: `Too large with ${inWords(size)}: ${bounds}.` }
}

/** Kinds of files that messages show. `gif`: a video that plays in a loop. */
const SENT_AS: Readonly<Record<string, string>> = { gif: 'video' }

/** Why WhatsApp would refuse a file of a message as an image, a video and so on; undefined when it takes it. */
export function whyNotSentAs(kind: string, mimeType: string, size: number): string | undefined {
  const { compatible, reason } = compatibilityOf(mimeType, size)
  if (!compatible) return reason
  const type = mimeType.replace(/;.*$/s, '').trim().toLowerCase()
  const rule = rules.get(type)
  return rule?.kind === (SENT_AS[kind] ?? kind)
    ? undefined
    : `Files of type ${type} are sent as ${rule?.kind}, not as ${kind}.`
}

/** Rounded up to a tenth, so that a file one byte over the limit does not read as if it were on it. */
function inWords(bytes: number): string {
  const [unit, name] = bytes < MB ? [KB, 'KB'] : [MB, 'MB']
  return `${Math.ceil((bytes / unit) * 10) / 10} ${name}`
}
