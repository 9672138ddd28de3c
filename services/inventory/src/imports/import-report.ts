import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import { z } from 'zod'
import type { RecordProblem } from './import-record.ts'

/** Counts the records of a file by what became of them (reference: Import report). */
export interface ImportReport {
  readonly received: number
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly failed: number
  readonly durationMs: number
  /** The first 100. */
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

/** The report of an import, as its answer shows it (reference: Import). */
export const ImportReportView = z
  .object({
    received: Count.meta({ description: 'Records of the file' }),
    created: Count.meta({ description: 'New products' }),
    updated: Count.meta({ description: 'Products that were changed' }),
    skipped: Count.meta({
      description: 'Products that were left as they were, because they exist or have the same attributes',
    }),
    failed: Count.meta({ description: 'Records that were not stored' }),
    durationMs: Count.meta({ description: 'How long the import took' }),
    errors: z.array(ProblemView).max(ERRORS_MAX).meta({ description: 'The first problems' }),
  })
  .meta({ id: 'ImportReport' })

/** Counts records while a file is imported. */
export class ImportTally {
  readonly #now: () => number
  readonly #startedAtMs: number
  readonly #counts = { received: 0, created: 0, updated: 0, skipped: 0, failed: 0 }
  readonly #errors: RecordProblem[] = []

  /** @param now milliseconds since any time */
  constructor(now: () => number) {
    this.#now = now
    this.#startedAtMs = now()
  }

  /** Counts records that came, whatever becomes of them. */
  receive(count: number): void {
    this.#counts.received += count
  }

  count(outcome: 'created' | 'updated' | 'skipped', count = 1): void {
    this.#counts[outcome] += count
  }

  fail(problem: RecordProblem): void {
    this.#counts.failed++
    if (this.#errors.length < ERRORS_MAX) this.#errors.push(problem)
  }

  get failed(): number {
    return this.#counts.failed
  }

  get received(): number {
    return this.#counts.received
  }

  report(): ImportReport {
    return { ...this.#counts, durationMs: Math.round(this.#now() - this.#startedAtMs), errors: [...this.#errors] }
  }
}

/** Returns a function that counts the records of an import as `inventory_import_rows_total{outcome}`. */
export function createImportCounter(meter: Metrics['meter']): (counts: Readonly<Record<string, number>>) => void {
  const rows = meter.createCounter('inventory_import_rows_total', {
    description: 'Rows of imports by what became of them',
  })
  return ({ received: _, ...counts }) => {
    for (const [outcome, count] of Object.entries(counts)) if (count > 0) rows.add(count, { outcome })
  }
}
