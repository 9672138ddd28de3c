import type { Operator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { JsonText } from '../json/json-object.ts'
import type { MovementLine } from '../movements/movement.ts'

/** An operator's request for a change. */
export interface OperatorChange {
  readonly operator: Operator
  /** The Idempotency-Key. `undefined` for a change that `If-Match` protects. */
  readonly key: string | undefined
}

export interface Audited {
  /** `undefined` if no operator requests the change. */
  readonly operatorChange?: OperatorChange | undefined
}

/** The entry of a change in the audit log, without its operator (console reference: Audit of operators). */
export interface AuditedChange {
  readonly action: OperatorAction
  readonly object: {
    readonly kind: 'product' | 'location' | 'movement' | 'reservation' | 'import'
    readonly id: number
  }
  /** The products whose history includes the change. */
  readonly productIds: readonly number[]
  /** The changes of the object, without secrets. */
  readonly changes: object
}

// An entry of the audit log contains values of the changed object, and a page has many entries. So the length of an entry is
// limited (console reference: Audit of operators).

/** The size up to which an entry contains a value unchanged, in bytes of JSON. */
const WHOLE_BYTES_MAX = 4_096
const NAMES_MAX = 50
const NAME_LENGTH_MAX = 100

/** A summary of attributes that are too long for an audit entry. */
interface LongAttributes {
  readonly bytes: number
  /** The first names, each truncated to 100 characters. Absent if the attributes are not an object. */
  readonly names?: readonly string[]
}

/**
 * Returns attributes for an entry of the audit log.
 * @param attributes JSON that `storableAttributes` has accepted
 * @returns the original JSON text, so that numbers keep their digits, or a summary if it is too long
 */
export function auditedAttributes(attributes: string | JsonText): string | LongAttributes {
  const text = typeof attributes === 'string' ? attributes : attributes.jsonText
  const bytes = Buffer.byteLength(text)
  if (bytes <= WHOLE_BYTES_MAX) return text
  const value: unknown = typeof attributes === 'string' ? JSON.parse(text) : attributes.parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { bytes }
  const names = Object.keys(value).slice(0, NAMES_MAX)
  return { bytes, names: names.map((name) => name.slice(0, NAME_LENGTH_MAX)) }
}

/**
 * Returns the lines of a request for an entry of the audit log. If they are too long, omits `reason` and `reference`, which the
 * ledger contains.
 */
export function auditedLines(lines: readonly MovementLine[]): readonly object[] {
  if (Buffer.byteLength(JSON.stringify(lines)) <= WHOLE_BYTES_MAX) return lines
  return lines.map(({ reason: _reason, reference: _reference, ...line }) => line)
}
