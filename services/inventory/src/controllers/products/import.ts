import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { ImportReportView } from '../../imports/import-report.ts'
import { storingOf } from '../../imports/storing.ts'
import { guardsFor } from '../../plugins/authorize.ts'
import { answerAtEnd, answerOnTheWay, type ImportRun } from '../../plugins/import-answer.ts'
import { checkImportBody, LINES_TYPE, type OpenRecords } from '../../plugins/import-body.ts'
import { InventoryController } from '../../plugins/inventory-controller.ts'
import { recordEnvelope } from '../../requests/envelope.ts'
import { outage } from '../../requests/responses.ts'
import { IMPORT_MODES, type ImportInput, importProducts } from '../../use-cases/import-products.ts'

const DESCRIPTION =
  `The body is text/csv (a header with the columns sku and attributes, or sku and attributes.PATH) or application/x-ndjson
(a product in each line). Without atomic and dryRun, each batch is stored when it has arrived. With Accept: application/x-ndjson
the answer reports the progress in lines. The type of its last line is summary or fatal.`.replaceAll('\n', ' ')

/** /products/import: adds or changes the products of a file. */
export class Default extends InventoryController {
  static override use = guardsFor({})

  static POST = accepts({
    keywords: z.object({
      mode: p
        .oneOf(...IMPORT_MODES)
        .default('insert')
        .meta({ description: 'What happens to a product whose SKU is taken' }),
      atomic: p.bool().default(false).meta({ description: 'Stores all products, or none' }),
      dryRun: p.bool().default(false).meta({ description: 'Reports what would happen, and stores nothing' }),
    }),
    body: 'raw',
    returns: recordEnvelope(ImportReportView, 200),
    types: [LINES_TYPE],
    responses: { 408: 'Nothing arrived for 30 s', ...outage },
    summary: 'Import products',
    tags: ['products'],
    description: DESCRIPTION,
  })
  POST(...[{ mode, atomic, dryRun }]: Args<typeof Default.POST>): Promise<RawJson> | AsyncGenerator<RawJson, void> {
    const { config, timeouts } = this.application.context
    const limits = { bytesMax: config.importBytesMax, attributesBytesMax: config.attributesBytesMax }
    const openRecords = checkImportBody(this.request, limits, timeouts.silenceMs)
    this.liftDeadline()
    const storing = storingOf({ atomic, dryRun })
    const run = this.#import(openRecords, { mode, storing, client: this.client, signal: this.request.signal })
    if (this.request.accepts('application/json', LINES_TYPE) !== LINES_TYPE) return answerAtEnd(run)
    this.response.type = LINES_TYPE
    return answerOnTheWay(run, (fault) => this.noteFault(fault))
  }

  /**
   * Imports, and logs and counts the outcome. The slot is taken when the generator begins: an import whose client has left before
   * never begins, and would keep its slot for ever.
   */
  async *#import(openRecords: OpenRecords, how: Omit<ImportInput, 'records'>): ImportRun {
    const { context } = this.application
    using _ = context.imports.take(this.client)
    const outcome = yield* importProducts(context.transferDatabase, { records: openRecords(), ...how })
    const { errors: _errors, durationMs: _durationMs, ...counts } = outcome.report
    this.note({ event: 'import.finished', verdict: outcome.verdict, ...counts })
    context.countImport(counts)
    return outcome
  }
}
