import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/** The sources of the variables of a process. A variable of `env` wins over the same variable of the file. */
export interface EnvironmentOptions {
  readonly env: NodeJS.ProcessEnv
  /** Undefined: no file is read. */
  readonly file?: EnvFile | undefined
}

/** A file with variables, one `NAME=value` a line. */
export interface EnvFile {
  readonly path: string
  /** Whether a file that does not exist is an error. */
  readonly isRequired: boolean
}

/**
 * Reads the variables of the environment and, with lower priority, of an env file. It leaves out empty variables, and the ports
 * that Kubernetes sets for a Service (`AUTH_PORT=tcp://10.0.0.1:8081` for a Service called auth), which would hide the setting.
 * @throws ConfigError when the file cannot be read, or has a value that would be cut
 */
export function readEnvironment({ env, file }: EnvironmentOptions): Readonly<Record<string, string>> {
  // An empty variable of the environment must not hide the value of the file.
  return { ...dropUnset(readEnvFile(file)), ...dropUnset(env) }
}

function readEnvFile(file: EnvFile | undefined): NodeJS.Dict<string> {
  const text = file === undefined ? undefined : readIfThere(file)
  if (file === undefined || text === undefined) return {}
  requireWholeValues(file.path, text)
  return parseEnv(text)
}

function readIfThere(file: EnvFile): string | undefined {
  try {
    return readText(file.path)
  } catch (error) {
    if (!file.isRequired && error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    const problem = findFileProblem(error) ?? (error instanceof Error ? error.message : String(error))
    throw new ConfigError([`${file.path} cannot be read (${problem})`])
  }
}

function dropUnset(environment: NodeJS.Dict<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || value === '' || isServicePort(name, value) ? [] : [[name, value]],
    ),
  )
}

function isServicePort(name: string, value: string): boolean {
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)
}

/** Everything that is wrong with the settings, one line each, without secret values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  /** The advice about the problems, where one advice fits all. */
  readonly advice: string | undefined

  constructor(problems: readonly string[], advice?: string) {
    super(problems.map((problem) => `config: ${problem}`).join('\n'))
    this.problems = problems
    this.advice = advice
  }
}

/** Stands for `#` while a file is read. It is no character, so no file has it. */
const PLACEHOLDER = '\uFFFE'

/**
 * The values of an env file that Node.js cuts at a `#` which no blank precedes: `KEY=a#b` is `a` for Node.js,
 * and `a#b` for Docker Compose, systemd and supabase/auth. A `#` in quotes cuts nothing, and one after a
 * blank begins a comment for most of them.
 * @param text of the file
 * @returns the whole values, by their names
 */
export function findCutValues(text: string): ReadonlyMap<string, string> {
  const values = parseEnv(text)
  const uncut = parseEnv(text.replaceAll(/(?<=\S)#/g, PLACEHOLDER))
  return new Map(
    Object.entries(uncut).flatMap(([marked, value = '']) => {
      const [name, whole] = [unmark(marked), unmark(value)]
      return whole === values[name] ? [] : [[name, whole]]
    }),
  )
}

function unmark(text: string): string {
  return text.replaceAll(PLACEHOLDER, '#')
}

/**
 * Refuses a file with values that would be cut: a password or a signing secret would lose its end without a warning.
 * @throws ConfigError that names the settings, and not their values
 */
export function requireWholeValues(path: string, text: string): void {
  const names = [...findCutValues(text).keys()]
  if (names.length > 0) throw new ConfigError(names.map((name) => `${path}: ${name} ${ADVICE}`))
}

const ADVICE =
  'has a # with no blank before it, which would cut its value: put the value in single quotes, or a blank before a comment'

/**
 * Reads a file of text. A decoder that replaces bytes which are not UTF-8 would change a name or a password without a warning.
 * @throws Error for such bytes, and for a file that cannot be read
 */
export function readText(path: string): string {
  const bytes = readFileSync(path)
  if (!isUtf8(bytes)) throw new Error(`${path} is not UTF-8`)
  return bytes.toString('utf8')
}

const PROBLEMS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'no such file'],
  ['EEXIST', 'the file exists already'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'a folder, not a file'],
])

/** Why a file cannot be read or written, such as `no such file`. Undefined for an error whose code is not listed above. */
export function findFileProblem(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? PROBLEMS.get(error.code) : undefined
}
