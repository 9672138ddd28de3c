import { isJsonText, keepNestedText } from '../json/json-object.ts'
import { brokenRecord, type RawProduct, type RecordFault } from './import-record.ts'

const MEMBERS: ReadonlySet<string> = new Set(['id', 'sku', 'attributes'])

/** Reads one line of NDJSON: `{"sku":…,"attributes":…}`; a member `id` means nothing. */
export function readJsonLine(line: number, text: string): RawProduct | RecordFault {
  const value = parse(text)
  if (value === undefined) return brokenRecord(line, 'The line is no JSON.')
  if (!isRecord(value)) return brokenRecord(line, 'The line must be a JSON object.')
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name))
  const { sku, attributes } = value
  if (unknown !== undefined) {
    const description = `${unknown.slice(0, 64)}: is not known here`
    return { line, sku: typeof sku === 'string' ? sku.slice(0, 255) : null, type: 'VALIDATION_ERROR', description }
  }
  if (typeof attributes === 'string') return { line, sku, attributes }
  if (isJsonText(attributes)) return { line, sku, attributes: attributes.jsonText }
  if (attributes === undefined) return { line, sku, attributes: undefined }
  const description = 'attributes: must be a text that is JSON, an object or an array'
  return { line, sku: typeof sku === 'string' ? sku.slice(0, 255) : null, type: 'VALIDATION_ERROR', description }
}

function parse(text: string): unknown {
  try {
    return keepNestedText(text, JSON.parse(text))
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
