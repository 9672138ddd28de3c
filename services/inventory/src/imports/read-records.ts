import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { fileNotUtf8, fileTooLarge, headerMissing, RECORD_TEXTS } from '../import-errors.ts'
import { memberTexts } from '../json/nested-text.ts'
import { type RecordReader, readCsvHeader } from './csv-products.ts'
import { CsvReader, checkRecordLength } from './csv-reader.ts'
import { brokenRecord, type ImportRecord, judgeProduct, type RawProduct, type RecordProblem } from './import-record.ts'

/** The formats of a file of products. */
export const IMPORT_FORMATS = ['csv', 'ndjson'] as const
/** The format of a file that is imported or exported. */
export type ImportFormat = (typeof IMPORT_FORMATS)[number]

/** The bounds of a file, in bytes. */
export interface ReadLimits {
  /** Bytes of the whole file. */
  readonly bytesMax: number
  readonly attributesBytesMax: number
}

/**
 * Reads the records of a file while it comes, and checks each.
 * @throws fileNotUtf8 for other bytes, fileTooLarge and recordTooLong beyond the limits, headerMissing for CSV without a header;
 * headerBroken, tooManyColumns, columnsNotSplit, stockColumn, columnUnknown, columnTwice, skuColumnMissing,
 * attributesColumnMissing for a wrong header of CSV
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: ImportFormat,
  limits: ReadLimits,
): AsyncGenerator<readonly ImportRecord[]> {
  const splitter = format === 'csv' ? splitCsv(limits.attributesBytesMax) : splitLines()
  const toRecord = (read: Read): ImportRecord =>
    'description' in read ? read : judgeProduct(read, limits.attributesBytesMax)
  for await (const text of decode(bytes, limits.bytesMax)) yield splitter.push(text).map(toRecord)
  yield splitter.end().map(toRecord)
}

/** The bounds of a file that comes over HTTP, by the settings of the service. */
export function importLimits(config: {
  readonly importBytesMax: number
  readonly attributesBytesMax: number
}): ReadLimits {
  return { bytesMax: config.importBytesMax, attributesBytesMax: config.attributesBytesMax }
}

type Read = RawProduct | RecordProblem

/** Takes a file in pieces, and returns the records that are complete. */
interface Splitter {
  readonly push: (text: string) => readonly Read[]
  readonly end: () => readonly Read[]
}

async function* decode(bytes: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const toText = (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch (cause) {
      throw fileNotUtf8({ cause })
    }
  }
  let size = 0
  for await (const piece of bytes) {
    size += piece.byteLength
    if (size > bytesMax) throw fileTooLarge({ bytesMax })
    yield toText(piece)
  }
  yield toText()
}

function splitCsv(attributesBytesMax: number): Splitter {
  const reader = new CsvReader()
  let read: RecordReader | undefined
  const readAll = (records: ReturnType<CsvReader['push']>): Read[] => {
    const [first] = records
    if (read === undefined && first !== undefined) {
      read = readCsvHeader(first, attributesBytesMax)
      return records.slice(1).map(read)
    }
    return read === undefined ? [] : records.map(read)
  }
  return {
    push: (text) => readAll(reader.push(text)),
    end: () => {
      const rest = readAll(reader.end())
      if (read === undefined) throw headerMissing()
      return rest
    },
  }
}

function splitLines(): Splitter {
  let rest = ''
  let line = 0
  const readAll = (lines: readonly string[]): Read[] =>
    lines.flatMap((text) => {
      line++
      return text.trim() === '' ? [] : [readJsonLine(line, text)]
    })
  return {
    push: (text) => {
      // Search the new piece alone for line ends. Searching the unfinished line again for each piece would take quadratic time.
      const [first = '', ...others] = text.split('\n')
      const lines = [rest + first, ...others]
      for (const { length } of lines) checkRecordLength(line + 1, length)
      rest = lines.pop() ?? ''
      return readAll(lines)
    },
    end: () => readAll(rest === '' ? [] : [rest]),
  }
}

const MEMBERS: ReadonlySet<string> = new Set(['id', 'sku', 'attributes'])

/** Reads one line of NDJSON (reference: NDJSON files). */
function readJsonLine(line: number, text: string): RawProduct | RecordProblem {
  const value = parse(text)
  if (value === undefined) return brokenRecord(line, RECORD_TEXTS.noJson)
  if (!isRecord(value)) return brokenRecord(line, RECORD_TEXTS.noObject)
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name))
  const { sku, attributes } = value
  if (unknown !== undefined) {
    const description = RECORD_TEXTS.member(unknown.slice(0, 64), VALUE_TEXTS.unknown)
    return { line, sku: typeof sku === 'string' ? sku.slice(0, 255) : null, type: 'VALIDATION_ERROR', description }
  }
  if (typeof attributes === 'string') return { line, sku, attributes }
  if (attributes === undefined) return { line, sku, attributes: undefined }
  // Take the text that was sent, because numbers keep their digits. `judgeProduct` checks it.
  const sent = typeof attributes === 'object' && attributes !== null ? memberTexts(text).get('attributes') : undefined
  if (sent !== undefined) return { line, sku, attributes: sent }
  const description = RECORD_TEXTS.member('attributes', FIELD_TEXTS.notAttributes)
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
