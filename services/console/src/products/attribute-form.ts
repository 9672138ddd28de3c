import { FORM_TEXTS } from '../errors.ts'
import { FORM_BYTES_MAX } from '../pages/form.ts'
import { indentedJson } from '../pages/parts.ts'
import { parseJson } from '../service-calls/service-call.ts'

/** An attribute as a form shows it: its name, and its value as somebody types it. */
export interface AttributeField {
  readonly name: string
  readonly text: string
}

/** The outcome of reading a form: the JSON of the attributes, or why there is none. */
export type ReadAttributes =
  | { readonly kind: 'read'; readonly json: string }
  | { readonly kind: 'refused'; readonly problem: string }

/** The bytes of a form that are left for attributes, beside its SKU and its hidden fields. */
const ATTRIBUTES_BYTES_MAX = FORM_BYTES_MAX - 8_192

/**
 * The fields of attributes. Undefined for attributes that are no object, or that no form holds: only their JSON
 * can be edited. The fields follow the cells of an import: a value that is JSON is that value, any other is text
 * (inventory reference: CSV files).
 */
export function fieldsOf(attributes: unknown): readonly AttributeField[] | undefined {
  if (!isObject(attributes)) return undefined
  // A field of one line loses line breaks, and shows no other control character of a name.
  if (Object.keys(attributes).some((name) => name === '' || /\p{Cc}/u.test(name))) return undefined
  const fields = Object.entries(attributes).map(([name, value]) => ({ name, text: fieldText(value) }))
  const sent = fields.flatMap(({ name, text }): SentField[] => [
    ['name', name],
    ['value', text],
  ])
  return isWithinForm(sent) ? fields : undefined
}

/** A value as a field shows it: text as it is, where it would be read as the same text, and JSON otherwise. */
export function fieldText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  const isPlain = value.trim() !== '' && !/\p{Cc}/u.test(value) && !isJson(value)
  return isPlain ? value : JSON.stringify(value)
}

/** Reads the fields of a form. A field without a value is no attribute. */
export function readFields(fields: readonly AttributeField[]): ReadAttributes {
  const given = fields.filter(({ text }) => text.trim() !== '')
  if (given.some(({ name }) => name === '')) return { kind: 'refused', problem: FORM_TEXTS.nameless }
  const names = new Set<string>()
  for (const { name } of given) {
    if (names.has(name)) return { kind: 'refused', problem: FORM_TEXTS.twice(name) }
    names.add(name)
  }
  const members = given.map(({ name, text }) => `${JSON.stringify(name)}:${isJson(text) ? text : JSON.stringify(text)}`)
  return { kind: 'read', json: `{${members.join(',')}}` }
}

/**
 * The JSON of attributes for a field. Numbers keep their digits. It is indented where a page would indent it, and
 * where the form stays small enough to be sent.
 */
export function prettyJson(attributes: unknown): string {
  const indented = indentedJson(attributes)
  // A browser sends each line break of a field as two characters.
  const isShort = indented && isWithinForm([['attributes', indented.replaceAll('\n', '\r\n')]])
  return isShort ? indented : JSON.stringify(attributes)
}

/** The name and the text of a field, as a browser sends them. */
type SentField = [name: string, text: string]

/** Whether a browser sends these fields in fewer bytes than a form may have. */
function isWithinForm(fields: SentField[]): boolean {
  return new URLSearchParams(fields).toString().length <= ATTRIBUTES_BYTES_MAX
}

function isJson(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}

/** Whether a value is a JSON object: no array, and no number that is kept as its text. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}
