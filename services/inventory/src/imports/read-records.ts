import { isUtf8 } from 'node:buffer'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { fileNotUtf8, fileTooLarge, headerMissing, RECORD_TEXTS } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { memberTexts } from '../json/json-object.ts'
import { type RecordReader, readCsvHeader } from './csv-products.ts'
import { CsvReader, type CsvRecord, checkRecordLength, findSeparator, readSeparatorLine } from './csv-reader.ts'
import { brokenRecord, type ImportRecord, judgeProduct, type RawProduct, type RecordProblem } from './import-record.ts'

export const IMPORT_FORMATS = ['csv', 'ndjson'] as const
export type ImportFormat = (typeof IMPORT_FORMATS)[number]

/** The limits of a file, in bytes. */
export interface ReadLimits {
  readonly bytesMax: number
  readonly attributesBytesMax: number
}

/** The position of the reader in a file, updated during reading. */
export interface ReadPlace {
  /** The current line, starting at 1. 0 before the first line. At the end, the last line. */
  line: number
}

/**
 * Reads and checks the records of a file while it arrives. If the file ends early, yields the records before that point first.
 * @param place is updated, even if the file ends early
 * @throws fileNotUtf8, fileTooLarge, recordTooLong, headerMissing; the errors of `readCsvHeader` and of the bytes
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: ImportFormat,
  limits: ReadLimits,
  place: ReadPlace = { line: 0 },
): AsyncGenerator<readonly ImportRecord[]> {
  const splitter = format === 'csv' ? splitCsv(limits.attributesBytesMax) : splitLines()
  const toRecord = (read: Read): ImportRecord =>
    'description' in read ? read : judgeProduct(read, limits.attributesBytesMax)
  function* take(reads: Iterable<Read>): Generator<readonly ImportRecord[], void> {
    const records: ImportRecord[] = []
    const fault = catchFault(() => {
      for (const read of reads) records.push(toRecord(read))
    })
    place.line = splitter.line()
    yield records
    if (fault) throw fault.error
  }
  for await (const text of decode(bytes, limits.bytesMax)) yield* take(splitter.push(text))
  yield* take(splitter.end())
}

export interface ImportBounds {
  readonly importBytesMax: number
  readonly attributesBytesMax: number
}

export function importLimits(config: ImportBounds): ReadLimits {
  return { bytesMax: config.importBytesMax, attributesBytesMax: config.attributesBytesMax }
}

type Read = RawProduct | RecordProblem

/** Runs work that fills a list. @returns its error, so that the caller can first use the list and then throw */
function catchFault(work: () => unknown): { readonly error: unknown } | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return { error }
  }
}

/** Splits pieces of a file into complete records, including those before an error. */
interface Splitter {
  readonly push: (text: string) => Iterable<Read>
  readonly end: () => Iterable<Read>
  readonly line: () => number
}

/** Decodes UTF-8. Yields the text before an invalid byte first, so that the line of the error is known. */
async function* decode(bytes: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest: Uint8Array = new Uint8Array()
  let size = 0
  let hasBegun = false
  for await (const piece of bytes) {
    size += piece.byteLength
    const within = piece.subarray(0, Math.max(0, piece.byteLength - Math.max(0, size - bytesMax)))
    const all = Buffer.concat([rest, within])
    const whole = all.subarray(0, all.byteLength - openCharacter(all))
    const good = isUtf8(whole) ? whole : whole.subarray(0, goodLines(whole))
    rest = all.subarray(good.byteLength)
    const text = decoder.decode(good)
    yield hasBegun ? text : text.replace(/^\uFEFF/, '')
    hasBegun ||= text !== ''
    if (good !== whole) break
    if (size > bytesMax) throw fileTooLarge({ bytesMax })
  }
  if (rest.byteLength > 0) throw fileNotUtf8()
}

/** The number of bytes at the end that begin an incomplete character, at most three. */
function openCharacter(bytes: Uint8Array): number {
  for (let length = 1; length <= 3; length++) {
    const byte = bytes.at(-length) ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length : 0
  }
  return 0
}

