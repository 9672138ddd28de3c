// Runs all checks and tests: `node scripts/check.ts`. Also fails if test coverage is too low. With `--static`, skips the tests.
// Exits with 0 only if everything passed.

import { spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'

const root = join(import.meta.dirname, '..')
const tool = (name: string): string => join(root, 'node_modules', '.bin', name)
const compileCache = join(root, 'node_modules/.cache/node')
/** The compiler's incremental build file, so that the next run reads only changed files. */
const buildInfoOf = (project: string): string =>
  join(root, 'node_modules/.cache/tsc', `${project.replaceAll('/', '-') || 'root'}.tsbuildinfo`)

function staticSteps(): readonly Step[] {
  const projects = globSync('{.,examples/*,packages/*,services/*}/tsconfig.json', { cwd: root })
  return [
    // The cache is in `node_modules/.cache`, so that the next run parses only changed files.
    { name: 'unused files, exports, dependencies', command: tool('knip'), args: ['--no-progress', '--cache'] },
    { name: 'format and lint', command: tool('biome'), args: ['check', '--error-on-warnings', '.'] },
    { name: 'layout', command: process.execPath, args: ['scripts/check-layout.ts'] },
    { name: 'commits', command: process.execPath, args: ['scripts/check-commits.ts'] },
    { name: 'security page', command: process.execPath, args: ['scripts/write-security.ts', '--check'] },
    { name: 'settings', command: process.execPath, args: ['scripts/write-settings.ts', '--check'] },
    { name: 'behaviours', command: process.execPath, args: ['scripts/write-behaviours.ts', '--check'] },
    { name: 'dashboards', command: process.execPath, args: ['scripts/write-dashboards.ts', '--check'] },
    ...projects
      .map((project) => project.replace(/\/?tsconfig\.json$/, ''))
      .sort()
      .map((folder) => ({
        name: `types of ${folder || 'everything else'}`,
        command: tool('tsc'),
        // One compiler per core runs at a time. Several threads in one compiler would check the same types again.
        args: ['-p', folder || '.', '--singleThreaded', '--incremental', '--tsBuildInfoFile', buildInfoOf(folder)],
      })),
  ]
}

/** Runs the steps, one per core at a time, and prints a line when each ends. */
async function runAll(steps: readonly Step[]): Promise<readonly StepResult[]> {
  const waiting = [...steps]
  const results: StepResult[] = []
  const work = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const result = await runStep(step, root)
      results.push(result)
      console.log(`${result.passed ? 'ok  ' : 'FAIL'} ${result.seconds.toFixed(1).padStart(5)} s  ${result.name}`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return results
}

/** Runs the tests with their usual output and reads the counts from the JSON report. */
async function runTests(): Promise<{ readonly result: StepResult; readonly summary: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-check-'))
  try {
    const report = join(folder, 'tests.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const step = { name: 'tests', command: tool('vitest'), args: ['run', '--coverage', ...reporters] }
    const result = await runStep(step, root, 'inherit')
    const counts = countTests(existsSync(report) ? readFileSync(report, 'utf8') : '', result)
    const passed = result.passed && counts.passed > 0 && counts.failed === 0
    return { result: { ...result, passed }, summary: `${counts.passed} passed, ${counts.failed} failed` }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Step {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

interface StepResult {
  readonly name: string
  /** Whether the program exited with status 0 and without a signal. */
  readonly passed: boolean
  readonly seconds: number
  /** Stdout and stderr in the order of arrival. Empty if the program wrote to this process's output. */
  readonly output: string
}

/**
 * Runs a program to its end. If its output is collected, it gets a lower priority, because tests with time limits run at the same
 * time. Never throws: if the program cannot be started, it counts as failed, with the reason as output.
 */
export function runStep(step: Step, cwd: string, output: 'collect' | 'inherit' = 'collect'): Promise<StepResult> {
  const { name, command, args } = step
  const startMs = performance.now()
  const out = output === 'inherit' ? 'inherit' : 'pipe'
  // The compile cache makes checks start sooner. The tests, whose output is shown, run without it.
  const env = output === 'inherit' ? process.env : { ...process.env, NODE_COMPILE_CACHE: compileCache }
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', out, out] })
    if (output === 'collect' && child.pid !== undefined)
      setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    const chunks: Buffer[] = []
    const keep = (chunk: Buffer): void => void chunks.push(chunk)
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    const finish = (passed: boolean): void => {
      const seconds = (performance.now() - startMs) / 1000
      resolve({ name, passed, seconds, output: Buffer.concat(chunks).toString() })
    }
    child.on('error', (error) => {
      chunks.push(Buffer.from(`${error.message}\n`))
      finish(false)
    })
    child.on('close', (status) => finish(status === 0))
  })
}

const Report = z.object({ numPassedTests: z.int(), numFailedTests: z.int() })

/**
 * Reads vitest's JSON report. A failed run counts at least one failure, even without a failed test: a file that could not be
 * loaded, coverage below its threshold, or no report.
 */
export function countTests(
  report: string,
  run: { readonly passed: boolean },
): { readonly passed: number; readonly failed: number } {
  const counts = report === '' ? undefined : Report.parse(JSON.parse(report))
  const failed = counts?.numFailedTests ?? 0
  return { passed: counts?.numPassedTests ?? 0, failed: run.passed ? failed : Math.max(failed, 1) }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { static: { type: 'boolean', default: false } } })
  // The tests often wait for locks, retries and processes, so run the other checks at the same time.
  const [tests, results] = await Promise.all([values.static ? undefined : runTests(), runAll(staticSteps())])
  const failed = [...results, ...(tests ? [tests.result] : [])].filter(({ passed }) => !passed)
  for (const { name, output } of failed) if (output !== '') console.log(`\n--- ${name}\n${output.trimEnd()}`)
  console.log(failed.length === 0 ? '\nEvery check passed' : `\nFailed: ${failed.map(({ name }) => name).join('; ')}`)
  if (tests !== undefined) console.log(tests.summary)
  process.exitCode = failed.length === 0 ? 0 : 1
}
