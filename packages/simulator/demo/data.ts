// What a newcomer finds: two accounts with senders, keys, templates, gallery and contacts. Data only; seed.ts stores it.
// All numbers are from ranges that the regulators keep free for fiction, and every shop is example.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { NewSender } from '../../../src/accounts/add-sender.ts'
import type { Permission } from '../../../src/accounts/credentials.ts'
import { templateSchema } from '../../../src/model/templates/template.ts'

/** Folder of the gallery files and templates beside this file. */
export const demoFilesDir = fileURLToPath(new URL('files', import.meta.url))

/** What the simulator is given as token or api_key; it takes any. */
export const SIMULATOR_TOKEN = 'simulator-token'

/** Who writes the message that the demo account has received, and what. */
export const inboundMessage = { from: '447700900150', text: 'Hello, are you open on Sunday?' }

/** A sender of a demo account; its token and base URL are the simulator's. */
export interface DemoSender extends Pick<NewSender, 'number' | 'name' | 'provider' | 'phoneNumberId' | 'isDefault'> {}

/** An account that a newcomer finds, with all that belongs to it. Files are names in `files`. */
export interface DemoAccount {
  name: string
  contactsShape: 'records' | 'contacts'
  senders: DemoSender[]
  folders: { name: string; isSystem?: boolean; files: string[]; trash: string[] }[]
  /** Each tag with the contacts that carry it, by their place in `contacts`. */
  tags: { name: string; contacts: number[] }[]
  contacts: { name: string; phone: string; email: string }[]
}

const mainAccount: DemoAccount = {
  name: 'Demo shop',
  contactsShape: 'records',
  senders: [
    // The default: the partner's wire takes every header kind.
    { number: '447700900001', name: 'shop', provider: 'partner-api', phoneNumberId: '', isDefault: true },
    {
      number: '447700900002',
      name: 'cloud',
      provider: 'cloud-api',
      phoneNumberId: '100000000000002',
      isDefault: false,
    },
  ],
  folders: [
    { name: 'Product pictures', files: ['spring.png', 'summer.png', 'autumn.png'], trash: [] },
    { name: 'Documents', files: ['invoice.pdf', 'delivery-times.txt'], trash: [] },
    { name: 'Archive', files: [], trash: ['winter.png'] },
    { name: 'Received', isSystem: true, files: [], trash: [] },
  ],
  contacts: [
    { name: 'Ada Example', phone: '447700900101', email: 'ada@shop.example' },
    { name: 'Ben Example', phone: '447700900102', email: 'ben@shop.example' },
    { name: 'Cleo Example', phone: '447700900103', email: 'cleo@shop.example' },
    { name: 'Dan Example', phone: '447700900104', email: 'dan@shop.example' },
  ],
  tags: [
    { name: 'Newsletter', contacts: [0, 1, 2] },
    { name: 'Regulars', contacts: [0, 1, 3] },
  ],
}

const otherAccount: DemoAccount = {
  name: 'Another shop',
  contactsShape: 'contacts',
  senders: [{ number: '447700900003', name: 'other', provider: 'partner-api', phoneNumberId: '', isDefault: true }],
  folders: [
    { name: 'Pictures', files: ['spring.png', 'winter.png'], trash: [] },
    { name: 'Drafts', files: [], trash: [] },
  ],
  contacts: [
    { name: 'Eve Example', phone: '447700900105', email: 'eve@other.example' },
    { name: 'Finn Example', phone: '447700900106', email: 'finn@other.example' },
    { name: 'Gus Example', phone: '447700900107', email: 'gus@other.example' },
  ],
  tags: [
    { name: 'Customers', contacts: [0, 1] },
    { name: 'Suppliers', contacts: [0, 2] },
  ],
}

export const demoAccounts = { main: mainAccount, other: otherAccount }

/** The keys of demo.json and what each may do. */
export const demoKeys = {
  api_key: ['messages:send', 'messages:read', 'contacts:read'],
  access_token: ['gallery'],
  auth_token: ['contacts:write'],
  admin_key: ['admin'],
} as const satisfies Record<string, readonly Permission[]>

/** The approved templates, in the format that `templates import` reads. */
export const readDemoTemplates = () =>
  z.array(templateSchema).parse(JSON.parse(readFileSync(`${demoFilesDir}/templates.json`, 'utf8')))
