import { recordTooLong } from '../import-errors.ts'

/** A record of a CSV text (RFC 4180). */
export interface CsvRecord {
  /** Physical line on which it begins, from 1. */
  readonly line: number
  readonly fields: readonly string[]
  /** Whether its quotes are in order. If not, the fields may be wrong. */
  readonly isWellFormed: boolean
}

/** Characters of the longest record. */
const RECORD_LENGTH_MAX = 1_048_576

/**
 * Bounds what is held of a record that has not ended. `line` is the line where it begins, counted from 1;
 * `length` is in characters.
 * @throws recordTooLong for a longer record than is allowed
 */
export function checkRecordLength(line: number, length: number): void {
  if (length > RECORD_LENGTH_MAX) throw recordTooLong({ line, lengthMax: RECORD_LENGTH_MAX })
}

/**
 * The place of the reader. `start`: before the first character of a field. `plain`: inside a field without
 * quotes. `quoted`: inside a quoted field. `quote`: directly after a quote that either ends the field or is
 * the first of a pair. `closed`: after a quoted field and something else, which may only be a CR.
 */
type State = 'start' | 'plain' | 'quoted' | 'quote' | 'closed'

const [QUOTE, COMMA, NEWLINE] = [0x22, 0x2c, 0x0a]

/** Reads CSV that comes in pieces. Lines end with LF or CRLF, also inside quotes. Empty lines are skipped. */
export class CsvReader {
  #state: State = 'start'
  #field = ''
  #fields: string[] = []
  #isWellFormed = true
  #line = 1
  #startLine = 1
  #length = 0

  /** The records that end in this piece. @throws recordTooLong for a longer record than is allowed */
  push(text: string): CsvRecord[] {
    const records: CsvRecord[] = []
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === NEWLINE) this.#line++
      if (this.#state === 'quoted') {
        if (code !== QUOTE) continue
        this.#take(text, from, at)
        this.#state = 'quote'
        from = at + 1
      } else if (code === COMMA || code === NEWLINE) {
        this.#take(text, from, at)
        this.#endField()
        from = at + 1
        if (code === NEWLINE) this.#endRecord(records)
      } else if (code === QUOTE) {
        from = this.#takeQuote(from, at)
      } else if (this.#state === 'start') {
        this.#state = 'plain'
      }
    }
    this.#take(text, from, text.length)
    return records
  }

  /** The last record, if no line end follows it. */
  end(): CsvRecord[] {
    const records: CsvRecord[] = []
    if (this.#state === 'quoted') this.#isWellFormed = false
    if (this.#state === 'start' && this.#fields.length === 0) return records
    this.#endField()
    this.#line++
    this.#endRecord(records)
    return records
  }

  /** Takes a quote outside of a quoted field: it opens a field, is the second of a pair, or is misplaced. */
  #takeQuote(from: number, at: number): number {
    if (this.#state === 'start') {
      this.#state = 'quoted'
      return at + 1
    }
    if (this.#state === 'quote' && from === at) {
      this.#state = 'quoted'
      return at
    }
    this.#isWellFormed = false
    return from
  }

  #take(text: string, from: number, to: number): void {
    this.#length += to - from
    checkRecordLength(this.#startLine, this.#length)
    if (from === to) return
    if (this.#state !== 'quote' && this.#state !== 'closed') {
      this.#field += text.slice(from, to)
      return
    }
    if (this.#state === 'closed' || text.slice(from, to) !== '\r') this.#isWellFormed = false
    this.#state = 'closed'
  }

  #endField(): void {
    this.#fields.push(this.#state === 'plain' ? this.#field.replace(/\r$/, '') : this.#field)
    this.#field = ''
    this.#state = 'start'
  }

  #endRecord(records: CsvRecord[]): void {
    const isEmpty = this.#fields.length === 1 && this.#fields[0] === ''
    if (!isEmpty) {
      records.push({ line: this.#startLine, fields: this.#fields, isWellFormed: this.#isWellFormed })
    }
    this.#fields = []
    this.#isWellFormed = true
    this.#startLine = this.#line
    this.#length = 0
  }
}
