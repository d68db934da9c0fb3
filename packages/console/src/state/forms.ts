// What forms know of the bodies that they send, and lists of what they show. Made by scripts/console-forms.mjs.
import type { FormField } from '../parts/form-fields.ts'
import type { ListedField } from '../parts/resource.tsx'

export const FORMS = {
  'portfolios.create': {
    name: { kind: 'text', label: 'Name', help: 'Spaces at either end are removed.', required: true },
    daily_limit: {
      kind: 'number',
      label: 'Daily limit',
      help: 'People in a moving 24 hours to whom its numbers may write first; null: no limit, and nobody is counted.',
      mayBeNull: true,
      min: '1',
      max: '100000000',
      step: '1',
    },
    reserve_percent: {
      kind: 'number',
      label: 'Reserve in percent',
      help: 'Share of it that campaigns leave to transactional messages.',
      min: '0',
      max: '100',
      step: '1',
    },
  },
  'portfolios.change': {
    name: { kind: 'text', label: 'Name', help: 'Spaces at either end are removed.' },
    daily_limit: {
      kind: 'number',
      label: 'Daily limit',
      help: 'People in a moving 24 hours to whom its numbers may write first; null: no limit, and nobody is counted.',
      mayBeNull: true,
      min: '1',
      max: '100000000',
      step: '1',
    },
    reserve_percent: {
      kind: 'number',
      label: 'Reserve in percent',
      help: 'Share of it that campaigns leave to transactional messages.',
      min: '0',
      max: '100',
      step: '1',
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FormField>>>>

export const COLUMNS = {
  portfolios: {
    id: { title: 'Id', kind: 'number' },
    account: { title: 'Account', kind: 'number' },
    name: { title: 'Name', kind: 'text' },
    daily_limit: { title: 'Daily limit', kind: 'number' },
    reserve_percent: { title: 'Reserve in percent', kind: 'number' },
    used: { title: 'Used', kind: 'number' },
    free_at: { title: 'Free at', kind: 'time' },
    held: { title: 'Held', kind: 'number' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ListedField>>>>
