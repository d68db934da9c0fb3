// The files that a message shows, anywhere in its content.

import { type FilePosition, type MessageFile, mapFiles } from '../templates/component-files.ts'
import type { Content } from './content.ts'

/** A file of the gallery in a content. */
export interface GalleryReference extends FilePosition {
  /** Its id. */
  gallery: number
}

/** The content with each file replaced by what `to` makes of it. */
export function withFiles(content: Content, to: (file: MessageFile, position: FilePosition) => MessageFile): Content {
  switch (content.type) {
    case 'image':
      return { ...content, image: to(content.image, { path: 'image', kind: 'image' }) }
    case 'video':
      return { ...content, video: to(content.video, { path: 'video', kind: 'video' }) }
    case 'audio':
      return { ...content, audio: to(content.audio, { path: 'audio', kind: 'audio' }) }
    case 'sticker':
      return { ...content, sticker: to(content.sticker, { path: 'sticker', kind: 'sticker' }) }
    case 'document':
      return { ...content, document: to(content.document, { path: 'document', kind: 'document' }) }
    case 'interactive':
      return { ...content, interactive: withHeader(content.interactive, to) }
    case 'template': {
      const { components } = content.template
      if (components === undefined) return content
      const mapped = mapFiles(components, 'template.components', to)
      return { ...content, template: { ...content.template, components: mapped } }
    }
    default:
      return content
  }
}

type Interactive = Extract<Content, { type: 'interactive' }>['interactive']

function withHeader(
  interactive: Interactive,
  to: (file: MessageFile, position: FilePosition) => MessageFile,
): Interactive {
  // A list of products has a text as its header.
  if (!('header' in interactive) || interactive.type === 'product_list') return interactive
  if (interactive.header === undefined || interactive.header.type === 'text') return interactive
  const { header } = interactive
  const at = (kind: string): FilePosition => ({ path: `interactive.header.${kind}`, kind })
  switch (header.type) {
    case 'image':
      return { ...interactive, header: { ...header, image: to(header.image, at('image')) } }
    case 'video':
      return { ...interactive, header: { ...header, video: to(header.video, at('video')) } }
    case 'document': {
      const document = to(header.document, at('document'))
      return { ...interactive, header: { ...header, document: { ...document, filename: header.document.filename } } }
    }
  }
}

const known = new WeakMap<Content, readonly GalleryReference[]>()

/** The files of the gallery that a content shows; most contents show none. */
export function galleryFilesIn(content: Content): readonly GalleryReference[] {
  if (content.type === 'text') return NONE
  const found = known.get(content) ?? filesIn(content)
  known.set(content, found)
  return found
}

const NONE: readonly GalleryReference[] = []

function filesIn(content: Content): readonly GalleryReference[] {
  const found: GalleryReference[] = []
  withFiles(content, (file, position) => {
    if (file.gallery !== undefined) found.push({ ...position, gallery: Number(file.gallery) })
    return file
  })
  return found.length === 0 ? NONE : found
}

/** Paths of the files of a content that are named in this way. */
export function filesNamedBy(content: Content, source: 'link' | 'id' | 'gallery'): string[] {
  const paths: string[] = []
  withFiles(content, (file, { path }) => {
    if (file[source] !== undefined) paths.push(`${path}.${source}`)
    return file
  })
  return paths
}
