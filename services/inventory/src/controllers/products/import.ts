import { type Args, accepts, p, RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { importRefused, payloadTooLarge, unsupportedMediaType } from '../../errors.ts'
import { requestBytes } from '../../http/request-bytes.ts'
import { outage } from '../../http/responses.ts'
import { type ImportReport, ImportReportView } from '../../imports/import-report.ts'
import { type ImportFormat, readRecords } from '../../imports/read-records.ts'
import { recordBody, recordEnvelope } from '../../list-envelope.ts'
import { InventoryController } from '../../plugins/inventory-controller.ts'
import {
  IMPORT_MODES,
  type ImportEvent,
  type ImportInput,
  type ImportOutcome,
  importProducts,
} from '../../use-cases/import-products.ts'

const LINES_TYPE = 'application/x-ndjson'
const DESCRIPTION =
  `The body is text/csv (a header; columns sku and attributes, or sku and attributes.PATH) or application/x-ndjson
(a product a line). Batches are stored as they come, unless atomic or dryRun. With Accept: application/x-ndjson the answer tells of
the progress, a line each; its last line is of the type summary or fatal.`.replaceAll('\n', ' ')

/** /products/import */
export class Default extends InventoryController {
  static POST = accepts({
    keywords: z.object({
      mode: p.oneOf(...IMPORT_MODES).default('insert'),
      atomic: p.bool().default(false),
      dryRun: p.bool().default(false),
    }),
    body: 'raw',
    returns: recordEnvelope(ImportReportView, 200),
    types: [LINES_TYPE],
    responses: { 408: 'Nothing came for 30 s', ...outage },
    summary: 'Import products',
    description: DESCRIPTION,
  })
  POST(...[{ mode, atomic, dryRun }]: Args<typeof Default.POST>): Promise<RawJson> | AsyncGenerator<RawJson, void> {
    const { config } = this.application.context
    const format = formatOf(this.request.header('content-type'), this.request.header('content-encoding'))
    const bytesMax = config.importMaxBytes
    if (Number(this.request.header('content-length') ?? 0) > bytesMax) throw payloadTooLarge()
    this.liftDeadline()
    const limits = { bytesMax, attributesBytesMax: config.maxAttributesBytes }
    const storing = dryRun ? 'nothing' : atomic ? 'all-or-nothing' : 'batches'
    const run = this.#import(
      () => readRecords(requestBytes(this.request.stream(Number.POSITIVE_INFINITY)), format, limits),
      { mode, storing, client: this.client, signal: this.request.signal },
    )
    if (this.request.accepts('application/json', LINES_TYPE) !== LINES_TYPE) return answerAtEnd(run)
    this.response.type = LINES_TYPE
    return this.#answerOnTheWay(run)
  }

  /**
   * The import, with its line in the log and its count in the metrics, however it ends. It takes its place among the
   * imports when it begins: one whose client has gone by then never does, and would keep it for ever.
   */
  async *#import(
    open: () => ImportInput['records'],
    how: Omit<ImportInput, 'records'>,
  ): AsyncGenerator<ImportEvent, ImportOutcome> {
    const { context } = this.application
    using _ = context.imports.take(this.client)
    const outcome = yield* importProducts(context.transferDatabase, { records: open(), ...how })
    const { errors: _errors, durationMs: _durationMs, ...counts } = outcome.report
    this.note({ event: 'import.finished', verdict: outcome.verdict, ...counts })
    context.countImport(counts)
    return outcome
  }

  /** A line for each event, and one for the end, which is the only way to tell of a fault once the answer has begun. */
  async *#answerOnTheWay(run: AsyncGenerator<ImportEvent, ImportOutcome>): AsyncGenerator<RawJson, void> {
    let hasBegun = false
    try {
      // By a loop that ends the import when the client goes away between two lines.
      for await (const line of linesOf(run)) {
        yield toLine(line)
        hasBegun = true
      }
    } catch (error) {
      if (!hasBegun) throw error
      const { code: type, message: description } = this.noteFault(error)
      yield toLine({ type: 'fatal', error: { type, description } })
    }
  }
}

/**
 * Bytes of another charset or of a compressed file would be refused as broken UTF-8, or be stored as other letters, so what the
 * headers say is believed.
 * @throws unsupportedMediaType
 */
function formatOf(contentType = '', encoding = 'identity'): ImportFormat {
  const [, type, charset] = CONTENT_TYPE.exec(contentType.trim().toLowerCase()) ?? []
  const isUtf8 = charset === undefined || UTF_8.has(charset)
  if (isUtf8 && encoding.trim().toLowerCase() === 'identity') {
    if (type === 'text/csv') return 'csv'
    if (type === LINES_TYPE) return 'ndjson'
  }
  throw unsupportedMediaType({
    message: 'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.',
  })
}

/** The type, and the charset where one is named among the parameters. */
const CONTENT_TYPE = /^([^;\s]+)\s*(?:;(?:[^;]*;)*?\s*charset\s*=\s*"?([^";\s]*)"?.*|;.*)?$/s
const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** @throws importRefused when nothing was stored because a record failed */
async function answerAtEnd(run: AsyncGenerator<ImportEvent, ImportOutcome>): Promise<RawJson> {
  for (let step = await run.next(); ; step = await run.next()) {
    if (!step.done) continue
    const { verdict, report } = step.value
    if (verdict === 'taken-back') throw importRefused({ details: { report } })
    return recordBody(200, JSON.stringify(report))
  }
}

async function* linesOf(run: AsyncGenerator<ImportEvent, ImportOutcome>): AsyncGenerator<object, void> {
  yield lastLine(yield* run)
}

function lastLine({ verdict, report }: ImportOutcome): { readonly type: string } & ImportReport {
  if (verdict !== 'taken-back') return { type: 'summary', ...report }
  const { code: type, message: description } = importRefused()
  return { type: 'fatal', ...{ error: { type, description } }, ...report }
}

function toLine(line: object): RawJson {
  return new RawJson(JSON.stringify(line))
}
