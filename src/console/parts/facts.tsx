// Facts about one thing, each with its name.
import type { ComponentChildren } from 'preact'

/** The list of them. */
export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>

/** One of them. */
export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
