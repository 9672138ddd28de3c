import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import { runProgram } from '../processes/run-program.ts'

/** The programs of others that judge a service by its API document. */
export interface Tools {
  /** What the validators say against a document; nothing if it is valid. @param document its path */
  validate(document: string): Promise<readonly string[]>
  /** Sends requests made from a document, and writes what happened as NDJSON. @throws Error when the program breaks off */
  schemathesis(run: SchemathesisRun): Promise<void>
}

/** What schemathesis sends, and where. */
export interface SchemathesisRun {
  readonly document: string
  readonly url: string
  readonly report: string
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>
  /** Operations that it leaves out, by name, such as `POST /logout`. */
  readonly without: readonly string[]
  readonly seed: number
  readonly examples: number
}

const PACKAGES = ['schemathesis==4.32.5', 'openapi-spec-validator==0.9.0']
const PHASES = 'examples,coverage,fuzzing,stateful'
/** Exit statuses of schemathesis: no failures, and failures. Others mean that it could not work. */
const FINISHED = [0, 1]
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Installs the tools from PyPI into a folder.
 * @throws Error when there is no Python 3.10 or PyPI cannot be reached
 */
export async function installTools(folder: string): Promise<Tools> {
  const home = join(folder, 'venv')
  await runProgram({ program: 'python3', args: ['-m', 'venv', home] })
  const program = (name: string) => join(home, 'bin', name)
  await runProgram({
    program: program('pip'),
    args: ['install', '--quiet', '--disable-pip-version-check', ...PACKAGES],
  })
  return {
    validate: async (document) => {
      const { valid, errors } = await new Validator().validate(document)
      const told = valid ? [] : [`openapi-schema-validator: ${JSON.stringify(errors)}`]
      const spec = runProgram({ program: program('openapi-spec-validator'), args: ['--schema', '3.1', document] })
      return [
        ...told,
        ...(await spec.then(
          () => [],
          (failure: Error) => [failure.message],
        )),
      ]
    },
    schemathesis: (run) => runSchemathesis(program('schemathesis'), folder, run),
  }
}

async function runSchemathesis(program: string, folder: string, run: SchemathesisRun): Promise<void> {
  const args = [
    ...['run', run.document, '--url', run.url, '--phases', PHASES, '--checks', 'all', '--continue-on-failure'],
    ...['--max-examples', String(run.examples), '--seed', String(run.seed), '--max-redirects', '0'],
    ...['--generation-database', 'none', '--no-color', '--report-ndjson-path', run.report, '--report', 'ndjson'],
    ...Object.entries(run.headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    ...run.without.flatMap((name) => ['--exclude-name', name]),
  ]
  await promisify(execFile)(program, args, { cwd: folder, maxBuffer: OUTPUT_BYTES_MAX }).catch((failure) => {
    if (FINISHED.includes(failure.code) && !/^=+ ERRORS =+$/m.test(failure.stdout)) return
    throw new Error(`schemathesis failed: ${failure.stdout}${failure.stderr}`)
  })
}
