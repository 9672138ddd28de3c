import { type HttpError, withDetails } from '@trestle/common/errors/define-error.ts'
import { type Args, accepts, RawJson } from '@trestle/endpoints/endpoints.ts'
import { type ImportReport, ImportReportView, refusalOf, storingOf } from '../../imports/import-report.ts'
import { importLimits, readRecords } from '../../imports/read-records.ts'
import { guardsFor } from '../../plugins/authorize.ts'
import { checkImportBody, type ImportBody, ImportKeywords, LINES_TYPE } from '../../plugins/import-body.ts'
import { InventoryController } from '../../plugins/inventory-controller.ts'
import { outage, recordBody, recordEnvelope } from '../../requests/answers.ts'
import {
  type ImportEvent,
  type ImportOutcome,
  type ImportProductsInput,
  importProducts,
} from '../../use-cases/import-products.ts'

const DESCRIPTION =
  `The body is text/csv (a header with the columns sku and attributes, or sku and attributes.PATH) or application/x-ndjson
(a product in each line). Without atomic and dryRun, each batch is stored when it has arrived. With Accept: application/x-ndjson
the answer reports the progress in lines. The type of its last line is summary or fatal.`.replaceAll('\n', ' ')

type ImportRun = AsyncGenerator<ImportEvent, ImportOutcome>
/** Logs a fault. Returns the error for the client. */
type LogFault = (thrown: unknown) => HttpError

/** Creates or changes the products of a file. */
export class Default extends InventoryController {
  static override use = guardsFor({})

  static POST = accepts({
    keywords: ImportKeywords,
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
    const body = checkImportBody(this.request, importLimits(config), timeouts.silenceMs)
    this.liftDeadline()
    const storing = storingOf({ atomic, dryRun })
    const run = this.#import(body, { mode, storing, client: this.client, signal: this.request.signal })
    if (this.request.accepts('application/json', LINES_TYPE) !== LINES_TYPE) return answerAtEnd(run)
    this.response.type = LINES_TYPE
    return answerOnTheWay(run, (fault) => this.logFault(fault))
  }

  /**
   * Runs an import, and logs and counts the outcome. It takes the slot only when the generator starts. If the client disconnects
   * before that, the generator never starts, and could not free a slot.
   */
  async *#import(
    { format, open }: ImportBody,
    how: Omit<ImportProductsInput, 'records' | 'place' | 'onEnd'>,
  ): ImportRun {
    const { context } = this.application
    using _ = context.imports.take(this.client)
    const place = { line: 0 }
    const records = readRecords(open(), format, importLimits(context.config), place)
    let ended: ImportReport | undefined
    const onEnd: ImportProductsInput['onEnd'] = (verdict, report) => {
      const { errors: _errors, durationMs: _durationMs, ...counts } = report
      this.addLogFields({ event: 'import.finished', verdict, ...counts })
      context.countImport(counts)
      ended = report
    }
    try {
      return yield* importProducts(context.transferDatabase, { records, ...how, place, onEnd })
    } catch (thrown) {
      throw ended === undefined ? thrown : withDetails(this.toShown(thrown), { report: ended })
    }
  }
}

/** Returns the report as the body of one answer. @throws importRefused if a record of an atomic import failed */
async function answerAtEnd(run: ImportRun): Promise<RawJson> {
  for (let step = await run.next(); ; step = await run.next()) {
    if (!step.done) continue
    const refusal = refusalOf(step.value)
    if (refusal) throw refusal
    return recordBody(200, JSON.stringify(step.value.report))
  }
}

/**
 * Yields a line for each event, and a last line for the outcome. After the first bytes of the answer, only a line can report a
 * fault. If the client disconnects between two lines, the loop ends the generator, and so the import.
 */
async function* answerOnTheWay(run: ImportRun, logFault: LogFault): AsyncGenerator<RawJson, void> {
  let hasBegun = false
  try {
    for await (const line of linesOf(run)) {
      yield toLine(line)
      hasBegun = true
    }
  } catch (error) {
    if (!hasBegun) throw error
    yield toLine(fatalLine(logFault(error)))
  }
}

/** Yields every event of the import, and then the line of the outcome. */
async function* linesOf(run: ImportRun): AsyncGenerator<object, void> {
  yield lastLine(yield* run)
}

/** Returns a summary, or the error and report of an import that stored nothing. */
function lastLine(outcome: ImportOutcome): object {
  const refusal = refusalOf(outcome)
  return refusal ? fatalLine(refusal) : { type: 'summary', ...outcome.report }
}

/** Returns the error of an import that ended early, with its report. */
function fatalLine({ code: type, message: description, details }: HttpError): object {
  const report = typeof details.report === 'object' ? details.report : {}
  return { type: 'fatal', error: { type, description }, ...report }
}

function toLine(line: object): RawJson {
  return new RawJson(JSON.stringify(line))
}
