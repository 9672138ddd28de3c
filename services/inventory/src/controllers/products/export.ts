import { type Args, accepts, p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { flattenInvalid, flattenWithoutCsv, notAcceptable } from '../../errors.ts'
import { csvForm, jsonLines, PATHS_MAX, readColumnPaths } from '../../exports/export-form.ts'
import { type ExportOrder, exportProducts } from '../../exports/export-repository.ts'
import { readAhead } from '../../exports/read-ahead.ts'
import { FIELD_TEXTS } from '../../field-errors.ts'
import { IMPORT_FORMATS, type ImportFormat } from '../../imports/read-records.ts'
import { guardsFor } from '../../plugins/authorize.ts'
import { InventoryController } from '../../plugins/inventory-controller.ts'
import type { AttributePath } from '../../products/product-filter.ts'
import { FilterKeywords, readSelection } from '../../products/product-query.ts'
import { outage } from '../../requests/answers.ts'

const TYPES: Readonly<Record<ImportFormat, string>> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

/** Exports the matching products as a file. */
export class Default extends InventoryController {
  static override use = guardsFor({ GET: 'products.read' })

  static GET = accepts({
    keywords: z
      .object({
        format: p
          .oneOf(...IMPORT_FORMATS)
          .optional()
          .meta({ description: 'Without it, Accept decides' }),
        flatten: p
          .list(z.string().meta({ minLength: 1 }))
          .optional()
          .meta({ description: 'Paths of values that get columns of their own, with format=csv', maxItems: PATHS_MAX }),
        spreadsheetSafe: p
          .bool()
          .default(false)
          .meta({ description: 'Keeps spreadsheets from computing cells as formulas' }),
        ...FilterKeywords.shape,
      })
      .catchall(z.string({ error: FIELD_TEXTS.givenTwice })),
    type: TYPES.ndjson,
    types: [TYPES.csv],
    status: 200,
    responses: { 406: 'Neither text/csv nor application/x-ndjson is acceptable', ...outage },
    summary: 'Export products',
    description: 'All products that meet the filters. The filters are as in the list.',
    tags: ['products'],
  })
  GET(...[keywords]: Args<typeof Default.GET>): AsyncGenerator<Uint8Array, void> {
    const { format: asked, flatten: paths, spreadsheetSafe, ...chosen } = keywords
    const format = asked ?? this.#acceptedFormat()
    const selection = readSelection(chosen)
    const form = readForm(format, { paths: paths ?? [], spreadsheetSafe })
    this.#nameFile(format)
    this.liftDeadline()
    return this.#export({ selection, ...form })
  }

  #nameFile(format: ImportFormat): void {
    const day = this.application.context.now().toISOString().slice(0, 10).replaceAll('-', '')
    this.response.type = TYPES[format]
    this.response.headers.set('content-disposition', `attachment; filename="products-${day}.${format}"`)
  }

  /** Takes a slot when the first bytes are requested. */
  async *#export(input: ExportOrder): AsyncGenerator<Uint8Array, void> {
    const { exports, exportReading, transferDatabase } = this.application.context
    using _ = exports.take(this.client)
    yield* this.#logBytes(readAhead(exportProducts(transferDatabase, input), exportReading, this.client))
  }

  /** Logs the number of bytes taken, even if the client disconnects. */
  async *#logBytes(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    let bytes = 0
    try {
      for await (const piece of pieces) {
        bytes += piece.byteLength
        yield piece
      }
    } finally {
      this.addLogFields({ bytes })
    }
  }

  #acceptedFormat(): ImportFormat {
    const type = this.request.accepts(TYPES.ndjson, TYPES.csv)
    if (type === undefined) throw notAcceptable()
    return type === TYPES.csv ? 'csv' : 'ndjson'
  }
}

/**
 * Returns the row format: JSON lines, or CSV with a column for each path of `flatten`.
 * @throws flattenInvalid if paths cannot be columns, or if they are given for JSON
 */
function readForm(
  format: ImportFormat,
  { paths, spreadsheetSafe }: { readonly paths: readonly string[]; readonly spreadsheetSafe: boolean },
): Pick<ExportOrder, 'flatten' | 'form'> {
  const flatten = readFlatten(paths)
  if (format === 'csv') return { flatten, form: csvForm({ flatten, spreadsheetSafe }) }
  if (flatten.length > 0) throw flattenWithoutCsv()
  return { flatten, form: jsonLines }
}

/** @throws flattenInvalid if the paths cannot be columns of one file */
function readFlatten(texts: readonly string[]): readonly AttributePath[] {
  const read = readColumnPaths(texts)
  switch (read.verdict) {
    case 'accepted':
      return read.paths
    case 'refused':
      throw flattenInvalid(read.problem)
  }
}
