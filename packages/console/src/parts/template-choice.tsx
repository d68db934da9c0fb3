// The choice of a template of the account.
import type { Template } from '../logic/template-slots.ts'
import { useLoad } from '../state/hooks.ts'
import { type ListedTemplate, loadTemplate, loadTemplates } from '../state/library.ts'
import { may } from '../state/session.ts'
import { Field } from './fields.tsx'
import { WhenLoaded } from './page.tsx'
import { notifyRefusal } from './press.tsx'

/** Offers the templates of which `only` is true, and loads the chosen one with its components. */
export function TemplateChoice({
  template,
  only = () => true,
  onChosen,
}: {
  template: Template | undefined
  only?: (template: ListedTemplate) => boolean
  onChosen: (template: Template | undefined) => void
}) {
  const loaded = useLoad('templates', loadTemplates)
  const choose = async (id: string): Promise<void> => {
    const listed = loaded.value?.find((each) => each.id === id)
    try {
      onChosen(listed && (await loadTemplate(listed)))
    } catch (error) {
      notifyRefusal(error)
    }
  }
  return (
    <WhenLoaded loaded={loaded}>
      {(all) =>
        all.length === 0 ? (
          <NoTemplate />
        ) : (
          <Field
            label="Template"
            value={template === undefined ? '' : `${template.name}/${template.language}`}
            onValue={(id) => void choose(id)}
            options={[['', 'Choose a template'], ...all.filter(only).map((each) => [each.id, choiceOf(each)] as const)]}
          />
        )
      }
    </WhenLoaded>
  )
}

/** Templates that cannot be sent are offered too, with the reason. */
const choiceOf = ({ name, language, status, cannot_be_sent: reason }: ListedTemplate): string => {
  const why = reason === null ? status.toLowerCase() : 'cannot be filled in'
  return `${name}, ${language}${why === 'approved' ? '' : ` (${why})`}`
}

const NoTemplate = () => (
  <p>
    No template yet.{' '}
    {may('administer') ? (
      <a href="/console/templates">Import the approved ones</a>
    ) : (
      'Ask somebody with an admin key to import the approved ones.'
    )}
  </p>
)
