import type { Metrics } from '@trestle/common/telemetry/metrics.ts'

/** Counts rows of imports as `inventory_import_rows_total{outcome}`. */
export function importCounter(meter: Metrics['meter']): (counts: Readonly<Record<string, number>>) => void {
  const rows = meter.createCounter('inventory_import_rows_total', {
    description: 'Rows of imports by what became of them',
  })
  return ({ received: _, ...counts }) => {
    for (const [outcome, count] of Object.entries(counts)) if (count > 0) rows.add(count, { outcome })
  }
}
