import type { JsonText } from '../json/json-object.ts'
import type { MovementLine } from '../movements/movement.ts'

// An entry of the audit log names what was changed, and a page has many entries. So an entry has no value of any length
// (console reference: Audit of operators).

/** The longest value that an entry has whole, in bytes of JSON. */
const WHOLE_BYTES_MAX = 4_096
const NAMES_MAX = 50
const NAME_LENGTH_MAX = 100

/** Attributes that are too long for an entry of the audit log. */
interface LongAttributes {
  /** How long they are as JSON. */
  readonly bytes: number
  /** The names of the first members, each cut to 100 characters. Absent for attributes that are no object. */
  readonly names?: readonly string[]
}

/**
 * Attributes as an entry of the audit log has them.
 * @param attributes JSON that `storableAttributes` has accepted
 * @returns the JSON text as it was sent, so that numbers keep their digits, or what stands in the place of a long one
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
 * The lines of a request as an entry of the audit log has them. Many lines are without `reason` and
 * `reference`, which the rows of the ledger keep.
 */
export function auditedLines(lines: readonly MovementLine[]): readonly object[] {
  if (Buffer.byteLength(JSON.stringify(lines)) <= WHOLE_BYTES_MAX) return lines
  return lines.map(({ reason: _reason, reference: _reference, ...line }) => line)
}
