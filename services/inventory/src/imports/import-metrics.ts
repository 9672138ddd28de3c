import type { Meter } from '@opentelemetry/api'

/** Counts rows of imports as `inventory_import_rows_total{outcome}`. */
export function importCounter(meter: Meter): (counts: Readonly<Record<string, number>>) => void {
  const rows = meter.createCounter('inventory_import_rows_total', {
    description: 'Rows of imports by what became of them',
  })
  return ({ received: _, ...counts }) => {
    for (const [outcome, count] of Object.entries(counts)) if (count > 0) rows.add(count, { outcome })
  }
}
