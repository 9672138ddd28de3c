import { z } from 'zod'

const Report = z.object({ numPassedTests: z.int(), numFailedTests: z.int() })

/**
 * Reads vitest's JSON report. A run that failed counts at least one failure, also when no test did: a file that could
 * not be loaded, coverage below its gate, no report at all.
 */
export function countTests(report: string, runPassed: boolean): { readonly passed: number; readonly failed: number } {
  const counts = report === '' ? undefined : Report.parse(JSON.parse(report))
  const failed = counts?.numFailedTests ?? 0
  return { passed: counts?.numPassedTests ?? 0, failed: runPassed ? failed : Math.max(failed, 1) }
}
