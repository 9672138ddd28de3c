import type { Operator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { JsonText } from '../json/json-object.ts'
import type { MovementLine } from '../movements/movement.ts'

/** An operator's request for a change. */
export interface OperatorChange {
  readonly operator: Operator
  /** The Idempotency-Key; undefined for a change that `If-Match` guards. */
  readonly key: string | undefined
}

/** The part of the input of a change that the audit log needs. */
export interface Audited {
  /** Undefined for a change that no operator asks for. */
  readonly operatorChange?: OperatorChange | undefined
}

/** The entry of a change in the audit log, without its operator (console reference: Audit of operators). */
export interface AuditedChange {
  readonly action: OperatorAction
  readonly object: {
    readonly kind: 'product' | 'location' | 'movement' | 'reservation' | 'import'
    readonly id: number
  }
  /** The products whose history shows the change. */
  readonly productIds: readonly number[]
  /** How the object was changed. Never a secret. */
  readonly changes: object
}

// An entry of the audit log names the changed object, and a page has many entries. So the length of an entry is limited
// (console reference: Audit of operators).

/** The longest value that an entry contains unchanged, in bytes of JSON. */
const WHOLE_BYTES_MAX = 4_096
const NAMES_MAX = 50
const NAME_LENGTH_MAX = 100

/** Attributes that are too long for an entry of the audit log. */
interface LongAttributes {
  readonly bytes: number
  /** The names of the first members, each cut to 100 characters. Absent for attributes that are no object. */
  readonly names?: readonly string[]
}

/**
 * Attributes in an entry of the audit log.
 * @param attributes JSON that `storableAttributes` has accepted
 * @returns the JSON text as it was sent, so that numbers keep their digits, or a summary of long ones
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
 * The lines of a request in an entry of the audit log. Many lines are without `reason` and `reference`, which the rows of the
 * ledger keep.
 */
export function auditedLines(lines: readonly MovementLine[]): readonly object[] {
  if (Buffer.byteLength(JSON.stringify(lines)) <= WHOLE_BYTES_MAX) return lines
  return lines.map(({ reason: _reason, reference: _reference, ...line }) => line)
}
