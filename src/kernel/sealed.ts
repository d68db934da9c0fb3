// Encrypts numbers and texts of people for Redis when LANEWAY_DATA_KEY is set; without it they are stored in clear. What was
// written before there was a key, or under an older key of the list, can still be read. Where a number must be found
// again, in the name of a key or in the index, its HMAC is stored instead.
//
// The keys are the process's, as its settings are: a process belongs to one installation.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { PERSON_HASH_BYTES, personHash } from './message-id.ts'

/** A sealed text that is damaged, or was sealed under a key that LANEWAY_DATA_KEY does not have. */
export class DataKeyError extends Error {
  override name = 'DataKeyError'
}

interface Key {
  id: string
  seal: Buffer
  name: Buffer
  others: Buffer
}

/** Prefix of every sealed text: a private-use character, which almost no text begins with. */
const HEAD = '\uE0D5'
const ID_CHARACTERS = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
const COUNTER_BYTES = 16
/** Characters of a person's HMAC in the name of a Redis key. */
const NAME_CHARACTERS = 22

let keys: readonly Key[] = []

/** Sets the keys: the first seals, all open. Without any, nothing is sealed or opened. */
export function useDataKeys(secrets: readonly string[]): void {
  keys = secrets.map(keyOf)
}

function keyOf(secret: string): Key {
  const derive = (purpose: string, bytes: number) => Buffer.from(hkdfSync('sha256', secret, '', purpose, bytes))
  return {
    id: derive('laneway data key id', ID_CHARACTERS / 2).toString('hex'),
    seal: derive('laneway data', 32),
    name: derive('laneway names of people', 32),
    others: derive('laneway other names of people', 32),
  }
}

/** A fingerprint of eight digits for each key. */
export const dataKeyIds = (secrets: readonly string[]): string[] => secrets.map((secret) => keyOf(secret).id)

/** The text as it is stored. An empty text stays empty: it marks what was erased. */
export function sealText(text: string): string {
  const [key] = keys
  if (key === undefined || text === '') return text
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.seal, nonce)
  const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return HEAD + key.id + body.toString('base64url')
}

/**
 * The text from its stored form. Returns a text that is not sealed, or any text without a key, unchanged. Throws a DataKeyError for
 * one that no key opens.
 */
export function openText(stored: string): string {
  if (keys.length === 0 || !stored.startsWith(HEAD)) return stored
  const id = stored.slice(1, 1 + ID_CHARACTERS)
  const key = keys.find((each) => each.id === id)
  if (key === undefined) throw new DataKeyError(`LANEWAY_DATA_KEY has no key ${id}, under which this was sealed.`)
  const bytes = Buffer.from(stored.slice(1 + ID_CHARACTERS), 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key.seal, bytes.subarray(0, NONCE_BYTES))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch (cause) {
    throw new DataKeyError('A sealed text is damaged.', { cause })
  }
}

/** The same, or `otherwise` when no key opens it. */
export function openTextOr(stored: string, otherwise: string): string {
  try {
    return openText(stored)
  } catch {
    return otherwise
  }
}

/** Whether this is a sealed text that this process cannot open, having no key for it. */
export const isForeignSeal = (stored: string): boolean =>
  stored.startsWith(HEAD) && !keys.some(({ id }) => stored.startsWith(id, 1))

/** A person's name within a Redis key. */
export function nameOfPerson(person: string): string {
  const [key] = keys
  return key === undefined || person === '' ? person : nameUnder(key, person)
}

/** All names that the person can have within Redis keys: under each data key, and from before there was one. */
export const namesOfPerson = (person: string): string[] => [...keys.map((key) => nameUnder(key, person)), person]

/**
 * For each of `namesOfPerson`, seals or opens what is kept of the person under that name, in no more bytes than it has. The same
 * bytes give the same ones each time: it is for what hardly ever changes, and whoever sees it before and after a change
 * learns which bits have.
 */
export const sealsOfPerson = (person: string): ((bytes: Buffer) => Buffer)[] => [
  ...keys.map((key) => (bytes: Buffer) => {
    const start = createHmac('sha256', key.others).update(person).digest().subarray(0, COUNTER_BYTES)
    return createCipheriv('aes-256-ctr', key.others, start).update(bytes)
  }),
  (bytes) => bytes,
]

const nameUnder = ({ name }: Key, person: string): string =>
  createHmac('sha256', name).update(person).digest('base64url').slice(0, NAME_CHARACTERS)

/** The four-byte hash of a person in the index. */
export function indexHashOf(person: string): number {
  const [key] = keys
  return key === undefined ? personHash(person) : hashUnder(key, person)
}

/** All hashes that the person can have in the index. */
export const indexHashesOf = (person: string): Buffer[] =>
  [...keys.map((key) => hashUnder(key, person)), personHash(person)].map((hash) => {
    const bytes = Buffer.alloc(PERSON_HASH_BYTES)
    bytes.writeUInt32LE(hash)
    return bytes
  })

const hashUnder = ({ name }: Key, person: string): number =>
  createHmac('sha256', name).update(`index\n${person}`).digest().readUInt32LE(0)
