// What a sender must be, however it is typed or sent: rules that its fields have together.
import type { ProviderName } from '../sender-settings.ts'

/** Fields by their own names, and as they are typed or sent. */
export type SenderField = 'phoneNumberId' | 'honoursIdempotency'

/** What is wrong with the fields together; `providerName` is how people name the provider there. */
export function senderFaults(
  sender: { provider: ProviderName; phoneNumberId: string; honoursIdempotency: boolean },
  providerName: string,
): { field: SenderField; message: string }[] {
  const isCloud = sender.provider === 'cloud-api'
  const faults: { field: SenderField; message: string }[] = []
  if (isCloud && sender.phoneNumberId === '') {
    faults.push({ field: 'phoneNumberId', message: `required with ${providerName} cloud-api` })
  }
  if (!isCloud && sender.phoneNumberId !== '') {
    faults.push({ field: 'phoneNumberId', message: `only known with ${providerName} cloud-api` })
  }
  if (isCloud && sender.honoursIdempotency) {
    faults.push({ field: 'honoursIdempotency', message: `only known with ${providerName} partner-api` })
  }
  return faults
}

/** A token: printable characters without spaces. */
export const TOKEN = /^[\x21-\x7e]+$/

/** A letter keeps a name apart from a number: templates name their sender by either. */
export const isSenderName = (name: string): boolean => /\p{L}/u.test(name) && !/\p{Cc}/u.test(name)

/**
 * Whether this is the address of a server, without query or fragment, so that paths can be put behind it. Without a
 * password either: none would be sent, and lists of senders show the address.
 */
export function isServerAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false
  return [url.search, url.hash, url.username, url.password].every((part) => part === '')
}
