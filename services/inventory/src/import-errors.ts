import { defineError } from '@trestle/common/errors/define-error.ts'

// The part of the catalogue in errors.ts about files of products: why a file is refused, and what a report says of its records.

/** `details.report` says what became of each record. */
export const importRefused = defineError(
  400,
  'VALIDATION_ERROR',
  'Nothing was stored, because not every record could be.',
)
export const fileNotUtf8 = defineError(400, 'BAD_REQUEST', 'The file is not UTF-8.')
export const headerMissing = defineError(400, 'BAD_REQUEST', 'The file has no header.')
export const headerBroken = defineError(400, 'BAD_REQUEST', 'The header of the file has misplaced quotes.')
export const skuColumnMissing = defineError(400, 'BAD_REQUEST', 'The file has no column sku.')
export const attributesColumnMissing = defineError(
  400,
  'BAD_REQUEST',
  'The file must have a column attributes, or columns such as attributes.color.',
)
export const columnTwice = defineError(
  400,
  'BAD_REQUEST',
  ({ column }: { readonly column: string }) => `The file has the column "${column}" twice.`,
)
/** A column that is not known, and the column that its name may mean. `stock`: it would fill the stock. */
export interface UnknownColumn {
  readonly column: string
  readonly meant: string | undefined
  readonly stock: boolean
}
/** Names all columns of the header that are not known. */
export const columnsUnknown = defineError(
  400,
  'BAD_REQUEST',
  ({ unknown }: { readonly unknown: readonly UnknownColumn[] }) => {
    const names = unknown.map(
      ({ column, meant }) => `"${column}"${meant === undefined ? '' : ` (did you mean "${meant}"?)`}`,
    )
    const subject = names.length === 1 ? `The column ${names[0]} is` : `The columns ${names.join(', ')} are`
    const advice = ' A file of products has no stock: POST /movements or the command inventory stock receive adds it.'
    return `${subject} not known.${unknown.some(({ stock }) => stock) ? advice : ''}`
  },
)
export const fileTooLarge = defineError(
  413,
  'PAYLOAD_TOO_LARGE',
  ({ bytesMax }: { readonly bytesMax: number }) => `The file is larger than ${bytesMax} bytes.`,
)
export const tooManyColumns = defineError(
  413,
  'PAYLOAD_TOO_LARGE',
  ({ columnsMax }: { readonly columnsMax: number }) => `The file has more than ${columnsMax} columns.`,
)
export const recordTooLong = defineError(
  413,
  'PAYLOAD_TOO_LARGE',
  ({ lengthMax, ...span }: LineSpan & { readonly lengthMax: number }) =>
    `The record on line ${span.line} is longer than ${lengthMax} characters.${span.lastLine > span.line ? ` ${openQuote(span)}` : ''}`,
)
export const unsupportedFileType = defineError(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.',
)

/** The lines of a record. `quoteLine`: where the quote opened that made it go over several lines. */
interface LineSpan {
  readonly line: number
  readonly quoteLine: number
  readonly lastLine: number
}

function openQuote({ quoteLine, lastLine }: Pick<LineSpan, 'quoteLine' | 'lastLine'>): string {
  return `The quote that opens on line ${quoteLine} takes in everything up to line ${lastLine}.`
}

/** The texts of records of an import, in its report. Nothing throws them: the file that names one puts it into the report. */
export const RECORD_TEXTS = {
  /** A member of a record, and what is wrong with it. */
  member: (path: string, text: string) => `${path}: ${text}`,
  noJson: 'The line is not JSON.',
  noObject: 'The line must be a JSON object.',
  quotes: 'The record has misplaced quotes.',
  /** Behind the text of a broken record of several lines. */
  openQuote,
  namelessValue: ({ place }: { readonly place: number }) =>
    `The record has a value in column ${place}, which has no name.`,
  wrongFields: ({ fields, columns }: { readonly fields: number; readonly columns: number }) =>
    `The record has ${fields} fields, the header has ${columns}.`,
  leadsThroughScalar: 'leads through a value that is not an object',
  notStored: 'The product could not be stored.',
} as const

/** The texts of imports of operators that have failed. Nothing throws them: an import shows why it has failed. */
export const IMPORT_TEXTS = {
  givenUp: 'The import could not be finished. The report counts what was stored.',
} as const
