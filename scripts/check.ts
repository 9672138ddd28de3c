// Every quality gate: `node scripts/check.ts`, and with `--with-tests` the tests too. Exit status 0 only when all passed.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runStep, type Step, type StepResult } from './check/step.ts'
import { countTests } from './check/test-counts.ts'

const root = join(import.meta.dirname, '..')
const tool = (name: string): string => join(root, 'node_modules', '.bin', name)

function staticSteps(): readonly Step[] {
  const projects = globSync('{.,examples/*,packages/*,services/*}/tsconfig.json', { cwd: root })
  return [
    { name: 'unused files, exports, dependencies', command: tool('knip'), args: ['--no-progress'] },
    { name: 'format and lint', command: tool('biome'), args: ['check', '--error-on-warnings', '.'] },
    { name: 'layout', command: process.execPath, args: ['scripts/check-layout.ts'] },
    { name: 'OpenAPI documents', command: process.execPath, args: ['scripts/write-openapi.ts', '--check'] },
    { name: 'security page', command: process.execPath, args: ['scripts/write-security.ts', '--check'] },
    { name: 'settings', command: process.execPath, args: ['scripts/write-settings.ts', '--check'] },
    { name: 'dashboards', command: process.execPath, args: ['scripts/write-dashboards.ts', '--check'] },
    ...projects
      .map((project) => project.replace(/\/?tsconfig\.json$/, ''))
      .sort()
      .map((folder) => ({
        name: `types of ${folder || 'everything else'}`,
        command: tool('tsc'),
        // As many of these run at once as there are cores; several checkers of one program would check the same types again.
        args: ['-p', folder || '.', '--singleThreaded'],
      })),
  ]
}

/** Runs the steps, as many at a time as there are cores, and prints a line for each as it ends. */
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

/** Runs the tests with their own output; the counts come from the report beside it. */
async function runTests(): Promise<{ readonly result: StepResult; readonly summary: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-check-'))
  try {
    const report = join(folder, 'tests.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const step = { name: 'tests', command: tool('vitest'), args: ['run', '--coverage', ...reporters] }
    const result = await runStep(step, root, 'inherit')
    const counts = countTests(existsSync(report) ? readFileSync(report, 'utf8') : '', result.passed)
    const passed = result.passed && counts.passed > 0 && counts.failed === 0
    return { result: { ...result, passed }, summary: `${counts.passed} passed, ${counts.failed} failed` }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const { values } = parseArgs({ options: { 'with-tests': { type: 'boolean', default: false } } })
// The tests wait for locks, retries and processes: meanwhile the rest is looked at.
const [tests, results] = await Promise.all([values['with-tests'] ? runTests() : undefined, runAll(staticSteps())])
const failed = [...results, ...(tests ? [tests.result] : [])].filter(({ passed }) => !passed)
for (const { name, output } of failed) if (output !== '') console.log(`\n--- ${name}\n${output.trimEnd()}`)
console.log(failed.length === 0 ? '\nEvery check passed' : `\nFailed: ${failed.map(({ name }) => name).join('; ')}`)
if (tests !== undefined) console.log(tests.summary)
process.exitCode = failed.length === 0 ? 0 : 1
