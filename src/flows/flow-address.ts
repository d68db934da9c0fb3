// Sets the address of an account's own server for flows, over HTTP and on the command line, by the same rule as endpoints of events.

import { invalidFields } from '../kernel/refusal.ts'
import type { Seal } from '../kernel/seal.ts'
import { newSecret } from '../outbound/signatures.ts'
import { whyUnsafe } from '../outbound/target-check.ts'
import { createTargetRule } from '../outbound/target-rule.ts'
import type { Redis } from '../redis/connect.ts'
import { addFlowSecret, hasFlowSecret, setFlowAddress } from './flow-settings.ts'

/** `allowPrivate`: networks (CIDR) that it may be in although they are private. */
export interface FlowCommands {
  redis: Redis
  seal: Seal
  allowPrivate: readonly string[]
}

/**
 * Sets the address, or none. Returns the secret that requests are signed with if there was none before; it is shown this once.
 * Throws a Refusal for an address that must not be called.
 */
export async function changeFlowAddress(
  { redis, seal, allowPrivate }: FlowCommands,
  account: number,
  address: string | null,
): Promise<string | null> {
  const unsafe = address === null ? undefined : await whyUnsafe(createTargetRule(allowPrivate), address)
  if (unsafe !== undefined) throw invalidFields([{ path: 'address', message: unsafe }])
  const isNew = address !== null && !(await hasFlowSecret(redis, seal, account))
  // First, so that no request is unsigned.
  const secret = isNew ? await rotateFlowSecret(redis, seal, account) : null
  await setFlowAddress(redis, account, address)
  return secret
}

/** Adds a secret and returns it, once; the one before signs beside it until the next. */
export async function rotateFlowSecret(redis: Redis, seal: Seal, account: number): Promise<string> {
  const secret = newSecret()
  await addFlowSecret(redis, seal, account, secret)
  return secret
}
