import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/** The sources of a process's variables. A variable in `env` overrides the same variable in the file. */
export interface EnvironmentOptions {
  readonly env: NodeJS.ProcessEnv
  /** If it is `undefined`, no file is read. */
  readonly file?: EnvFile | undefined
}

/** A file with variables, one `NAME=value` per line. */
export interface EnvFile {
  readonly path: string
  /** Whether a missing file is an error. */
  readonly isRequired: boolean
}

/**
 * Reads the variables of the environment and, with lower priority, of an env file. Ignores empty variables, and those that
 * Kubernetes sets for a Service. For a Service called auth these include `AUTH_PORT=tcp://10.0.0.1:8081`.
 * @throws ConfigError if the file cannot be read, or if Node.js would truncate a value
 */
export function readEnvironment({ env, file }: EnvironmentOptions): Readonly<Record<string, string>> {
  // An empty variable in the environment must not override the value in the file.
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

/** An error with all problems of the settings, one per line, without secret values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  /** The advice about the problems, if the same advice applies to all. */
  readonly advice: string | undefined

  constructor(problems: readonly string[], advice?: string) {
    super(problems.map((problem) => `config: ${problem}`).join('\n'))
    this.problems = problems
    this.advice = advice
  }
}

/** Replaces `#` while a file is parsed. It is a Unicode noncharacter, so text files do not contain it. */
const PLACEHOLDER = '\uFFFE'

/**
 * Returns the values of an env file that Node.js truncates at a `#` without a space before it. For Node.js, `KEY=a#b` has the
 * value `a`. For Docker Compose, systemd and supabase/auth, it has the value `a#b`. A `#` in quotes does not truncate a value. A
 * `#` after a space begins a comment in most of these programs.
 * @param text the content of the file
 * @returns the complete values, by name
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
 * Refuses a file with values that Node.js would truncate, because a password would lose its end without a warning.
 * @throws ConfigError that names the settings, but not their values
 */
export function requireWholeValues(path: string, text: string): void {
  const names = [...findCutValues(text).keys()]
  if (names.length > 0) throw new ConfigError(names.map((name) => `${path}: ${name} ${ADVICE}`))
}

const ADVICE =
  'has a # with no blank before it, which would cut its value: put the value in single quotes, or a blank before a comment'

/**
 * Reads a text file. A decoder would replace bytes that are not UTF-8, and so change a password without a warning.
 * @throws Error if the file is not UTF-8 or cannot be read
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

/** Returns the reason of a file error, such as `no such file`, or `undefined` if its code is not in `PROBLEMS`. */
export function findFileProblem(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? PROBLEMS.get(error.code) : undefined
}
