import { createHash, timingSafeEqual } from 'node:crypto'
import { parsed, type Setting } from '@trestle/common/config/setting.ts'
import { OPERATOR_ROLES, type OperatorRole } from './operator-roles.ts'

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
