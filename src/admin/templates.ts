// Imports templates from a file or the body of a request, all or none.
import { z } from 'zod'
import { importTemplate } from '../accounts/templates.ts'
import type { Fault } from '../kernel/fault.ts'
import { invalidFields } from '../kernel/refusal.ts'
import { faultsOf } from '../kernel/zod-faults.ts'
import { type Template, templateSchema } from '../model/templates/template.ts'
import type { Redis } from '../redis/connect.ts'

const pagedSchema = z.object({ paging: z.object({ next: z.string().min(1) }) })

/** The fault of a page of WhatsApp's list that is not the last one. */
export const MORE_PAGES = 'The list has more pages: fetch the address in `paging.next` and import it as well.'

/** Whether definitions were given as a page of WhatsApp's list that others follow. */
export const hasMorePages = (given: unknown): boolean => pagedSchema.safeParse(given).success

/** Definitions as templates, or their faults; `at` gives the path of one by its index. */
function readDefinitions(
  definitions: readonly unknown[],
  at: (index: number) => string,
): { templates: Template[] } | { faults: Fault[] } {
  const templates: Template[] = []
  const faults: Fault[] = []
  for (const [index, definition] of definitions.entries()) {
    const parsed = templateSchema.safeParse(definition)
    if (parsed.success) templates.push(parsed.data)
    else faults.push(...faultsOf(parsed.error, definition, at(index)))
  }
  return faults.length > 0 ? { faults } : { templates }
}

/** Imports definitions in WhatsApp's own format, all or none. Throws a Refusal with every fault. */
export async function importDefinitions(
  redis: Redis,
  account: number,
  definitions: readonly unknown[],
): Promise<Template[]> {
  const read = readDefinitions(definitions, (index) => `data[${index}]`)
  if ('faults' in read) throw invalidFields(read.faults)
  for (const template of read.templates) await importTemplate(redis, account, template)
  return read.templates
}
