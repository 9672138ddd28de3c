import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { parsed, type Setting } from '@trestle/common/config/setting.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { lowerRole, OPERATOR_ROLES, type OperatorRole } from './operator-roles.ts'

export interface OperatorActor {
  /** The claim `sub` of the token: the id of a user of auth. */
  readonly id: string
  readonly email: string
  readonly role: OperatorRole
}

/** The sender of an operator's request: the key of a console, and the user who acts through the console. */
export interface Operator {
  readonly key: string
  readonly actor: OperatorActor
  /** The role of this request: the lower of the key's role and the user's role. */
  readonly role: OperatorRole
  /** The address of the user's browser as the console forwards it, otherwise the address of the request. */
  readonly address: string
}

/** The operator keys, and the check of operators' access tokens. */
export interface OperatorAccess {
  readonly keys: readonly OperatorKey[]
  /** `undefined` if the token is no operator's. Rejects with `UnverifiableTokenError` if no key is available. */
  readonly verifyToken: (token: string) => Promise<OperatorActor | undefined>
}

/** No key is available to verify a token. The token may be valid. */
export class UnverifiableTokenError extends Error {
  override readonly name = 'UnverifiableTokenError'
}

interface OperatorRequest {
  readonly headers: IncomingHttpHeaders
  readonly ip: string
}

const BEARER = /^bearer +([\w.~+/=-]+) *$/i

/**
 * Finds the operator of a request. The request must have the header `X-Trestle-Operator-Key` and the operator's own access token
 * as bearer token. Returns `undefined` if either is missing or invalid, because a key does not identify a user and a token does
 * not identify a console. The token is verified only if the key is known.
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
 * The browser address that a console sends in `X-Trestle-Operator-Address`. `undefined` without the header, without an IP address
 * in it, or without a valid key: otherwise any client could choose the address under which it is counted.
 */
export function readOperatorAddress(keys: readonly OperatorKey[], headers: IncomingHttpHeaders): string | undefined {
  const address = forwardedAddress(headers)
  return address !== undefined && findPresentedKey(keys, headers) ? address : undefined
}

/**
 * Returns the key by which limits count the browser that a console names. It differs from the key of a client that calls
 * directly. A client with an operator key can name any address, and could otherwise use up the limit of another client.
 */
export function operatorLimitKey(address: string): string {
  return `operator ${addressKey(address)}`
}

function findPresentedKey(keys: readonly OperatorKey[], headers: IncomingHttpHeaders): OperatorKey | undefined {
  const presented = headers['x-trestle-operator-key']
  return typeof presented === 'string' ? findOperatorKey(keys, presented) : undefined
}

/** Returns the address without its zone, such as `%eth0`. A zone is meaningful only on the machine of the console. */
function forwardedAddress(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['x-trestle-operator-address']
  return typeof value === 'string' && isIP(value) !== 0 ? value.replace(/%.*/, '') : undefined
}

/** A key of a console. The service stores only its digest. */
export interface OperatorKey {
  /** The name of the key in the audit log. */
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

/** Parses `name:role:digest,…`. Returns `undefined` if an entry is malformed, or if two entries have the same name or digest. */
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

/** Finds the presented key. Compares all keys in constant time, so that the response time reveals nothing. */
export function findOperatorKey(keys: readonly OperatorKey[], presented: string): OperatorKey | undefined {
  const digest = createHash('sha256').update(presented).digest()
  return keys.filter((key) => timingSafeEqual(key.digest, digest))[0]
}
