import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import { z } from 'zod'
import { importRefused } from '../errors.ts'
import { countLines, type RecordProblem } from './import-record.ts'
import { IMPORT_FORMATS, type ReadPlace } from './read-records.ts'

/** Counts the records of a file by outcome (reference: Import report). */
export interface ImportReport {
  readonly received: number
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly failed: number
  /** The current line of the file. After the import, the line at which it ended. */
  readonly line: number
  readonly durationMs: number
  /** The first 100 errors. */
  readonly errors: readonly RecordProblem[]
}

const ERRORS_MAX = 100

const Count = z.int().min(0)
const ProblemView = z.object({
  line: z.int().min(1).meta({ description: 'The line of the file where the record begins' }),
  sku: z.string().nullable().meta({ description: 'null when it cannot be read' }),
  type: z.string().meta({ description: 'BAD_REQUEST, VALIDATION_ERROR, CONFLICT or SERVER_ERROR' }),
  description: z.string().meta({ description: 'What is wrong, for people' }),
})

export const ImportReportView = z
  .object({
    received: Count.meta({ description: 'Records of the file, and each line that a broken record takes in' }),
    created: Count.meta({ description: 'New products' }),
    updated: Count.meta({ description: 'Products that were changed' }),
    skipped: Count.meta({
      description: 'Products that were left as they were, because they exist or have the same attributes',
    }),
    failed: Count.meta({ description: 'Records that were not stored, and each line that a broken one takes in' }),
    line: Count.meta({ description: 'The line of the file at which the import ended' }),
    durationMs: Count.meta({ description: 'How long the import took' }),
    errors: z.array(ProblemView).max(ERRORS_MAX).meta({ description: 'The first problems' }),
  })
  .meta({ id: 'ImportReport' })

/** The numbers of received, created, updated and skipped records in a part of a file, and the problems of the others. */
export interface BatchOutcome {
  readonly received: number
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly problems: readonly RecordProblem[]
}

export class ImportTally {
  readonly #now: () => number
  readonly #place: ReadPlace
  readonly #startedAtMs: number
  #report: Counted

  /**
   * @param now the time in milliseconds, from any origin
   * @param place the position of the file's reader
   * @param before the report of an earlier attempt that this report continues
   */
  constructor(now: () => number, place: ReadPlace, before: ImportReport = NOTHING_YET) {
    const { durationMs, line: _, ...report } = before
    this.#now = now
    this.#place = place
    this.#startedAtMs = now() - durationMs
    this.#report = report
  }

  add(outcome: BatchOutcome): void {
    this.#report = sumOf(this.#report, outcome)
  }

  get failed(): number {
    return this.#report.failed
  }

  get received(): number {
    return this.#report.received
  }

  report(): ImportReport {
    const { errors, ...counts } = this.#report
    const { line } = this.#place
    return { ...counts, line, durationMs: Math.round(this.#now() - this.#startedAtMs), errors }
  }

  /** The report including the outcome. */
  reportWith(outcome: BatchOutcome): ImportReport {
    return sumOf(this.report(), outcome)
  }
}

const NOTHING_YET: ImportReport = {
  received: 0,
  created: 0,
  updated: 0,
  skipped: 0,
  failed: 0,
  line: 0,
  durationMs: 0,
  errors: [],
}

type Counted = Omit<ImportReport, 'durationMs' | 'line'>

function sumOf<Report extends Counted>(report: Report, outcome: BatchOutcome): Report {
  const { received, created, updated, skipped, problems } = outcome
  return {
    ...report,
    received: report.received + received,
    created: report.created + created,
    updated: report.updated + updated,
    skipped: report.skipped + skipped,
    failed: report.failed + problems.reduce((sum, problem) => sum + countLines(problem), 0),
    errors: [...report.errors, ...problems.slice(0, ERRORS_MAX - report.errors.length).map(toShown)],
  }
}

/** Omits the number of lines of a record, because the description contains it. */
function toShown({ line, sku, type, description }: RecordProblem): ImportReport['errors'][number] {
  return { line, sku, type, description }
}

/** Returns a function that counts the records of an import as `inventory_import_rows_total{outcome}`. */
export function createImportCounter(meter: Metrics['meter']): (counts: Readonly<Record<string, number>>) => void {
  const rows = meter.createCounter('inventory_import_rows_total', {
    description: 'Rows of imports by what became of them',
  })
  return ({ received: _received, line: _line, ...counts }) => {
    for (const [outcome, count] of Object.entries(counts)) if (count > 0) rows.add(count, { outcome })
  }
}

/** The error of an atomic import that stored nothing because of a failed record. */
export function refusalOf({
  verdict,
  report,
}: {
  readonly verdict: 'stored' | 'tried' | 'taken-back'
  readonly report: ImportReport
}): HttpError | undefined {
  return verdict === 'taken-back' ? importRefused({ details: { report } }) : undefined
}

/** The states of an import that operators see (console reference: Routes of inventory). */
const IMPORT_STATES = ['waiting', 'running', 'done', 'failed'] as const

export const OperatorImportView = z
  .object({
    id: z.int(),
    state: z.enum(IMPORT_STATES).meta({ description: 'failed: it ended before the whole file was imported' }),
    format: z.enum(IMPORT_FORMATS),
    mode: z.enum(['insert', 'upsert', 'skip']).meta({ description: 'What happens to a product whose SKU is taken' }),
    atomic: z.boolean().meta({ description: 'Stores all products, or none' }),
    dryRun: z.boolean().meta({ description: 'Stores nothing' }),
    total: z.int().min(0).meta({ description: 'Records of the file' }),
    processed: z.int().min(0).meta({ description: 'Records that the import has dealt with' }),
    createdBy: z.object({ id: z.guid(), email: z.string() }).meta({ description: 'The operator' }),
    created: z.iso.datetime({ precision: 3 }).meta({ description: 'When the import was started' }),
    ended: z.iso.datetime({ precision: 3 }).nullable().meta({ description: 'null while the import waits or runs' }),
  })
  .meta({ id: 'OperatorImport' })

/** An import with the outcome of its records. */
export const ReportedImportView = OperatorImportView.extend({
  report: ImportReportView.nullable().meta({
    description: 'What has become of the records; null until some are stored, or all are judged',
  }),
  error: z
    .object({ type: z.string(), description: z.string() })
    .nullable()
    .meta({ description: 'Why the import has failed' }),
}).meta({ id: 'ReportedImport' })

export type OperatorImport = z.output<typeof OperatorImportView>
export type ReportedImport = z.output<typeof ReportedImportView>

/** How an import stores its records. `batches`: each batch on arrival. `all-or-nothing`: atomically. `nothing`: a dry run. */
export type Storing = 'batches' | 'all-or-nothing' | 'nothing'

/** The options in the query of the endpoint and in the flags of the command. */
interface StoringOptions {
  readonly atomic?: boolean | undefined
  readonly dryRun?: boolean | undefined
}

/** Returns how to store an import (reference: Import). A dry run stores nothing, even if `atomic` is set. */
export function storingOf({ atomic, dryRun }: StoringOptions): Storing {
  if (dryRun) return 'nothing'
  return atomic ? 'all-or-nothing' : 'batches'
}
