import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { parsed, type Setting } from '@trestle/common/config/setting.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { lowerRole, OPERATOR_ROLES, type OperatorRole } from './operator-roles.ts'

export interface OperatorActor {
  /** `sub` of the token: a user of auth. */
  readonly id: string
  readonly email: string
  readonly role: OperatorRole
}

/** The sender of an operator's request: a key of a console, and the user who acts through it. */
export interface Operator {
  readonly key: string
  readonly actor: OperatorActor
  /** The role of this request: the lower role of key and user. */
  readonly role: OperatorRole
  /** The address of the user's browser, as the console tells it; else the address of the request. */
  readonly address: string
}

/** The keys that operators may call with, and the check of their access tokens. */
export interface OperatorAccess {
  readonly keys: readonly OperatorKey[]
  /** Undefined for a token that is not an operator's. Rejects with `UnverifiableTokenError` while it cannot be verified. */
  readonly verifyToken: (token: string) => Promise<OperatorActor | undefined>
}

/** No key can be read to verify a token with. The token may be good. */
export class UnverifiableTokenError extends Error {
  override readonly name = 'UnverifiableTokenError'
}

interface OperatorRequest {
  readonly headers: IncomingHttpHeaders
  readonly ip: string
}

const BEARER = /^bearer +([\w.~+/=-]+) *$/i

/**
 * The operator of a request, by the header `X-Trestle-Operator-Key` and the operator's own access token as bearer. Undefined when
 * either is missing or not good: a key alone names nobody, and a token alone is no console's. A token is verified only beside a
 * known key.
 * @throws UnverifiableTokenError
 */
export async function readOperator(
  { keys, verifyToken }: OperatorAccess,
  { headers, ip }: OperatorRequest,
): Promise<Operator | undefined> {
  const token = BEARER.exec(headers.authorization ?? '')?.[1]
  const key = token === undefined ? undefined : findPresentedKey(keys, headers)
  if (key === undefined || token === undefined) return undefined
  const actor = await verifyToken(token)
  const address = forwardedAddress(headers) ?? ip
  return actor && { key: key.name, actor, role: lowerRole(key.role, actor.role), address }
}

/**
 * The address of the browser that a console tells in `X-Trestle-Operator-Address`. Undefined without it, for a text that is no IP
 * address, and without a good key: anybody else could choose an address to be counted under.
 */
export function readOperatorAddress(keys: readonly OperatorKey[], headers: IncomingHttpHeaders): string | undefined {
  const address = forwardedAddress(headers)
  return address !== undefined && findPresentedKey(keys, headers) ? address : undefined
}

/**
 * The key under which limits count the browser that a console names, apart from clients who call by themselves. A client
 * with an operator key can name any address, and could otherwise use up the limit of another client.
 */
export function operatorLimitKey(address: string): string {
  return `operator ${addressKey(address)}`
}

function findPresentedKey(keys: readonly OperatorKey[], headers: IncomingHttpHeaders): OperatorKey | undefined {
  const presented = headers['x-trestle-operator-key']
  return typeof presented === 'string' ? findOperatorKey(keys, presented) : undefined
}

/** Without its zone, such as `%eth0`, which only the machine of the console knows. */
function forwardedAddress(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['x-trestle-operator-address']
  return typeof value === 'string' && isIP(value) !== 0 ? value.replace(/%.*/, '') : undefined
}

/** A key that a console calls with. Only its digest is known. */
export interface OperatorKey {
  /** Names the key in the audit log. */
  readonly name: string
  readonly role: OperatorRole
  /** SHA-256 of the key, 32 bytes. */
  readonly digest: Buffer
}

export function operatorKeys(): Setting<readonly OperatorKey[]> {
  const problem =
    'must be name:role:digest,… with names of a-z, 0-9 and -, a role viewer, support or admin, and the SHA-256 of each key as 64 hexadecimal digits; names and digests are different'
  return parsed({ form: 'list of `name:role:digest`', secret: true, problem }, parseOperatorKeys)
}

const KEY = new RegExp(`^(?<name>[a-z0-9-]{1,40}):(?<role>${OPERATOR_ROLES.join('|')}):(?<digest>[0-9a-f]{64})$`)

/** Reads `name:role:digest,…`. Undefined when an entry is malformed, or when two have the same name or digest. */
export function parseOperatorKeys(text: string): readonly OperatorKey[] | undefined {
  const keys = text.split(',').map((entry) => parseKey(entry.trim()))
  const known = keys.filter((key) => key !== undefined)
  const isDistinct = (values: readonly string[]) => new Set(values).size === keys.length
  const [names, digests] = [known.map(({ name }) => name), known.map(({ digest }) => digest.toString('hex'))]
  return isDistinct(names) && isDistinct(digests) ? known : undefined
}

function parseKey(entry: string): OperatorKey | undefined {
  const { name, role: word, digest } = KEY.exec(entry)?.groups ?? {}
  const role = OPERATOR_ROLES.find((each) => each === word)
  if (name === undefined || role === undefined || digest === undefined) return undefined
  return { name, role, digest: Buffer.from(digest, 'hex') }
}

/** The key of the list that a request presents. Compares with each of them, so that the time tells nothing. */
export function findOperatorKey(keys: readonly OperatorKey[], presented: string): OperatorKey | undefined {
  const digest = createHash('sha256').update(presented).digest()
  return keys.filter((key) => timingSafeEqual(key.digest, digest))[0]
}
