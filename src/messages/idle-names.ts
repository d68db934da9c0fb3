// `parameter_name` where it names nothing: many clients send it always. The chat product refuses some of them, so it is
// neither kept nor forwarded there.
import type { TemplateMessageContent } from './content.ts'
import type { TemplateShape } from './templates/template.ts'
import type { Component } from './templates/template-content.ts'

/** The content without the names of parameters that are found by their place; the content itself when it has none. */
export function withoutIdleNames(content: TemplateMessageContent, { named }: TemplateShape): TemplateMessageContent {
  const { components } = content.template
  if (!components?.some((component) => hasIdle(component, named))) return content
  const template = { ...content.template, components: components.map((component) => cleaned(component, named)) }
  return { ...content, template }
}

/** Texts of headers and bodies have names, those of buttons never. */
const isIdle = ({ type }: Component, named: boolean): boolean => !named || (type !== 'HEADER' && type !== 'BODY')

const hasIdle = (component: Component, named: boolean): boolean =>
  (isIdle(component, named) && component.parameters?.some((parameter) => 'parameter_name' in parameter)) ||
  component.cards?.some((card) => card.components?.some((part) => hasIdle(part, named))) ||
  false

function cleaned(component: Component, named: boolean): Component {
  const { parameters, cards } = component
  return {
    ...component,
    ...(parameters &&
      isIdle(component, named) && { parameters: parameters.map(({ parameter_name: _idle, ...rest }) => rest) }),
    ...(cards && {
      cards: cards.map((card) => ({
        ...card,
        ...(card.components && { components: card.components.map((part) => cleaned(part, named)) }),
      })),
    }),
  }
}
