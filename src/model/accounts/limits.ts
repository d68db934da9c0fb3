// Limits of an account, by the names people type. The installation has a default for each (LANEWAY_LIMIT_…), an account may have
// its own; 0 is no limit.

import { z } from 'zod'

/** Limits of an account; 0 is none. Rates are requests a second, bytes are bytes, the others are counts. */
export interface AccountLimits {
  /** Of each of its keys. */
  keyRate: number
  /** Of all of its keys together. */
  accountRate: number
  /** Messages that were accepted and not claimed yet. */
  waiting: number
  /** Campaigns that were not started yet. */
  drafts: number
  /** Uploaded rows of all campaigns that are kept. */
  rowsBytes: number
  /** Files of the gallery, those in the trash too. */
  galleryBytes: number
  contacts: number
}

/** Limits of the installation: defaults for its accounts, and those that belong to no account. */
export interface InstallationLimits extends AccountLimits {
  /** Requests a second from one address. */
  addressRate: number
}

/** The setting of an account for each. */
export const LIMIT_SETTINGS = {
  'limit.key_rate': 'keyRate',
  'limit.account_rate': 'accountRate',
  'limit.waiting': 'waiting',
  'limit.drafts': 'drafts',
  'limit.rows_bytes': 'rowsBytes',
  'limit.gallery_bytes': 'galleryBytes',
  'limit.contacts': 'contacts',
} as const satisfies Readonly<Record<string, keyof AccountLimits>>
export type LimitSetting = keyof typeof LIMIT_SETTINGS

/** A field for each limit. */
export const limitFields = <S>(field: S) =>
  Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, field])) as Record<LimitSetting, S>

/** What a limit may be; null is the installation's. */
export const limitSchema = z.int().min(0).nullable()
