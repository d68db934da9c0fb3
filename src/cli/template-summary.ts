// A template as lines for a terminal: what people read, and what a message must fill in.
import { type BlockShape, shapeOf, type Template } from '../messages/templates/template.ts'
import { keyValueTable } from './table.ts'

/** What a template shows and what each of its parts needs, a line each, cards included. */
export function templateSummary(template: Template): string {
  const shape = shapeOf(template)
  return keyValueTable([
    ['Template', template.name],
    ['Language', template.language],
    ['Category', template.category],
    ['Status', template.status],
    ...blockFacts(shape, shape.named),
    ...(shape.cards ?? []).flatMap((card, i) => [
      ['Card', `card_index ${i}`] as const,
      ...blockFacts(card, shape.named).map(([name, value]) => [`  ${name}`, value] as const),
    ]),
  ])
}

function blockFacts({ header, body, buttons }: BlockShape, named: boolean): [string, string][] {
  const filled = (variables: readonly string[]): string => {
    if (variables.length === 0) return 'nothing to fill in'
    return named ? `parameters ${variables.join(', ')}, by name` : `${variables.length} in order`
  }
  const shown: [string, string][] = []
  if (header) {
    const isText = header.kind === 'text'
    shown.push(['Header', isText ? `${header.text} (${filled(header.variables)})` : `${header.kind}, by its link`])
  }
  if (body) shown.push(['Body', `${body.text} (${filled(body.variables)})`])
  for (const [index, { kind, url }] of buttons.entries()) {
    const needs = kind === 'COPY_CODE' ? ', needs a coupon code' : url ? `, needs the end of ${url.text}` : ''
    shown.push(['Button', `index ${index}: ${kind}${needs}`])
  }
  return shown
}
