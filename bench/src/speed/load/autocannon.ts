import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { runProgram } from '../../servers/run-program.ts'
import type { LoadGenerator } from './load.ts'
import type { GeneratorOptions } from './wrk.ts'

const PROGRAM = join(import.meta.dirname, 'autocannon-run.ts')
const Result = z.object({ requestsPerSecond: z.number(), p50Ms: z.number(), p99Ms: z.number(), errors: z.number() })

/**
 * Sends a load with `autocannon`, for machines without `wrk`. It takes a core for itself, so it shows lower rates of writes.
 */
export function createAutocannon({ folder, cores }: GeneratorOptions): LoadGenerator {
  let runs = 0
  return async (url, load, seconds) => {
    // Each load has a file of its own, since two loads may run at a time.
    const loadFile = join(folder, `load-${++runs}.json`)
    writeFileSync(loadFile, JSON.stringify({ url, load, seconds }))
    const output = await runProgram({ program: process.execPath, args: [PROGRAM, loadFile], cores })
    return Result.parse(JSON.parse(output))
  }
}
