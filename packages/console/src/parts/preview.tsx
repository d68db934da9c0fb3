// A message as the recipient will see it. Media are not loaded: that would show another host who opens the page.
import type { PreviewBlock, PreviewContent } from '../logic/template-preview.ts'
import { Text } from './text.tsx'

/** The bubble of a message and, below it, its cards. */
export function Preview({ content }: { content: PreviewContent }) {
  return (
    <div class="phone">
      <Bubble block={content} />
      {content.cards.length > 0 && (
        <ul class="cards">
          {content.cards.map((card, i) => (
            <li key={i}>
              <Bubble block={card} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Bubble({ block }: { block: PreviewBlock }) {
  const { media, heading, note, body, footer, buttons } = block
  return (
    <div class="bubble">
      {media && (
        <p class="media">
          {media.kind === 'document' && media.filename !== '' ? <Text text={media.filename} /> : media.kind}
          <span class="quiet">{media.link === '' ? ' not chosen yet' : <Text text={` ${media.link}`} />}</span>
        </p>
      )}
      <Line text={heading} class="heading" />
      <Line text={note} class="media" />
      <Line text={body} />
      <Line text={footer} class="quiet" />
      {buttons.map(({ label, detail }) => (
        <p key={`${label} ${detail}`} class="reply">
          <Text text={label} />
          {detail !== '' && (
            <span class="help">
              {' '}
              <Text text={detail} />
            </span>
          )}
        </p>
      ))}
    </div>
  )
}

const Line = ({ text, class: name }: { text: string | undefined; class?: string }) =>
  text !== undefined && (
    <p class={name}>
      <Text text={text} />
    </p>
  )
