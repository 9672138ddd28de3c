import { recordTooLong } from '../errors.ts'

/** A record of a CSV text (RFC 4180). */
export interface CsvRecord {
  /** The physical line on which it begins, starting at 1. */
  readonly line: number
  /** The physical line on which it ends. */
  readonly lastLine: number
  /** The line of the opening quote that extended the record over several lines, otherwise its first line. */
  readonly quoteLine: number
  readonly fields: readonly string[]
  /** Whether the quotes are valid. If not, the fields may be wrong. */
  readonly isWellFormed: boolean
}

/** The maximum length of a record, in characters. */
const RECORD_LENGTH_MAX = 1_048_576

/**
 * Limits the length of a record that has not ended. `line` is its first line, starting at 1. `length` is in characters.
 * @throws recordTooLong if the record is longer than allowed
 */
export function checkRecordLength(length: number, { line, quoteLine = line, lastLine = line }: Place): void {
  if (length > RECORD_LENGTH_MAX) throw recordTooLong({ line, quoteLine, lastLine, lengthMax: RECORD_LENGTH_MAX })
}

interface Place {
  readonly line: number
  readonly quoteLine?: number
  readonly lastLine?: number
}

/**
 * The state of the reader. `start`: before the first character of a field. `plain`: inside an unquoted field. `quoted`: inside a
 * quoted field. `quote`: after a quote that ends the field or is the first of a pair. `closed`: after a quoted field and a
 * misplaced character.
 */
type State = 'start' | 'plain' | 'quoted' | 'quote' | 'closed'

const [QUOTE, NEWLINE, RETURN] = [0x22, 0x0a, 0x0d]

/** Reads CSV in pieces. Lines end with LF, CRLF or CR, even inside quotes. Skips empty lines. */
export class CsvReader {
  readonly #separator: number
  #state: State = 'start'
  #field = ''
  #fields: string[] = []
  #isWellFormed = true
  #line = 1
  #startLine = 1
  #openedLine = 1
  #quoteLine: number | undefined
  #length = 0
  /** Whether the last character was a CR. A following LF then belongs to the same line end. */
  #isAfterReturn = false

  /** @param separator a single character */
  constructor(separator = ',') {
    this.#separator = separator.charCodeAt(0)
  }

  /** The current line, or the last line at the end. */
  get line(): number {
    return this.#line
  }

  /**
   * Returns the records that end in this piece.
   * @param records receives the records, including those before a record that is too long
   * @throws recordTooLong if a record is longer than allowed
   */
  push(text: string, records: CsvRecord[] = []): CsvRecord[] {
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      const isPair = code === NEWLINE && this.#isAfterReturn
      this.#isAfterReturn = code === RETURN
      const isLineEnd = (code === NEWLINE || code === RETURN) && !isPair
      if (this.#state === 'quoted') {
        if (isLineEnd) this.#line++
        if (code !== QUOTE) continue
        this.#take(text, from, at)
        this.#state = 'quote'
        from = at + 1
      } else if (isPair) {
        from = at + 1
      } else if (code === this.#separator || isLineEnd) {
        this.#take(text, from, at)
        this.#endField()
        from = at + 1
        if (isLineEnd) this.#endRecord(records, this.#line++)
      } else if (code === QUOTE) {
        from = this.#takeQuote(from, at)
      } else if (this.#state === 'start') {
        this.#state = 'plain'
      }
    }
    this.#take(text, from, text.length)
    return records
  }

  /** Returns the last record if no line end follows it. */
  end(): CsvRecord[] {
    const records: CsvRecord[] = []
    // The final line end does not begin another line.
    const isAtStart = this.#state === 'start' && this.#fields.length === 0
    const lastLine = isAtStart || /[\r\n]$/.test(this.#field) ? Math.max(1, this.#line - 1) : this.#line
    if (this.#state === 'quoted') {
      this.#isWellFormed = false
      this.#rememberQuote(lastLine)
    }
    this.#line = lastLine
    if (isAtStart) return records
    this.#endField()
    this.#endRecord(records, lastLine)
    return records
  }

  /** Handles a quote outside a quoted field: it opens a field, is the second of a pair, or is misplaced. */
  #takeQuote(from: number, at: number): number {
    if (this.#state === 'start') {
      this.#state = 'quoted'
      this.#openedLine = this.#line
      return at + 1
    }
    if (this.#state === 'quote' && from === at) {
      this.#state = 'quoted'
      return at
    }
    this.#isWellFormed = false
    return from
  }

  #rememberQuote(line: number): void {
    if (line > this.#openedLine) this.#quoteLine ??= this.#openedLine
  }

  #take(text: string, from: number, to: number): void {
    this.#length += to - from
    const quoteLine = this.#state === 'quoted' ? this.#openedLine : this.#startLine
    checkRecordLength(this.#length, { line: this.#startLine, quoteLine, lastLine: this.#line })
    if (this.#state === 'quoted') this.#rememberQuote(this.#line)
    if (from === to) return
    if (this.#state !== 'quote' && this.#state !== 'closed') {
      this.#field += text.slice(from, to)
      return
    }
    this.#isWellFormed = false
    this.#state = 'closed'
  }

  #endField(): void {
    this.#fields.push(this.#field)
    this.#field = ''
    this.#state = 'start'
  }

  #endRecord(records: CsvRecord[], lastLine: number): void {
    // A row that contains only separators counts as an empty line.
    if (!this.#isWellFormed || this.#fields.some((field) => field !== '')) {
      const [line, fields, isWellFormed] = [this.#startLine, this.#fields, this.#isWellFormed]
      records.push({ line, lastLine, quoteLine: this.#quoteLine ?? line, fields, isWellFormed })
    }
    this.#fields = []
    this.#isWellFormed = true
    this.#quoteLine = undefined
    this.#startLine = this.#line
    this.#length = 0
  }
}

const SEPARATORS = [',', ';', '\t', '|']

/**
 * Returns the separator in a line of Excel such as `sep=;`, or `undefined` for any other line. If the file was saved again, the
 * cells after it contain the separator of that file.
 */
export function readSeparatorLine(line: string): string | undefined {
  // A client sends this text. Only one repetition may match a blank, otherwise a long line would take minutes.
  const [start] = /^ *(?:" *)?sep=/i.exec(line) ?? []
  if (start === undefined) return undefined
  const named = line.slice(start.length).replace(/^ +(?=[^ "])/, '')
  const [, cells] = /^[^"](?: *")?([ ,;\t|]*)$/.exec(named) ?? []
  return cells === undefined ? undefined : (cells.replaceAll(' ', '').at(-1) ?? named[0])
}

/** Returns the separator with which the header has a column `sku`, otherwise the one with the most columns. */
export function findSeparator(text: string): string {
  const judged = SEPARATORS.map((separator) => {
    const reader = new CsvReader(separator)
    const { fields = [] } = [...reader.push(text), ...reader.end()][0] ?? {}
    return {
      separator,
      score: fields.length + (fields.some((name) => /^ *sku(?::text)? *$/i.test(name)) ? 1_000_000 : 0),
    }
  })
  return judged.reduce((best, each) => (each.score > best.score ? each : best)).separator
}
