import { badRequest, payloadTooLarge } from '../errors.ts'
import { type RecordReader, readCsvHeader } from './csv-products.ts'
import { CsvReader, RECORD_LENGTH_MAX, RecordTooLongError } from './csv-reader.ts'
import { type ImportRecord, judgeProduct, type RawProduct, type RecordFault } from './import-record.ts'
import { readJsonLine } from './json-line.ts'

/** The forms of a file of products. */
export const IMPORT_FORMATS = ['csv', 'ndjson'] as const
export type ImportFormat = (typeof IMPORT_FORMATS)[number]

export interface ReadLimits {
  /** Of the whole file. */
  readonly bytesMax: number
  readonly attributesBytesMax: number
}

type Read = RawProduct | RecordFault

/** Takes a file in pieces and gives the records that are complete. */
interface Splitter {
  readonly push: (text: string) => readonly Read[]
  readonly end: () => readonly Read[]
}

/**
 * The records of a file, judged, as they come.
 * @throws badRequest for what is not UTF-8 and for a header that says nothing, payloadTooLarge beyond a limit
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: ImportFormat,
  limits: ReadLimits,
): AsyncGenerator<readonly ImportRecord[]> {
  const splitter = format === 'csv' ? splitCsv(limits.attributesBytesMax) : splitLines()
  const judge = (read: Read): ImportRecord =>
    'description' in read ? read : judgeProduct(read, limits.attributesBytesMax)
  try {
    for await (const text of decode(bytes, limits.bytesMax)) yield splitter.push(text).map(judge)
    yield splitter.end().map(judge)
  } catch (error) {
    throw error instanceof RecordTooLongError ? payloadTooLarge({ message: error.message, cause: error }) : error
  }
}

async function* decode(bytes: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const toText = (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch (cause) {
      throw badRequest({ message: 'The file is not UTF-8.', cause })
    }
  }
  let size = 0
  for await (const piece of bytes) {
    size += piece.byteLength
    if (size > bytesMax) throw payloadTooLarge({ message: `The file is larger than ${bytesMax} bytes.` })
    yield toText(piece)
  }
  yield toText()
}

function splitCsv(attributesBytesMax: number): Splitter {
  const reader = new CsvReader()
  let read: RecordReader | undefined
  const take = (records: ReturnType<CsvReader['push']>): Read[] => {
    const [first] = records
    if (read === undefined && first !== undefined) {
      read = readCsvHeader(first, attributesBytesMax)
      return records.slice(1).map(read)
    }
    return read === undefined ? [] : records.map(read)
  }
  return {
    push: (text) => take(reader.push(text)),
    end: () => {
      const rest = take(reader.end())
      if (read === undefined) throw badRequest({ message: 'The file has no header.' })
      return rest
    },
  }
}

function splitLines(): Splitter {
  let rest = ''
  let line = 0
  const take = (lines: readonly string[]): Read[] =>
    lines.flatMap((text) => {
      line++
      return text.trim() === '' ? [] : [readJsonLine(line, text)]
    })
  return {
    push: (text) => {
      // Looks for line ends in the new piece alone: searching the unfinished line again for each piece would take quadratic time.
      const [first = '', ...others] = text.split('\n')
      const lines = [rest + first, ...others]
      if (lines.some(({ length }) => length > RECORD_LENGTH_MAX)) throw new RecordTooLongError(line + 1)
      rest = lines.pop() ?? ''
      return take(lines)
    },
    end: () => take(rest === '' ? [] : [rest]),
  }
}
