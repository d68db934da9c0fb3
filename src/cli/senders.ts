// senders: the numbers that messages are sent from, each with its provider. A sender is named by its number, its name or its id.
import { z } from 'zod'
import { DEFAULT_RATE } from '../model/accounts/sender.ts'
import { type SenderCheck, senderCheckSchema } from '../model/accounts/sender-check.ts'
import { senders } from '../producer/api/senders/routes.ts'
import { rateQuestion } from './lanes.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'

const named = { words: { id: 'sender' } } as const
const asTyped = { asTyped: true, nullWord: 'none' } as const

export const verbs: readonly RouteVerb[] = [
  routeVerb('senders', 'create', senders.create, {
    ...asTyped,
    verb: 'add',
    example:
      '--account 1 --number +14155550100 --provider cloud-api --base-url https://graph.facebook.com ' +
      '--phone-number-id 1065550100 --waba-id 1022901293 --token - < token.txt',
    stdin: 'token',
    // WhatsApp has said nothing of it yet.
    asks: rateQuestion(() => DEFAULT_RATE),
  }),
  routeVerb('senders', 'list', senders.list, {
    example: '--account 1',
    columns: [
      ...['id', 'account', 'number', 'name', 'provider', 'rate', 'portfolio', 'quality', 'restricted', 'default'],
      'base_url',
    ],
    none: 'There is no sender yet.',
    pages: 'all',
  }),
  routeVerb('senders', 'show', senders.show, { ...named, ...asTyped, example: '1' }),
  routeVerb('senders', 'check', senders.check, {
    ...named,
    example: '1',
    summary:
      'check a sender with WhatsApp, and show what is missing and what to do; exits with 1 while anything is missing',
    text: (data) => checkText(senderCheckSchema.parse(data)),
    fails(data) {
      const { ok, sender } = z.looseObject({ ok: z.boolean(), sender: z.number() }).parse(data)
      return ok ? undefined : `Sender ${sender} cannot send, or gets no webhooks: something is missing.`
    },
  }),
  routeVerb('senders', 'change', senders.change, {
    ...named,
    ...asTyped,
    summary: 'change the name of a sender, or make it the default of its account; for its rate see `lanes rate`',
    fields: ['name', 'default'],
    example: '1 --name "shop" --default',
  }),
  routeVerb('senders', 'change', senders.change, {
    ...named,
    ...asTyped,
    verb: 'set',
    summary: 'change a setting of a sender',
    example: '1 portfolio 2',
    setting: { forNull: 'none', of: ['portfolio', 'waba_id', 'follow_provider', 'strict_pace', 'marketing_route'] },
  }),
  routeVerb('senders', 'change', senders.change, {
    ...named,
    ...asTyped,
    verb: 'renew',
    summary: 'give a sender a new token, for instance after the old one expired; then resume its lane',
    fields: ['token', 'base_url'],
    stdin: 'token',
    example: '1 --token - < token.txt',
    after: ({ id }) => `If its lane is paused: \`lanes resume ${id}\`.`,
  }),
  routeVerb('senders', 'remove', senders.remove, {
    ...named,
    summary: 'remove a sender that has nothing to do, and free its number; takes about 2 s',
    example: '1',
    asks: false,
  }),
]

const MARKS = { good: 'ok', warning: 'warning', missing: 'MISSING', unknown: 'unknown' } as const

function checkText({ ok, findings }: SenderCheck): string {
  const rows = findings.map(({ what, state, sentence, do: todo }) => {
    const name = `${MARKS[state].padEnd(8)} ${what.replaceAll('_', ' ').padEnd(21)}`
    return todo === null || state === 'good' ? `${name} ${sentence}` : `${name} ${sentence}\n${' '.repeat(31)}${todo}`
  })
  const missing = findings.filter(({ state }) => state === 'missing').length
  return [...rows, '', ok ? 'Nothing is missing.' : `${missing} missing.`].join('\n')
}
