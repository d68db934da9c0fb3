// Text and times as every page shows them.

import { plainText } from '../logic/plain-text.ts'
import { agoText, spanText } from '../logic/spans.ts'
import { now } from '../state/now.ts'

/** Text from outside: its direction ends with it, and what nobody would see is shown by name. */
export function Said({ text, class: name }: { text: string; class?: string }) {
  return (
    <bdi class={name} dir="auto">
      {plainText(text)}
    </bdi>
  )
}

const utc = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const year = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })

const fine = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})

/** A moment in the reader's zone, with the date unless it is today, and UTC on hover. */
export function When({ at, millis = false }: { at: string | number | null | undefined; millis?: boolean }) {
  const ms = typeof at === 'string' ? Date.parse(at) : (at ?? Number.NaN)
  if (Number.isNaN(ms)) return <span class="quiet">–</span>
  const date = new Date(ms)
  const isToday = date.toDateString() === new Date().toDateString()
  const isThisYear = date.getFullYear() === new Date().getFullYear()
  const prefix = isToday ? '' : `${(isThisYear ? day : year).format(date)}, `
  return (
    <time dateTime={date.toISOString()} title={utc(ms)} class="when">
      {prefix + (millis ? fine : clock).format(date)}
    </time>
  )
}

/** How long ago something was, counting on while one looks. */
export function Ago({ at }: { at: string | number | null }) {
  const ms = typeof at === 'string' ? Date.parse(at) : at
  if (ms === null || Number.isNaN(ms)) return <span class="quiet">never</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={utc(ms)}>
      {agoText(ms, now.value)}
    </time>
  )
}

/** How long until something, counting down. */
export function Until({ at }: { at: string }) {
  const seconds = (Date.parse(at) - now.value) / 1_000
  return (
    <time dateTime={at} title={utc(Date.parse(at))}>
      {seconds <= 0 ? 'now' : `in ${spanText(seconds)}`}
    </time>
  )
}
