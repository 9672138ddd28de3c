import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { type Args, accepts, p, RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { badRequest, importRefused, payloadTooLarge, requestTimeout, unsupportedFileType } from '../../errors.ts'
import { ImportReportView } from '../../imports/import-report.ts'
import { type ImportFormat, readRecords } from '../../imports/read-records.ts'
import { InventoryController } from '../../plugins/inventory-controller.ts'
import { recordBody, recordEnvelope } from '../../requests/envelope.ts'
import { outage } from '../../requests/responses.ts'
import {
  IMPORT_MODES,
  type ImportEvent,
  type ImportInput,
  type ImportOutcome,
  importProducts,
} from '../../use-cases/import-products.ts'

const LINES_TYPE = 'application/x-ndjson'
const DESCRIPTION =
  `The body is text/csv (a header with the columns sku and attributes, or sku and attributes.PATH) or application/x-ndjson
(a product in each line). Without atomic and dryRun, each batch is stored when it has arrived. With Accept: application/x-ndjson
the answer reports the progress in lines. The type of its last line is summary or fatal.`.replaceAll('\n', ' ')

/** An import that is under way, and what it reports. */
type ImportRun = AsyncGenerator<ImportEvent, ImportOutcome>
/** Begins to read the body. */
type OpenRecords = () => ImportInput['records']

/** /products/import: adds or changes the products of a file. */
export class Default extends InventoryController {
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
    const openRecords = this.#checkBody()
    this.liftDeadline()
    const storing = dryRun ? 'nothing' : atomic ? 'all-or-nothing' : 'batches'
    const run = this.#import(openRecords, { mode, storing, client: this.client, signal: this.request.signal })
    if (this.request.accepts('application/json', LINES_TYPE) !== LINES_TYPE) return answerAtEnd(run)
    this.response.type = LINES_TYPE
    return this.#answerOnTheWay(run)
  }

  /**
   * Checks the headers of the body. Returns what opens its records.
   * @throws unsupportedFileType for other headers than those of CSV or NDJSON, payloadTooLarge for a longer body than is allowed
   */
  #checkBody(): OpenRecords {
    const { config, timeouts } = this.application.context
    const format = formatOf(this.request.header('content-type'), this.request.header('content-encoding'))
    const limits = { bytesMax: config.importBytesMax, attributesBytesMax: config.attributesBytesMax }
    if (Number(this.request.header('content-length') ?? 0) > limits.bytesMax) throw payloadTooLarge()
    return () =>
      readRecords(requestBytes(this.request.stream(Number.POSITIVE_INFINITY), timeouts.silenceMs), format, limits)
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

  /**
   * A line for each event, and a last line for the outcome. After the first bytes of the answer, a fault can only be reported in a
   * line. When the client leaves between two lines, the loop ends the generator, and so the import.
   */
  async *#answerOnTheWay(run: ImportRun): AsyncGenerator<RawJson, void> {
    let hasBegun = false
    try {
      for await (const line of linesOf(run)) {
        yield toLine(line)
        hasBegun = true
      }
    } catch (error) {
      if (!hasBegun) throw error
      yield toLine(fatalLine(this.noteFault(error)))
    }
  }
}

/**
 * The format by the headers of the request. Other charsets and compressed files are refused: their bytes would be read as broken
 * UTF-8, or stored as other letters.
 * @throws unsupportedFileType for any other format
 */
function formatOf(contentType = '', encoding = 'identity'): ImportFormat {
  const [, type, charset] = CONTENT_TYPE.exec(contentType.trim().toLowerCase()) ?? []
  const isUtf8 = charset === undefined || UTF_8.has(charset)
  if (isUtf8 && encoding.trim().toLowerCase() === 'identity') {
    if (type === 'text/csv') return 'csv'
    if (type === LINES_TYPE) return 'ndjson'
  }
  throw unsupportedFileType()
}

/** A media type, with the charset if the parameters name one. */
const CONTENT_TYPE = /^([^;\s]+)\s*(?:;(?:[^;]*;)*?\s*charset\s*=\s*"?([^";\s]*)"?.*|;.*)?$/s
const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** @throws importRefused when a record of an atomic import failed */
async function answerAtEnd(run: ImportRun): Promise<RawJson> {
  for (let step = await run.next(); ; step = await run.next()) {
    if (!step.done) continue
    const refusal = refusalOf(step.value)
    if (refusal) throw refusal
    return recordBody(200, JSON.stringify(step.value.report))
  }
}

async function* linesOf(run: ImportRun): AsyncGenerator<object, void> {
  yield lastLine(yield* run)
}

function lastLine(outcome: ImportOutcome): object {
  const refusal = refusalOf(outcome)
  return { ...(refusal ? fatalLine(refusal) : { type: 'summary' }), ...outcome.report }
}

/** The error of an atomic import that stored nothing because a record failed. */
function refusalOf({ verdict, report }: ImportOutcome): HttpError | undefined {
  return verdict === 'taken-back' ? importRefused({ details: { report } }) : undefined
}

function fatalLine({ code: type, message: description }: HttpError): object {
  return { type: 'fatal', error: { type, description } }
}

function toLine(line: object): RawJson {
  return new RawJson(JSON.stringify(line))
}

/**
 * The body of a request while it arrives.
 * @throws requestTimeout when nothing arrives for `silenceMs`, badRequest when the client leaves
 */
async function* requestBytes(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await readWithTimeout(reader.read(), silenceMs)
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

async function readWithTimeout<T>(reading: Promise<T>, silenceMs: number): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(requestTimeout()), silenceMs)
  // The client has left, so nobody reads the answer.
  const read = reading.catch((cause: unknown) => Promise.reject(badRequest({ cause })))
  try {
    return await Promise.race([read, silence])
  } finally {
    clearTimeout(timer)
  }
}
