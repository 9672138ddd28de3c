import { z } from 'zod'
import { ImportReportView } from './import-report.ts'
import { IMPORT_FORMATS } from './read-records.ts'

/** The states of an import that operators see (console reference: Routes of inventory). */
const IMPORT_STATES = ['waiting', 'running', 'done', 'failed'] as const

/** An import of an operator, as a list shows it. */
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

/** An import of an operator with what has become of its records. */
export const ReportedImportView = OperatorImportView.extend({
  report: ImportReportView.nullable().meta({
    description: 'What has become of the records; null until some are stored, or all are judged',
  }),
  error: z
    .object({ type: z.string(), description: z.string() })
    .nullable()
    .meta({ description: 'Why the import has failed' }),
}).meta({ id: 'ReportedImport' })

/** An import of an operator, as the database returns it. */
export type OperatorImport = z.output<typeof OperatorImportView>
/** An import of an operator with its report, as the database returns it. */
export type ReportedImport = z.output<typeof ReportedImportView>
