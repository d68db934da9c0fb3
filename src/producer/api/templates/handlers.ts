// The templates of an account.
import { importDefinitions } from '../../../accounts/commands/templates.ts'
import { type ListedTemplate, listTemplates, removeTemplate } from '../../../accounts/store/templates.ts'
import { isoOrNull } from '../../../messages/instant.ts'
import type { Template } from '../../../messages/templates/template.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import { lists, says, shows } from '../answers.ts'
import { byText, pageOfAll } from '../requests.ts'
import { templates } from './routes.ts'

export function templateRoutes({ redis }: { redis: Redis }): Route[] {
  /** The template of the path in all its languages, or in the one that is asked for. */
  async function named(account: number, name: string, language: string | undefined): Promise<ListedTemplate[]> {
    const found = (await listTemplates(redis, account)).filter(
      (each) => each.name === name && (language === undefined || each.language === language),
    )
    if (found.length === 0) throw notFound('The template')
    return found
  }

  return bind(templates)({
    async list({ caller, query }) {
      return lists(pageOfAll((await listTemplates(redis, caller.account)).map(listed), byText, query))
    },
    async import({ caller, body, audit }) {
      const definitions = 'data' in body && Array.isArray(body.data) ? body.data : [body]
      const imported = await importDefinitions(redis, caller.account, definitions)
      audit({ target: [...new Set(imported.map(({ name }) => name))].join(','), detail: `${imported.length} imported` })
      return shows('imported', imported.map(justImported))
    },
    async show({ caller, params, query }) {
      return shows('template', (await named(caller.account, params.name, query.language)).map(definitionOf))
    },
    async remove({ caller, params, query, audit }) {
      const languages = (await named(caller.account, params.name, query.language)).map(({ language }) => language)
      for (const language of languages) await removeTemplate(redis, caller.account, params.name, language)
      audit({ detail: languages.join(',') })
      return says(`removed in ${languages.join(', ')}`)
    },
  })
}

const listed = ({ name, language, category, status, quality, componentsChangedAt }: ListedTemplate) => ({
  ...{ id: `${name}/${language}`, name, language, category, status },
  quality: quality ?? null,
  components_changed_at: isoOrNull(componentsChangedAt),
})

/** An import says nothing of its quality. */
const justImported = (template: Template) => listed({ ...template, quality: undefined, componentsChangedAt: undefined })

const definitionOf = ({ quality: _quality, componentsChangedAt: _at, ...definition }: ListedTemplate) => definition
