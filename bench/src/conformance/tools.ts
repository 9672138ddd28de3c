import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import { runProgram } from '../servers/run-program.ts'

export interface Tools {
  /** Returns the findings of the validators, none for a valid document. @param document its path */
  validate(document: string): Promise<readonly string[]>
  /** Sends requests made from a document, and writes the events as NDJSON. @throws Error if the program fails */
  schemathesis(run: SchemathesisRun): Promise<void>
}

export interface SchemathesisRun {
  readonly document: string
  readonly url: string
  /** The folder in which schemathesis writes `report.ndjson`. */
  readonly folder: string
  readonly operations: readonly OperationSettings[]
  readonly seed: number
  readonly examples: number
}

/** How requests to an operation differ from its schema. */
export interface OperationSettings {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** Existing values, by parameter: `path.userId`, `query.provider`. */
  readonly values: Readonly<Record<string, string | number>>
}

const PACKAGES = ['schemathesis==4.32.5', 'openapi-spec-validator==0.9.0']
const PHASES = 'examples,coverage,fuzzing,stateful'
/** Treats bodies of these media types as texts. Otherwise the tool would omit them. */
const HOOKS = `import schemathesis
schemathesis.serializer.alias(["text/csv", "application/x-ndjson"], "text/plain")
`
/** Exit statuses of schemathesis without and with failures. Any other status means that it could not run. */
const FINISHED = [0, 1]
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** Installs the tools from PyPI into a folder. @throws Error without Python 3.10 or without access to PyPI */
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
      const problems = valid ? [] : [`openapi-schema-validator: ${JSON.stringify(errors)}`]
      const spec = runProgram({ program: program('openapi-spec-validator'), args: ['--schema', '3.1', document] })
      return [
        ...problems,
        ...(await spec.then(
          () => [],
          (failure: Error) => [failure.message],
        )),
      ]
    },
    schemathesis: (run) => runSchemathesis(program('schemathesis'), run),
  }
}

async function runSchemathesis(program: string, run: SchemathesisRun): Promise<void> {
  const [config, hooks] = [join(run.folder, 'schemathesis.toml'), join(run.folder, 'hooks.py')]
  writeFileSync(hooks, HOOKS)
  writeFileSync(config, `hooks = ${JSON.stringify(hooks)}\n${toToml(run.operations)}`)
  const args = [
    ...['--config-file', config, 'run', run.document, '--url', run.url, '--phases', PHASES, '--checks', 'all'],
    ...['--continue-on-failure', '--max-examples', String(run.examples), '--seed', String(run.seed)],
    ...['--max-redirects', '0', '--generation-database', 'none', '--no-color'],
    ...['--report', 'ndjson', '--report-ndjson-path', join(run.folder, 'report.ndjson')],
  ]
  await promisify(execFile)(program, args, { cwd: run.folder, maxBuffer: OUTPUT_BYTES_MAX }).catch((failure) => {
    if (FINISHED.includes(failure.code) && !/^=+ ERRORS =+$/m.test(failure.stdout)) return
    throw new Error(`schemathesis failed: ${failure.stdout}${failure.stderr}`)
  })
}

/** The settings as schemathesis.toml. A JSON string is also a TOML string. */
function toToml(operations: readonly OperationSettings[]): string {
  const table = (entries: readonly (readonly [string, unknown])[]) =>
    `{ ${entries.map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`).join(', ')} }`
  // A schema cannot exclude NUL in texts, or say that unknown members and headers are ignored.
  const generation = ['[generation]', 'allow-x00 = false', 'allow-extra-parameters = false']
  const lines = operations.flatMap(({ name, headers, values }) => [
    '[[operations]]',
    `include-name = ${JSON.stringify(name)}`,
    `headers = ${table(Object.entries(headers).map(([header, value]) => [toTitleCase(header), value]))}`,
    `parameters = ${table(Object.entries(values))}`,
  ])
  return `${[...generation, ...lines].join('\n')}\n`
}

/** The usual case of a header. The tool finds and removes credentials by this name. */
function toTitleCase(header: string): string {
  return header.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}