/** The number of bytes before the line with the first invalid byte. */
function goodLines(bytes: Uint8Array): number {
  let start = 0
  for (const [at, byte] of bytes.entries()) {
    if (byte !== LINE_FEED && byte !== RETURN) continue
    if (!isUtf8(bytes.subarray(start, at))) return start
    start = at + 1
  }
  return start
}

const [LINE_FEED, RETURN] = [0x0a, 0x0d]

function splitCsv(attributesBytesMax: number): Splitter {
  let reader: CsvReader | undefined
  let read: RecordReader | undefined
  let headerLine: number | undefined
  // The separator is known after the complete header. An unpaired quote keeps the header open.
  const head = { text: '', length: 0, quotes: 0, hasName: false, isComplete: false }
  function* readAll(split: (records: CsvRecord[]) => unknown): Generator<Read, void> {
    const records: CsvRecord[] = []
    const fault = catchFault(() => split(records))
    for (const record of records) {
      headerLine ??= record.lastLine
      if (read === undefined) read = readCsvHeader(record, attributesBytesMax)
      else yield read(record)
    }
    if (fault) throw fault.error
  }
  const begin = (): Iterable<Read> => {
    const [rows = ''] = /^[\s,;|]*[\r\n]/.exec(head.text) ?? []
    const [line = ''] = /^[^\r\n]*/.exec(head.text.slice(rows.length)) ?? []
    const separator = readSeparatorLine(line)
    // Keep this line and the empty rows before it as empty lines, so that the line numbers stay the same.
    const rest = head.text.slice(rows.length + line.length)
    const text = separator === undefined ? head.text : rows.replaceAll(/[^\r\n]/g, '') + rest
    reader = new CsvReader(separator ?? findSeparator(text.slice(0, head.length)))
    return readAll((records) => reader?.push(text, records))
  }
  return {
    line: () => (read === undefined ? headerLine : undefined) ?? reader?.line ?? 1,
    push: (text) => {
      if (reader !== undefined) return readAll((records) => reader?.push(text, records))
      head.text += text
      for (const character of text) {
        head.length += character.length
        if (character === '"') head.quotes++
        else if (!/[\s,;|]/.test(character)) head.hasName = true
        else if (/[\r\n]/.test(character) && head.hasName && head.quotes % 2 === 0) head.isComplete = true
        if (head.isComplete) break
      }
      if (head.isComplete) return begin()
      checkRecordLength(head.text.length, { line: 1 })
      return []
    },
    *end() {
      if (reader === undefined) yield* begin()
      yield* readAll((records) => records.push(...(reader?.end() ?? [])))
      if (read === undefined) throw headerMissing()
    },
  }
}

function splitLines(): Splitter {
  let rest = ''
  let line = 0
  let isAfterReturn = false
  let isEnded = false
  function* readAll(lines: readonly string[]): Generator<Read, void> {
    for (const text of lines) {
      checkRecordLength(text.length, { line: line + 1 })
      line++
      if (text.trim() !== '') yield readJsonLine(line, text)
    }
  }
  return {
    line: () => (isEnded ? line : line + 1),
    *push(text) {
      // Skip the second half of a CRLF. Its CR has already ended the line.
      const piece = isAfterReturn && text.startsWith('\n') ? text.slice(1) : text
      if (text !== '') isAfterReturn = text.endsWith('\r')
      // Search only the new piece for line ends. Searching the unfinished line again for each piece would take quadratic time.
      const [first = '', ...others] = piece.split(/\r\n|\n|\r/)
      const lines = [rest + first, ...others]
      rest = lines.pop() ?? ''
      yield* readAll(lines)
      checkRecordLength(rest.length, { line: line + 1 })
    },
    end: () => {
      isEnded = true
      return readAll(rest === '' ? [] : [rest])
    },
  }
}

const MEMBERS: ReadonlySet<string> = new Set(['id', 'sku', 'attributes'])

/** Parses one line of NDJSON (reference: NDJSON files). */
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
  // Use the sent text, in which numbers keep their digits. `judgeProduct` checks it.
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
