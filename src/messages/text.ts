// What the person reads: the `message_text` of a lookup.
import type { Content } from './content.ts'
import type { Template } from './template.ts'
import type { TemplateContent } from './template-content.ts'
import { fillIn, valuesOf, variablesOf } from './template-variables.ts'

/**
 * The body of an interactive message, the caption (without one the link) of an image, the link of an audio file, the
 * approved body of a template with its parameters filled in. `template` is the approved template of a template message;
 * without it, which only happens where an account has the check turned off, nobody knows the words: its name stands for them.
 */
export function textOf(content: Content, template?: Template): string {
  switch (content.type) {
    case 'interactive':
      return content.interactive.body.text
    case 'image':
      return content.image.caption || content.image.link
    case 'audio':
      return content.audio.link
    case 'template':
      return (template && bodyOf(content.template, template)) ?? content.template.name
  }
}

function bodyOf({ components = [] }: TemplateContent, template: Template): string | undefined {
  const approved = template.components.find((component) => component.type === 'BODY')
  if (!approved) return undefined
  const { parameters = [] } = components.find((component) => component.type === 'BODY') ?? {}
  const variables = variablesOf(approved.text)
  return fillIn(approved.text, valuesOf(variables, parameters, template.parameter_format === 'NAMED'))
}
