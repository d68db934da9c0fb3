// The templates of an account.

import { type ListedTemplate, listTemplates, removeTemplate } from '../../../accounts/templates.ts'
import { askForSyncs, showSync, showSyncs } from '../../../admin/template-syncs.ts'
import { hasMorePages, importDefinitions, MORE_PAGES } from '../../../admin/templates.ts'
import { isoOrNull } from '../../../kernel/instant.ts'
import { type Template, whyNotSendable } from '../../../model/templates/template.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError, notFound } from '../../errors.ts'
import { lists, says, shows } from '../answers.ts'
import { templates } from './routes.ts'

export function templateRoutes({ redis }: { redis: Redis }): Route[] {
  /** The template of the path in all its languages, or in the requested one. */
  async function named(account: number, name: string, language: string | undefined): Promise<Template[]> {
    const all = (await listTemplates(redis, account, { name })).map(({ template }) => template)
    const found = all.filter((each) => language === undefined || each.language === language)
    if (found.length === 0) throw all.length === 0 ? notFound('The template') : onlyIn(all, String(language))
    return found
  }

  return bind(templates)({
    async list({ caller, query: { limit, cursor } }) {
      // One more than asked for, to know whether there is another page.
      const found = await listTemplates(redis, caller.account, { after: cursor, limit: limit + 1 })
      const page = found.slice(0, limit).map(listed)
      return lists({ data: page, next: found.length > limit ? (page.at(-1)?.id ?? null) : null })
    },
    async import({ caller, body, audit }) {
      const definitions = 'data' in body && Array.isArray(body.data) ? body.data : [body]
      const imported = await importDefinitions(redis, caller.account, definitions)
      audit({ target: [...new Set(imported.map(({ name }) => name))].join(','), detail: `${imported.length} imported` })
      return shows(hasMorePages(body) ? `imported. ${MORE_PAGES}` : 'imported', imported.map(justImported))
    },
    async sync({ caller, body, audit }) {
      const asked = await askForSyncs(redis, caller.account, body.sender)
      audit({ detail: asked.map(({ wabaId }) => wabaId).join(',') })
      const data = await Promise.all(asked.map((each) => showSync(redis, each)))
      return { status: 202 as const, ...shows('queued', data) }
    },
    async syncs({ caller }) {
      return shows('syncs', await showSyncs(redis, caller.account))
    },
    async show({ caller, params, query }) {
      return shows('template', await named(caller.account, params.name, query.language))
    },
    async remove({ caller, params, query, audit }) {
      const languages = (await named(caller.account, params.name, query.language)).map(({ language }) => language)
      for (const language of languages) await removeTemplate(redis, caller.account, params.name, language)
      audit({ detail: languages.join(',') })
      return says(`removed in ${languages.join(', ')}`)
    },
  })
}

/** The template has other languages than the one that was asked for. */
function onlyIn(all: readonly Template[], language: string): ApiError {
  const others = all.map((template) => template.language).join(', ')
  return new ApiError(404, 'not_found', `The template does not exist in ${language}, but in ${others}.`)
}

function listed({ template, listing, quality, componentsChangedAt, notSendable }: ListedTemplate) {
  const { name, language, category, status } = template
  return {
    ...{ id: `${name}/${language}`, name, language, category, status },
    quality: quality ?? null,
    components_changed_at: isoOrNull(componentsChangedAt),
    waba_id: listing?.wabaId ?? null,
    listed_at: isoOrNull(listing?.atMs),
    cannot_be_sent: notSendable ?? null,
  }
}

/** An import has no quality. */
const justImported = (template: Template) =>
  listed({
    ...{ template, listing: undefined, quality: undefined, componentsChangedAt: undefined },
    notSendable: whyNotSendable(template),
  })
