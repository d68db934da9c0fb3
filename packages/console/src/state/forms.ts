// What forms know of the bodies that they send. Made by scripts/console-forms.mjs.
import type { FormField } from '../parts/form-fields.ts'

export const FORMS = {
  'accounts.create': {
    name: { kind: 'text', label: 'Name', help: 'Spaces at either end are removed.', required: true },
  },
  'portfolios.create': {
    name: { kind: 'text', label: 'Name', help: 'Spaces at either end are removed.', required: true },
    daily_limit: {
      kind: 'number',
      label: 'Daily limit',
      help: 'People in a moving 24 hours to whom its numbers may write first; null: no limit.',
      mayBeNull: true,
      min: '1',
      max: '100000000',
      step: '1',
    },
    reserve_percent: {
      kind: 'number',
      label: 'Reserve percent',
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
      help: 'People in a moving 24 hours to whom its numbers may write first; null: no limit.',
      mayBeNull: true,
      min: '1',
      max: '100000000',
      step: '1',
    },
    reserve_percent: {
      kind: 'number',
      label: 'Reserve percent',
      help: 'Share of it that campaigns leave to transactional messages.',
      min: '0',
      max: '100',
      step: '1',
    },
  },
  'contactBook.create': {
    phone: { kind: 'text', label: 'Phone', required: true },
    name: { kind: 'text', label: 'Name' },
    email: { kind: 'text', label: 'Email' },
    tags: {
      kind: 'list',
      label: 'Tags',
      help: 'Ids of all lists that the contact is in from then on.',
      ofNumbers: true,
    },
  },
  'contactBook.change': {
    phone: { kind: 'text', label: 'Phone' },
    name: { kind: 'text', label: 'Name', mayBeNull: true },
    email: { kind: 'text', label: 'Email', mayBeNull: true },
    tags: {
      kind: 'list',
      label: 'Tags',
      help: 'Ids of all lists that the contact is in from then on.',
      ofNumbers: true,
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FormField>>>>
