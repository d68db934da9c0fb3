// WhatsApp's list of the templates of one of its accounts, a page at a time. Pages are asked for by their cursor at the sender's
// own address: the address that an answer names for the next page has the token in it, and may lead elsewhere.
import { z } from 'zod'
import { type Template, templateSchema } from '../model/templates/template.ts'
import type { GraphAccess, GraphApi, GraphEnd } from './graph-api.ts'

/** Templates asked for at once: a thousand are four questions. */
export const PAGE_SIZE = 250
/** Fewer make no sense: a template has some 20 KB at most. */
const LEAST_PAGE_SIZE = 25
/** A page of 250 has some 500 KB. */
const PAGE_LIMITS = { ms: 20_000, bytes: 8 * 1024 * 1024 }
const FIELDS = 'id,name,language,status,category,parameter_format,components,quality_score'

/** A template of a page as it is and as text, and its quality by WhatsApp. */
export interface ProviderTemplate {
  template: Template
  text: string
  quality: string | undefined
}

/** How asking for a page ended. */
export type TemplatePageEnd =
  | {
      kind: 'page'
      templates: ProviderTemplate[]
      /** Entries that are no template at all. */
      unreadable: number
      /** Of the next page; undefined on the last. */
      next: string | undefined
      /** That it has found to be as many as WhatsApp hands out. */
      size: number
      atMs: number
      backoffMs: number | undefined
    }
  | Exclude<GraphEnd, { kind: 'answer' }>

const CURSOR_MAX = 2_000
/** A definition of ten cards has some 10 KB. */
const TEXT_MAX = 64 * 1024
const pageSchema = z.object({
  data: z.array(z.unknown()).max(5_000),
  paging: z
    .object({
      cursors: z
        .object({ after: z.string().max(CURSOR_MAX).optional() })
        .optional()
        .catch(undefined),
      next: z.string().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
})

/** The page after a cursor, or the first. Never rejects. A page that is too much for WhatsApp is requested in smaller ones. */
export async function readTemplatePage(
  graph: Pick<GraphApi, 'ask'>,
  access: GraphAccess,
  { wabaId, after, size, signal }: { wabaId: string; after: string | undefined; size: number; signal: AbortSignal },
): Promise<TemplatePageEnd> {
  const query = { fields: FIELDS, limit: String(size), ...(after !== undefined && { after }) }
  const limits = { ...PAGE_LIMITS, signal }
  const end = await graph.ask(access, `${wabaId}/message_templates`, query, limits)
  if (isTooMuch(end) && size > LEAST_PAGE_SIZE) {
    const smaller = Math.max(LEAST_PAGE_SIZE, Math.floor(size / 2))
    return readTemplatePage(graph, access, { wabaId, after, size: smaller, signal })
  }
  if (end.kind !== 'answer') return end
  const page = pageSchema.safeParse(end.body)
  if (!page.success) return { kind: 'unavailable', cause: 'unreadable_answer' }
  const { data, paging } = page.data
  const read = data.map(readTemplate)
  const templates = read.filter((each) => each !== undefined)
  const next = paging?.next === undefined ? undefined : (paging.cursors?.after ?? cursorIn(paging.next, access.baseUrl))
  // There is more, and no way to it: the list is not whole, and must not look so.
  if (paging?.next !== undefined && next === undefined) return { kind: 'unavailable', cause: 'foreign_page' }
  const { atMs, backoffMs } = end
  return { kind: 'page', templates, unreadable: read.length - templates.length, next, size, atMs, backoffMs }
}

/** Its signs: the code for anything, or an answer larger than is read. */
const isTooMuch = (end: GraphEnd): boolean =>
  end.kind === 'unavailable'
    ? end.cause === 'answer_too_large'
    : end.kind === 'refused' && (end.code === 1 || end.code === undefined) && /reduce the amount/i.test(end.says)

/** The cursor in the address of the next page, if that is one of the same server. */
function cursorIn(next: string, baseUrl: string): string | undefined {
  if (!URL.canParse(next)) return undefined
  const url = new URL(next)
  const after = url.searchParams.get('after') ?? ''
  return url.origin === new URL(baseUrl).origin && after !== '' && after.length <= CURSOR_MAX ? after : undefined
}

const listedSchema = z.object({
  name: z.string(),
  language: z.string().regex(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,2}$/),
  quality_score: z
    .object({ score: z.string().regex(/^[A-Za-z_]{1,20}$/) })
    .optional()
    .catch(undefined),
})

/** A template of the list. One whose parts are not as WhatsApp describes them is listed as one that cannot be sent. */
function readTemplate(raw: unknown): ProviderTemplate | undefined {
  const listed = listedSchema.safeParse(raw).data
  if (listed === undefined || typeof raw !== 'object' || raw === null) return undefined
  const parsed = templateSchema.safeParse(raw)
  const odd = { type: 'UNKNOWN', was: whereOdd(parsed.error) }
  const template = parsed.success ? parsed.data : templateSchema.safeParse({ ...raw, components: [odd] }).data
  if (template === undefined) return undefined
  const text = JSON.stringify(template)
  return text.length > TEXT_MAX ? undefined : { template, text, quality: listed.quality_score?.score.toUpperCase() }
}

const whereOdd = (error: z.ZodError | undefined): string =>
  (error?.issues[0]?.path ?? [])
    .join('.')
    .replace(/[^\w.]/g, '')
    .slice(0, 80)
