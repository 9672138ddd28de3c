import { memberTexts } from '../json/nested-text.ts'
import { brokenRecord, type RawProduct, type RecordFault } from './import-record.ts'

const MEMBERS: ReadonlySet<string> = new Set(['id', 'sku', 'attributes'])

/** Reads one line of NDJSON: `{"sku":…,"attributes":…}`. A member `id` is ignored (reference: NDJSON files). */
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
  if (attributes === undefined) return { line, sku, attributes: undefined }
  // As they were sent, since numbers keep their digits; their size is judged before anything reads their values.
  const sent = typeof attributes === 'object' && attributes !== null ? memberTexts(text).get('attributes') : undefined
  if (sent !== undefined) return { line, sku, attributes: sent }
  const description = 'attributes: must be a text that is JSON, an object or an array'
  return { line, sku: typeof sku === 'string' ? sku.slice(0, 255) : null, type: 'VALIDATION_ERROR', description }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
