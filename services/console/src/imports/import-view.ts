import { z } from 'zod'
import type { Tone } from '../pages/parts.ts'
import { enveloped } from '../service-calls/inventory-answer.ts'

/** The path on which imports are started and listed. */
export const IMPORTS_PATH = '/imports'

const Import = z.looseObject({
  id: z.int(),
  state: z.string(),
  format: z.string(),
  mode: z.string(),
  atomic: z.boolean(),
  dryRun: z.boolean(),
  total: z.int(),
  processed: z.int(),
  createdBy: z.looseObject({ email: z.string() }),
  created: z.string(),
  ended: z.string().nullable(),
})
/** An import (console reference: Imports of operators). */
export type Import = z.infer<typeof Import>

const Report = z.looseObject({
  created: z.int(),
  updated: z.int(),
  skipped: z.int(),
  failed: z.int(),
  errors: z.array(z.looseObject({ line: z.int(), sku: z.string().nullable(), description: z.string() })),
})
const ReportedImport = Import.extend({
  report: Report.nullable(),
  error: z.looseObject({ description: z.string() }).nullable(),
})
/** An import with what has become of its records. */
export type ReportedImport = z.infer<typeof ReportedImport>

/** The list of imports, as inventory answers it. */
export const ImportsView: z.ZodType<readonly Import[]> = enveloped(z.array(Import))
/** An import, as inventory answers it. */
export const ImportView: z.ZodType<ReportedImport> = enveloped(ReportedImport)

/** The path of the page of an import. */
export function importPath(id: number): string {
  return `${IMPORTS_PATH}/${id}`
}

/** Whether an import still waits or runs, so that its page changes by itself. */
export function isOpen({ state }: Pick<Import, 'state'>): boolean {
  return state === 'waiting' || state === 'running'
}

/** How a state looks. */
export function stateTone(state: string): Tone {
  if (state === 'done') return 'good'
  return state === 'failed' ? 'bad' : 'info'
}

const MODES: Readonly<Record<string, string>> = {
  insert: 'new products',
  upsert: 'new and changed products',
  skip: 'new products, others stay',
}

/** The mode of an import in words, with its limits: `new products, all or none, trial`. */
export function modeText({ mode, atomic, dryRun }: Pick<Import, 'mode' | 'atomic' | 'dryRun'>): string {
  const limits = [atomic ? 'all or none' : undefined, dryRun ? 'trial' : undefined]
  return [MODES[mode] ?? mode, ...limits].filter((each) => each !== undefined).join(', ')
}
